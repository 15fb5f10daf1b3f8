/* SPDX-License-Identifier: MIT
 * Has the page built (build.js), draws the pictures of a report from the objects beside them, and makes its long tables sortable and searchable. For the test of the page: body has
 * data-state and data-errors, a canvas that was drawn data-painted, the number of pixels of its plot that show data, of data-area in all, and data-points, how
 * many values it was given. In the address: #open opens everything; #search=tn&sort=ratio searches and sorts every long table ("-ratio": the other way). */
'use strict';
(() => {
    const dark = matchMedia('(prefers-color-scheme: dark)');
    let errors = 0;

    document.body.dataset.state = 'begun';
    document.body.dataset.errors = '0';
    function trouble(text) {
        const place = document.getElementById('trouble');
        document.body.dataset.errors = String(++errors);
        place.hidden = false;
        place.textContent += 'Not everything could be drawn: ' + text + '. ';
    }
    addEventListener('error', event => trouble(event.message));
    addEventListener('unhandledrejection', event => trouble(String(event.reason)));
    addEventListener('securitypolicyviolation', event => trouble(event.violatedDirective + ' ' + event.blockedURI));

    // ---- colours ----

    let style = null;
    const colour = name => style.getPropertyValue('--' + name).trim();
    function parts(hex) {
        const full = hex.length === 4 ? hex.replace(/[0-9a-f]/gi, '$&$&') : hex;
        return [1, 3, 5].map(at => parseInt(full.slice(at, at + 2), 16));
    }
    function mix(from, to, share) {
        const a = parts(from), b = parts(to);
        return '#' + a.map((value, i) => Math.round(value + (b[i] - value) * share).toString(16).padStart(2, '0')).join('');
    }
    const faded = (hex, alpha) => `rgba(${parts(hex).join(',')},${alpha})`;
    const bright = hex => { const [r, g, b] = parts(hex); return 0.299 * r + 0.587 * g + 0.114 * b > 140; };
    const series = i => colour('s' + i % 8);

    // Ratios diverge around 1, by their logarithm up to `most` and down to 1 / most; shares go from nothing to all.
    function heatColour(scale, most, value) {
        if (scale === 'share') return mix(colour('even'), colour('faster'), Math.min(1, Math.max(0, value)));
        const far = Math.min(1, Math.abs(Math.log(value)) / Math.log(most)) ** 0.7;
        return mix(colour('even'), colour(value > 1 ? 'faster' : 'slower'), far);
    }

    // ---- what all pictures have ----

    const short = value => !Number.isFinite(value) ? '' : Math.abs(value) >= 100 ? value.toFixed(0) : Math.abs(value) >= 10 ? value.toFixed(1) : value.toFixed(3);
    const plain = value => Number(value.toPrecision(3)).toLocaleString('en-US', {maximumFractionDigits: 6});
    const labels = more => Object.assign({color: colour('ink'), usePointStyle: true, boxWidth: 8, boxHeight: 8}, more);
    function scaleOf(title, more) {
        return Object.assign({title: {display: Boolean(title), text: title, color: colour('muted')}, ticks: {color: colour('muted')}, grid: {color: colour('line')}}, more);
    }
    function logScale(title) {
        return scaleOf(title, {type: 'logarithmic', ticks: {color: colour('muted'), maxTicksLimit: 9,
            callback: value => /^[125]/.test(value.toExponential()) && Number.isInteger(Number(value.toExponential().split('e')[0])) ? plain(value) : ''}});
    }
    function optionsOf(data, more) {
        const plugins = Object.assign({legend: {display: false, labels: labels()}}, more.plugins);
        return Object.assign({animation: false, responsive: true, maintainAspectRatio: false}, more, {plugins});
    }

    // A line across the plot, for what counts as equal.
    const level = {
        id: 'level',
        beforeDatasetsDraw(chart, _, options) {
            if (!Number.isFinite(options.at)) return;
            const y = chart.scales.y.getPixelForValue(options.at), {left, right, top, bottom} = chart.chartArea, context = chart.ctx;
            if (y < top || y > bottom) return;
            context.save();
            context.strokeStyle = colour('muted');
            context.setLineDash([5, 4]);
            context.beginPath();
            context.moveTo(left, y);
            context.lineTo(right, y);
            context.stroke();
            context.restore();
        },
    };

    // ---- kinds of pictures: object to Chart.js ----

    // Rows of bars of height 1, a colour each.
    function heat(data, canvas) {
        const rows = data.m.map(() => data.n.map(() => null));
        for (const [n, m, value, count] of data.cells) rows[m][n] = {value, count};
        const colours = rows.map(row => row.map(cell => cell ? heatColour(data.scale, data.most, cell.value) : 'transparent'));
        canvas.parentElement.style.height = 70 + 24 * Math.max(4, data.m.length) + 'px';
        const written = {
            id: 'written',
            afterDatasetsDraw(chart) {
                const context = chart.ctx;
                context.save();
                context.textAlign = 'center';
                context.textBaseline = 'middle';
                rows.forEach((row, m) => chart.getDatasetMeta(m).data.forEach((bar, n) => {
                    const {x, y, base, width} = bar.getProps(['x', 'y', 'base', 'width']);
                    if (!row[n] || width < 26 || base - y < 11) return;
                    context.font = (width < 34 ? 9 : 11) + 'px system-ui, sans-serif';
                    context.fillStyle = bright(colours[m][n]) ? '#14171b' : '#ffffff';
                    context.fillText(row[n].value.toFixed(2), x, (y + base) / 2);
                }));
                context.restore();
            },
        };
        const tooltip = {callbacks: {
            title: items => `M = ${data.m[items[0].datasetIndex]}, N = ${items[0].label}, K = ${data.k}`,
            label: item => {
                const cell = rows[item.datasetIndex][item.dataIndex];
                return cell ? `${cell.value.toFixed(3)}${data.predicted ? ', predicted' : ''}${cell.count > 1 ? `, ${cell.count} problems` : ''}` : '';
            },
        }, filter: item => rows[item.datasetIndex][item.dataIndex] !== null};
        return {
            type: 'bar', plugins: [written],
            data: {labels: data.n, datasets: rows.map((row, m) => ({data: row.map(() => 1), backgroundColor: colours[m], categoryPercentage: 1, barPercentage: 0.97,
                borderColor: colour('paper'), borderWidth: {top: 1}, borderSkipped: false}))},
            options: optionsOf(data, {plugins: {tooltip}, scales: {
                x: scaleOf('N', {stacked: true, grid: {display: false}}),
                y: scaleOf('M', {stacked: true, min: 0, max: data.m.length, grid: {display: false},
                    afterBuildTicks: axis => { axis.ticks = data.m.map((_, i) => ({value: i + 0.5})); },
                    ticks: {color: colour('muted'), autoSkip: false, callback: value => data.m[Math.floor(value)]}}),
            }}),
        };
    }

    function boxes(data) {
        const list = data.boxes, at = i => list.map(box => box.at[i]);
        const label = item => {
            const box = list[item.dataIndex];
            return [`${box.count} problems`, `geometric mean ${short(box.mean)}`, `median ${short(box.at[2])}`, `half: ${short(box.at[1])} to ${short(box.at[3])}`,
                `5 to 95 %: ${short(box.at[0])} to ${short(box.at[4])}`];
        };
        const bar = (low, high, thickness, alpha) => ({type: 'bar', data: list.map((_, i) => [at(low)[i], at(high)[i]]), barThickness: thickness, grouped: false,
            backgroundColor: faded(colour('ours'), alpha), borderColor: colour('ours'), minBarLength: 2});
        const mark = (values, pointStyle, pointRadius, name) => ({type: 'line', showLine: false, data: values, pointStyle, pointRadius, pointBorderWidth: 2,
            pointBackgroundColor: colour(name), pointBorderColor: colour(name)});
        const levels = Number.isFinite(data.line) ? [data.line] : [], least = Math.min(...at(0), ...levels), most = Math.max(...at(4), ...list.map(box => box.mean), ...levels);
        const step = most - least > 0.5 ? 0.1 : most - least > 0.1 ? 0.05 : 0.01;
        return {
            type: 'bar', plugins: [level],
            data: {labels: list.map(box => box.name), datasets: [mark(list.map(box => box.mean), 'circle', 4, 'cublaslt'), mark(at(2), 'line', 13, 'ink'), bar(1, 3, 26, 0.55),
                bar(0, 4, 3, 1)]},
            options: optionsOf(data, {interaction: {mode: 'index', intersect: false},
                plugins: {level: {at: data.line ?? NaN}, tooltip: {filter: (item, index) => index === 0, callbacks: {label}, displayColors: false}},
                scales: {x: scaleOf('work, us', {grid: {display: false}}), y: scaleOf(data.what, {min: Math.max(0, Math.floor(least / step - 0.2) * step),
                    max: Math.ceil(most / step + 0.2) * step, ticks: {color: colour('muted'), callback: value => Number(value.toPrecision(3))}})}}),
        };
    }

    function scatter(data) {
        const colours = ['ours', 'cublaslt'];
        const most = Math.max(1, ...data.series.flatMap(line => line.points.map(point => point[1])));
        return {
            type: 'scatter', plugins: [level],
            data: {datasets: data.series.map((line, i) => ({label: line.name, data: line.points.map(([x, y, name]) => ({x, y, name})), pointRadius: line.points.length > 300 ? 2 : line.points.length > 40 ? 3.5 : 5,
                pointStyle: i ? 'triangle' : 'circle', pointBackgroundColor: faded(colour(colours[i]), 0.65), pointBorderWidth: 0}))},
            options: optionsOf(data, {plugins: {level: {at: 1}, legend: {display: true, labels: labels()},
                tooltip: {callbacks: {label: item => `${item.raw.name}: ${item.dataset.label} ${short(item.raw.y)} of ${short(item.raw.x)} us`}}},
                scales: {x: logScale(data.x), y: scaleOf(data.y, {min: 0, max: most * 1.04, ticks: {color: colour('muted'), callback: value => Number(value.toPrecision(3))}})}}),
        };
    }

    function bars(data) {
        const shade = [1, 0.7, 0.4];
        return {
            type: 'bar',
            data: {labels: data.labels, datasets: data.bars.map((bar, i) => ({label: bar.name, data: bar.values, backgroundColor: faded(colour(i < 3 ? 'ours' : 'cublaslt'), shade[i % 3])}))},
            options: optionsOf(data, {plugins: {legend: {display: true, labels: labels()}}, scales: {x: scaleOf('', {grid: {display: false}}), y: logScale(data.y)}}),
        };
    }

    function lines(data) {
        const datasets = [], xs = data.lines.flatMap(line => line.x);
        const points = (line, list) => line.x.map((x, i) => ({x, y: list[i]}));
        data.lines.forEach((line, i) => {
            const base = {borderColor: series(i), borderWidth: 2, pointRadius: line.x.length > 30 ? 0 : 2.5, pointBackgroundColor: series(i)};
            datasets.push(Object.assign({label: line.name + (line.members > 1 ? ` (${line.members})` : ''), data: points(line, line.y)}, base));
            if (!line.low) return;
            const edge = {borderWidth: 0, pointRadius: 0, backgroundColor: faded(series(i), 0.16), edge: true};
            datasets.push(Object.assign({data: points(line, line.low)}, edge), Object.assign({data: points(line, line.high), fill: '-1'}, edge));
        });
        const least = Math.min(...xs), wide = least > 0 && Math.max(...xs) / least >= 64;
        return {
            type: 'line', data: {datasets},
            options: optionsOf(data, {plugins: {legend: {display: true, labels: labels({filter: (item, all) => !all.datasets[item.datasetIndex].edge})},
                tooltip: {filter: item => !item.dataset.edge, callbacks: {title: items => items.length ? `${data.x}: ${plain(items[0].raw.x)}` : ''}}},
                scales: {x: wide ? logScale(data.x) : scaleOf(data.x, {type: 'linear'}), y: scaleOf(data.y)}}),
        };
    }

    const kinds = {heat, boxes, scatter, bars, lines};

    // ---- painting ----

    // Grids and axes are grey; heat maps have no grid. What is left in the plot is data.
    function count(chart, grey) {
        const {left, top, width, height} = chart.chartArea, ratio = chart.currentDevicePixelRatio;
        const {data} = chart.ctx.getImageData(left * ratio, top * ratio, Math.max(1, width * ratio), Math.max(1, height * ratio));
        let pixels = 0;
        for (let i = 0; i < data.length; i += 4)
            if (data[i + 3] > 40 && (grey || Math.max(data[i], data[i + 1], data[i + 2]) - Math.min(data[i], data[i + 1], data[i + 2]) > 30)) pixels++;
        return [pixels, data.length / 4];
    }

    function draw(figure) {
        const canvas = figure.querySelector('canvas');
        try {
            const data = JSON.parse(figure.querySelector('script[type="application/json"]').textContent);
            const old = Chart.getChart(canvas);
            if (old) old.destroy();
            const chart = new Chart(canvas, kinds[data.kind](data, canvas));
            canvas.dataset.points = String((data.cells || data.boxes || data.labels || (data.lines || data.series).flatMap(line => line.x || line.points)).length);
            [canvas.dataset.painted, canvas.dataset.area] = count(chart, data.kind === 'heat').map(String);
        } catch (error) {
            trouble(error.message);
        }
    }

    // Those within something closed have no size: they are drawn when it is opened.
    const shown = figure => figure.getClientRects().length > 0;
    function drawAll() {
        style = getComputedStyle(document.documentElement);
        Chart.defaults.font.family = 'system-ui, sans-serif';
        for (const figure of document.querySelectorAll('figure')) if (shown(figure)) draw(figure);
        for (const legend of document.querySelectorAll('.legend')) fillLegend(legend);
    }

    function fillLegend(legend) {
        const {scale} = legend.dataset, most = Number(legend.dataset.most), steps = 24, bar = document.createElement('i');
        const values = Array.from({length: steps + 1}, (_, i) => scale === 'share' ? i / steps : Math.exp((2 * i / steps - 1) * Math.log(most)));
        bar.style.background = `linear-gradient(to right, ${values.map(value => heatColour(scale, most, value)).join(',')})`;
        legend.replaceChildren(scale === 'share' ? '0' : `slower, ${(1 / most).toFixed(2)}`, bar, scale === 'share' ? '1' : `${most} and more, faster`);
    }

    // ---- tables ----

    const key = cell => { const value = parseFloat(cell.textContent); return Number.isFinite(value) ? value : -Infinity; };
    function sort(box, column, down) {
        const heads = [...box.querySelectorAll('thead th')], body = box.querySelector('tbody'), rows = [...body.rows];
        const words = rows.some(row => row.cells[column].textContent !== '' && !/^-?[0-9.]+( %)?$/.test(row.cells[column].textContent));
        const compare = words ? (a, b) => a.cells[column].textContent.localeCompare(b.cells[column].textContent, 'en', {numeric: true})
                              : (a, b) => key(a.cells[column]) - key(b.cells[column]);
        rows.sort((a, b) => down ? compare(b, a) : compare(a, b));
        body.append(...rows);
        heads.forEach((head, i) => i === column ? head.setAttribute('aria-sort', down ? 'descending' : 'ascending') : head.removeAttribute('aria-sort'));
    }

    // Every word must occur in the row.
    function search(box, find, text) {
        const words = text.toLowerCase().split(/\s+/).filter(Boolean), rows = [...box.querySelectorAll('tbody tr')];
        let found = 0;
        for (const row of rows) {
            const content = [...row.cells].map(cell => cell.textContent).join(' ').toLowerCase();
            row.hidden = !words.every(word => content.includes(word));
            found += !row.hidden;
        }
        find.querySelector('output').textContent = `${found} of ${rows.length}`;
    }

    function prepare(box) {
        const find = box.previousElementSibling, input = find.querySelector('input');
        find.hidden = false;
        input.addEventListener('input', () => search(box, find, input.value));
        box.querySelectorAll('thead th').forEach((head, column) => {
            const turn = () => sort(box, column, head.getAttribute('aria-sort') === 'ascending');
            head.tabIndex = 0;
            head.addEventListener('click', turn);
            head.addEventListener('keydown', event => { if (event.key === 'Enter' || event.key === ' ') { event.preventDefault(); turn(); } });
        });
        search(box, find, '');
    }

    function obey() {
        const asked = new URLSearchParams(location.hash.slice(1));
        if (asked.has('open')) for (const details of document.querySelectorAll('details')) details.open = true;
        for (const box of document.querySelectorAll('.sortable')) {
            const find = box.previousElementSibling, by = asked.get('sort');
            if (asked.has('search')) search(box, find, find.querySelector('input').value = asked.get('search'));
            const column = by ? [...box.querySelectorAll('thead th')].findIndex(head => head.textContent === by.replace(/^-/, '')) : -1;
            if (column >= 0) sort(box, column, by.startsWith('-'));
        }
    }

    // ---- beginning ----

    buildReport(JSON.parse(document.getElementById('data').textContent));
    for (const box of document.querySelectorAll('.sortable')) prepare(box);
    obey();
    drawAll();
    for (const details of document.querySelectorAll('details.maps'))
        details.addEventListener('toggle', () => { if (details.open) for (const figure of details.querySelectorAll('figure')) if (!Chart.getChart(figure.querySelector('canvas'))) draw(figure); });
    addEventListener('hashchange', obey);
    dark.addEventListener('change', drawAll);
    document.body.dataset.state = 'done';
})();

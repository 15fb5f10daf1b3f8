/* SPDX-License-Identifier: MIT
 * Builds the page of a report from its data (src/report/page.c): tables, the numbers behind the pictures, and a place for each picture with its object
 * beside it, which page.js draws. Everything from the data becomes text or an attribute, never markup. */
'use strict';
const buildReport = data => {
    // ---- elements ----

    function el(name, attributes, ...children) {
        const element = document.createElement(name);
        for (const [key, value] of Object.entries(attributes)) if (value !== false) element.setAttribute(key, value === true ? '' : value);
        element.append(...children.flat());
        return element;
    }
    const fixed = (value, digits) => Number.isFinite(value) ? value.toFixed(digits) : '';
    const precise = (value, digits) => Number.isFinite(value) ? String(Number(value.toPrecision(digits))) : '';
    const plural = (count, what) => `${count} ${what}${count === 1 ? '' : 's'}`;
    const number = value => value === null ? NaN : value;

    // The first cell of a row is its head.
    function table(heads, rows) {
        const cell = (content, i) => content instanceof Node ? content : el(i ? 'td' : 'th', {}, String(content));
        return el('table', {}, el('thead', {}, el('tr', {}, heads.map(head => el('th', {scope: 'col'}, head)))),
            el('tbody', {}, rows.map(row => el('tr', {}, row.map(cell)))));
    }

    // A place for a picture: the object that page.js draws it from, and the same numbers as a table.
    function figure(picture, {note = '', wide = false}, heads, rows) {
        const object = el('script', {type: 'application/json'});
        object.textContent = JSON.stringify(picture).replace(/</g, '\\u003c');
        return el('figure', {class: picture.kind + (wide ? ' wide' : '')},
            el('figcaption', {}, picture.title, picture.predicted ? [' ', el('em', {class: 'predicted'}, 'predicted, not measured')] : [],
                note ? el('small', {}, note) : []),
            el('div', {class: 'plot'}, el('canvas', {role: 'img', 'aria-label': picture.title + ': the table below has the numbers'})),
            object, el('details', {class: 'numbers'}, el('summary', {}, 'numbers'), el('div', {class: 'scroll'}, table(heads, rows))));
    }

    // ---- statistics ----

    const ascending = (a, b) => a - b;
    // What `of` gives for the points of a band (undefined: of all), without what is not finite or not above 0.
    const collect = (set, of, band) => set.points.filter(p => band === undefined || p.band === band).map(of).filter(v => Number.isFinite(v) && v > 0).sort(ascending);
    function quantile(sorted, share) {
        if (sorted.length === 0) return NaN;
        const at = share * (sorted.length - 1), below = Math.floor(at), above = Math.min(below + 1, sorted.length - 1);
        return sorted[below] + (at - below) * (sorted[above] - sorted[below]);
    }
    const geometric = list => list.length ? Math.exp(list.reduce((sum, value) => sum + Math.log(value), 0) / list.length) : NaN;
    const atLeast = (list, least) => list.length ? 100 * list.filter(value => value >= least).length / list.length : NaN;

    const ratioOf = p => p.ratio, shareOf = p => p.floor / p.us, cublasltShareOf = p => p.floor / p.cublaslt_us;

    // ---- maps over M, N and K ----

    const MOST_CLASSES = 16, MOST_MAPS = 12;

    // Every extent by itself where there are at most so many of them; else the ranges between powers of two that are not empty.
    function makeAxis(points, which, most) {
        const values = [...new Set(points.map(p => p[which]))].sort(ascending);
        if (values.length <= most) return values.map(value => ({low: value, high: value, name: String(value)}));
        const powers = [...new Set(values.map(value => 2 ** Math.max(0, Math.ceil(Math.log2(value)))))];
        return powers.map(high => ({low: Math.floor(high / 2) + (high > 1 ? 1 : 0), high})).map(r => ({...r, name: r.low === r.high ? String(r.low) : `${r.low}-${r.high}`}));
    }
    const classOf = (axis, value) => axis.findIndex(r => value >= r.low && value <= r.high);

    function maps(set, points, most) {
        const m = makeAxis(points, 'm', MOST_CLASSES), n = makeAxis(points, 'n', MOST_CLASSES), k = makeAxis(points, 'k', MOST_MAPS);
        const cells = k.map(() => m.map(() => n.map(() => [])));
        for (const p of points) cells[classOf(k, p.k)][classOf(m, p.m)][classOf(n, p.n)].push(p.ratio);
        return k.map((depth, i) => {
            const list = [];
            cells[i].forEach((row, y) => row.forEach((ratios, x) => { if (ratios.length) list.push([x, y, Math.round(geometric(ratios) * 1e4) / 1e4, ratios.length]); }));
            const picture = {kind: 'heat', title: `K = ${depth.name}`, predicted: set.predicted, scale: set.predicted ? 'share' : 'ratio',
                most, k: depth.name, n: n.map(r => r.name), m: m.map(r => r.name), cells: list};
            return figure(picture, {}, ['M \\ N', ...picture.n], cells[i].map((row, y) => [m[y].name, ...row.map(ratios => fixed(geometric(ratios), 3))]).reverse());
        });
    }

    function mapsPart(set) {
        const points = set.points.filter(p => Number.isFinite(p.ratio) && p.ratio > 0), high = quantile(collect(set, ratioOf), 0.95);
        const most = high > 2 ? 3 : high > 1.5 ? 2 : 1.5;   // colours end at a ratio that nineteen of twenty problems do not exceed
        const kinds = [...new Set(points.map(p => p.kind))].sort().map(kind => [kind, points.filter(p => p.kind === kind)]);
        const largest = Math.max(...kinds.map(([, list]) => list.length));
        return [
            el('h3', {}, set.predicted ? 'Share of the floor over M, N and K' : 'Speedup over M, N and K'),
            el('p', {}, set.predicted ? 'The floor over the predicted time: 1 is the least time that the problem can take. Nothing was measured.'
                : "cuBLASLt's time over ours: above 1 ours is faster. A cell with several problems shows their geometric mean."),
            kinds.length ? [] : el('p', {class: 'none'}, 'No problem here has a ratio.'),
            kinds.map(([kind, list]) => {
                const figures = maps(set, list, most);
                return el('details', {class: 'maps', open: list.length === largest},
                    el('summary', {}, `${kind}: ${plural(list.length, 'problem')}, ${plural(figures.length, 'map')}`),
                    el('p', {class: 'legend', 'data-scale': set.predicted ? 'share' : 'ratio', 'data-most': String(most)}), el('div', {class: 'grid'}, figures));
            }),
        ].flat();
    }

    // ---- by floor ----

    const FEW = 3;   // problems
    const SHARES = [0.05, 0.25, 0.5, 0.75, 0.95];
    const BOXES = 'Box: the middle half of the problems; line: 5 to 95 %; dot: geometric mean; stroke: median.';

    function bands(set, title, predicted, what, line, of) {
        const list = [...data.bands.map((name, band) => [name, collect(set, of, band)]), ['all', collect(set, of)]].filter(([, values]) => values.length);
        const boxes = list.map(([name, values]) => ({name, count: values.length, mean: geometric(values), at: SHARES.map(share => quantile(values, share))}));
        const heads = ['work, us', 'problems', 'geometric mean', 'least', '5 %', '25 %', 'median', '75 %', '95 %', 'most', ...(line ? ['at least 0.99, %'] : [])];
        return figure({kind: 'boxes', title, predicted, what, line, boxes}, {note: BOXES}, heads, list.map(([name, values], i) => [name, values.length,
            ...[boxes[i].mean, values[0], ...boxes[i].at, values[values.length - 1]].map(value => fixed(value, 3)), ...(line ? [fixed(atLeast(values, 0.99), 1)] : [])]));
    }

    function shares(set, name) {
        const series = (label, of) => ({name: label, points: set.points.filter(p => of(p) > 0 && Number.isFinite(of(p)) && p.floor > 0)
            .map(p => [Math.round(p.floor * 1e3) / 1e3, Math.round(of(p) * 1e4) / 1e4, p.problem])});
        const picture = {kind: 'scatter', title: 'Share of the floor, problem by problem',
            predicted: set.predicted, x: 'floor, us', y: name,
            series: [series(set.mode ? 'ours' : 'winner', shareOf), ...(set.predicted ? [] : [series('cuBLASLt', cublasltShareOf)])]};
        const note = '1 is the least time that the device can need: arithmetic at the rate that it keeps up, every operand moved once, a launch.';
        const rows = data.bands.map((band, i) => [band, collect(set, shareOf, i), collect(set, cublasltShareOf, i)]).filter(([, ours]) => ours.length);
        return figure(picture, {note, wide: true}, ['work, us', 'problems', 'ours, median', ...(set.predicted ? [] : ['cuBLASLt, median'])],
            rows.map(([band, ours, cublaslt]) => [band, ours.length, fixed(quantile(ours, 0.5), 3), ...(set.predicted ? [] : [fixed(quantile(cublaslt, 0.5), 3)])]));
    }

    function floorPart(set) {
        const name = set.predicted ? 'floor / predicted time' : set.server ? 'floor / call time' : 'floor / device time';
        if (!collect(set, shareOf).length)
            return [el('p', {class: 'none'}, "The floor of this GPU is not known here: no device profile has its name, and it is not this machine's. So nothing is shown by floor.")];
        return [
            el('h3', {}, 'By theoretical minimum time'),
            el('p', {}, 'Work: the floor without the time of a launch, which is why a problem of less than 1 us can have a floor above it.'),
            el('div', {class: 'grid pair'},
                !set.predicted && collect(set, ratioOf).length ? bands(set, 'Ratio by work', false, "cuBLASLt's time / ours", 1, ratioOf) : [],
                bands(set, 'Share of the floor by work', set.predicted, name, null, shareOf)),
            shares(set, name),
        ];
    }

    // ---- latencies ----

    const MOST_NAMED = 12;
    const BARS = ['ours', 'reference'].flatMap(side => [0, 1, 2].map(i => ({name: `${side === 'ours' ? 'ours' : 'cuBLASLt'} p${[50, 95, 99][i]}`, of: p => p[side][i]})));

    // A row per problem where they are few, else a row per band with geometric means.
    function latencies(set) {
        const named = set.points.length <= MOST_NAMED;
        const rows = named ? set.points.filter(p => Number.isFinite(p.ours[0])).map(p => ({name: p.problem, count: 1, values: BARS.map(bar => bar.of(p))}))
            : data.bands.map((name, band) => ({name, count: collect(set, BARS[0].of, band).length, values: BARS.map(bar => geometric(collect(set, bar.of, band)))})).filter(row => row.count);
        if (!rows.length) return [];
        const picture = {kind: 'bars', title: 'Latency of single requests: percentiles of call time', predicted: set.predicted, y: 'call time, us', labels: rows.map(row => row.name),
            bars: BARS.map((bar, i) => ({name: bar.name, values: rows.map(row => row.values[i])}))};
        const note = 'From the launch until the host knows that it ended' + (named ? '.' : '; by work in microseconds, geometric means over problems.');
        return [figure(picture, {note, wide: true}, ['', 'problems', 'ours p50', 'p95', 'p99', 'cuBLASLt p50', 'p95', 'p99'],
            rows.map(row => [row.name, row.count, ...row.values.map(value => fixed(value, 2))]))];
    }

    // ---- a set ----

    function cards(set) {
        const ratios = collect(set, ratioOf), card = (name, value) => value ? el('div', {}, el('b', {}, value), el('span', {}, name)) : [];
        const measured = !set.predicted && ratios.length ? [
            card('ratio, geometric mean', fixed(geometric(ratios), 3)), card('ratio, median', fixed(quantile(ratios, 0.5), 3)),
            card('faster than 1.01', `${fixed(100 * ratios.filter(ratio => ratio > 1.01).length / ratios.length, 1)} %`),
            card('not slower than 0.99', `${fixed(atLeast(ratios, 0.99), 1)} %`), card('worst ratio', fixed(ratios[0], 3)),
            set.mode ? [] : card('won by cuBLASLt', String(set.points.filter(p => p.cublaslt).length))] : [];
        return [
            el('div', {class: 'cards'}, card('problems', String(set.points.length)), measured.flat(),
                card(set.predicted ? 'share of floor, predicted, median' : 'share of floor, median', fixed(quantile(collect(set, shareOf), 0.5), 3))),
            !set.predicted && ratios.length < set.points.length ? el('p', {}, `${set.points.length - ratios.length} of them have no ratio: cuBLASLt was not measured beside them, `
                + 'or nothing of ours came out right.') : [],
            set.faults ? el('p', {class: 'warning'}, `${set.faults} times something of ours was wrong or did not run; it counts nowhere.`) : [],
        ].flat();
    }

    function everyProblem(set) {
        const heads = ['problem', 'M', 'N', 'K', set.mode ? 'ours' : 'winner', set.predicted ? 'predicted us' : set.server ? 'call us' : 'us',
            ...(set.predicted ? [] : ['cuBLASLt us', 'ratio', 'interval']), 'floor us', 'share of floor', 'date'];
        const rows = set.points.map(p => [p.problem, p.m, p.n, p.k, el('td', {class: p.cublaslt && 'cublaslt'}, p.choice), fixed(p.us, 2),
            ...(set.predicted ? [] : [fixed(p.cublaslt_us, 2), fixed(p.ratio, 3), Number.isFinite(p.low) && Number.isFinite(p.high) ? `${fixed(p.low, 3)}-${fixed(p.high, 3)}` : '']),
            fixed(p.floor, 2), fixed(shareOf(p), 3), p.date.slice(0, 10)]);
        return [
            el('h3', {}, set.mode ? 'Every problem' : 'Winners'),
            el('div', {class: 'find', hidden: true}, el('label', {}, 'Search ', el('input', {type: 'search', placeholder: 'tn 4096 ws/'})), ' ', el('output', {})),
            el('div', {class: 'scroll sortable'}, table(heads, rows)),
        ];
    }

    const nameOf = set => `${!set.mode ? 'Winners' : set.server ? 'Evaluated, single requests' : 'Evaluated, calls back to back'}: ${set.gpu}`
        + (set.mode && set.dependent ? ', dependent launches' : '') + (set.predicted ? ' (predicted)' : '');

    function explain(set) {
        if (set.predicted) return el('p', {class: 'warning'}, 'An emulated device predicted every time here; nothing was measured, and nothing is compared with cuBLASLt.');
        return el('p', {}, !set.mode ? 'The confirmed choice of every problem that was tuned, by device time, against auto-tuned cuBLASLt in the same layout. Where cuBLASLt was '
            + 'faster it is the choice: its ratio to itself is 1, and it counts.'
            : 'Ours against auto-tuned cuBLASLt in one interleaved run, the faster layout of each where both were measured, cold cache, '
            + (set.server ? 'call time of single requests at random gaps.' : 'device time.'));
    }

    // Of a problem or two a chart is an empty pair of axes.
    const charts = set => set.points.length < FEW ? el('p', {class: 'none'}, 'Too few problems for charts: the table has every number.') : [mapsPart(set), floorPart(set)].flat();

    const section = (set, i) => el('section', {class: set.predicted && 'emulated'}, el('h2', {id: `set${i}`}, nameOf(set)), explain(set), cards(set), charts(set),
        set.server ? latencies(set) : [], everyProblem(set));

    // ---- curves ----

    // A series is a picture and its names are the lines in it; all series of regret share one picture per device, with a line for each policy: the median
    // of its curves (problems, seeds) and their middle half. Runs of training that differ in the number behind their name's dot, the seed, share a line.
    const MOST_LINES = 8, MOST_POINTS = 200, TABLE_POINTS = 16, REGRET = 'regret/';
    const KNOWN = {
        'train/surrogate': ['Training of the surrogate', 'epochs', 'error, in logarithms'],
        'train/distill': ['The actor learns from the surrogate', 'problems', "share of the surrogate's choice"],
        [REGRET]: ['Regret by policy', 'measured schedules', 'regret'],
        'training/reward': ['Reward', 'steps', 'mean reward'],
        'training/passed': ['Share of answers that passed', 'steps', 'share'],
        'training/best': ['Best reward of each problem', 'steps', 'mean over problems'],
        'training/distinct': ['Distinct proposals', 'steps', 'share of all'],
        'training/entropy': ['Entropy', 'steps', 'nats per token'],
        'training/kl': ['Distance from the start', 'steps', 'KL'],
        'training/loss': ['Loss', 'steps', 'loss'],
        'training/check': ['Loss of held-out sizes', 'steps', 'loss'],
        'training/length': ['Length of answers', 'steps', 'tokens'],
        'training/gradient': ['Norm of the gradient', 'steps', 'norm'],
        'training/store/best': ['Best found, from the store', 'candidates', 'ratio, geometric mean'],
        'training/store/passed': ['Passed, from the store', 'candidates', 'share of the last 100'],
    };
    const pictureOf = curve => curve.series.startsWith(REGRET) ? REGRET : curve.series;
    const isRun = curve => curve.series.startsWith('training/');
    const lineOf = curve => curve.series.startsWith(REGRET) ? curve.series.slice(REGRET.length).split('/')[0] : isRun(curve) ? curve.name.replace(/\.\d+$/, '') : curve.name;
    const thin = (list, most) => list.length <= most ? list : Array.from({length: most}, (_, i) => list[Math.floor(i * (list.length - 1) / (most - 1))]);

    function groupBy(list, key) {
        const groups = new Map();
        for (const item of list) groups.set(key(item), [...(groups.get(key(item)) || []), item]);
        return groups;
    }

    // What the curve says at x: its last number up to there.
    function valueAt(curve, x) {
        let value = NaN;
        for (let i = 0; i < curve.x.length && curve.x[i] <= x; i++) if (curve.y[i] !== null) value = curve.y[i];
        return value;
    }

    function makeLine(name, members) {
        const line = {name, members: members.length, x: [], y: [], low: [], high: []};
        for (const x of thin([...new Set(members.flatMap(curve => curve.x))].sort(ascending), MOST_POINTS)) {
            const values = members.map(curve => valueAt(curve, x)).filter(Number.isFinite).sort(ascending);
            if (!values.length) continue;   // nobody has begun yet
            line.x.push(x);
            [['y', 0.5], ['low', 0.25], ['high', 0.75]].forEach(([key, share]) => line[key].push(quantile(values, share)));
        }
        return line;
    }

    function curvePicture(curves) {
        const [first] = curves, regret = pictureOf(first) === REGRET, known = KNOWN[pictureOf(first)];
        const names = [...groupBy(curves, lineOf)].sort(([a], [b]) => a < b ? -1 : 1), together = !regret && names.length > MOST_LINES;
        const lines = (together ? [['all', curves]] : names).map(([name, members]) => makeLine(name, members));
        const note = plural(curves.length, 'curve') + '.' + (regret || together || lines.some(line => line.members > 1) ? ' Line: the median; surface: the middle half.' : '')
            + (first.device || isRun(first) ? '' : ' No measured times of a device went in.');
        const title = (known ? known[0] : first.series) + (first.device ? `, ${first.device}` : '');
        const rows = lines.flatMap(line => thin(line.x.map((x, i) => [line.name, line.members, precise(x, 6), ...[line.y, line.low, line.high].map(list => precise(list[i], 4))]), TABLE_POINTS));
        const drawn = lines.map(line => line.members > 1 ? line : {name: line.name, members: 1, x: line.x, y: line.y});
        return figure({kind: 'lines', title, predicted: first.predicted, x: known ? known[1] : 'step', y: known ? known[2] : 'value', lines: drawn}, {note},
            ['line', 'curves', 'x', 'median', '25 %', '75 %'], rows);
    }

    // ---- lineages ----

    // A tree: each kernel under the one that it was made from, a step further to the right. The best one and its ancestors are marked.
    const shortName = name => name.replace(/^(source:[0-9a-f]{8})[0-9a-f]+$/, '$1'), kernelName = name => el('span', {title: name}, shortName(name));
    function lineage(tree) {
        const kernels = tree.kernels.map(row => columns(data.lineage_columns, row)), passed = kernels.filter(k => k.us > 0);
        const best = passed.length ? passed.reduce((a, b) => b.us < a.us ? b : a) : null, generations = Math.max(...kernels.map(k => k.generation));
        const heads = ['kernel', 'generation', 'made from', 'island', 'verdict', tree.predicted ? 'predicted us' : 'us', ...(tree.predicted ? [] : ['ratio']), 'gain', 'reward'];
        const rows = kernels.map(k => [el('th', {scope: 'row', class: k.best ? 'line best' : 'line', style: `padding-left: ${Math.min(k.generation - 1, 20) * 1.2 + 0.5}em`}, kernelName(k.candidate)),
            k.generation, el('td', {}, k.base ? kernelName(k.base) : 'nothing'), k.island, k.verdict, fixed(k.us, 2), ...(tree.predicted ? [] : [fixed(k.ratio, 3)]), fixed(k.gain, 3), fixed(k.reward, 3)]);
        return el('details', {class: 'lineage', open: data.lineages.length === 1},
            el('summary', {}, `${tree.problem} on ${tree.device}: ${plural(kernels.length, 'kernel')} in ${plural(generations, 'generation')}, ${passed.length} passed`
                + (best ? `, best ${tree.predicted ? 'predicted ' : ''}${fixed(best.us, 2)} us` : ''), tree.predicted ? [' ', el('em', {class: 'predicted'}, 'predicted, not measured')] : []),
            el('div', {class: 'scroll'}, table(heads, rows)));
    }
    const lineages = () => data.lineages.length ? [el('h2', {id: 'lineages'}, 'Lineages of written kernels'),
        el('p', {}, 'Kernels that a language model wrote, each under the one that it was given to improve; bold: the fastest and its ancestors. Gain: the time of the kernel that it was '
            + 'made from over its own.'), ...data.lineages.map(lineage)] : [];

    // ---- the page ----

    const columns = (names, row) => Object.fromEntries(names.map((name, i) => [name, row[i] === null || typeof row[i] === 'number' ? number(row[i]) : row[i]]));
    for (const set of data.sets) set.points = set.points.map(row => columns(data.columns, row)).map(p => ({...p, ours: p.ours.map(number), reference: p.reference.map(number)}));

    const link = (id, text) => el('li', {}, el('a', {href: `#${id}`}, text));
    document.getElementById('about').append(
        el('p', {class: 'made'}, `Made ${data.made} by gemmsmith ${data.version} from: ${data.sources.join(', ')}.`),
        ...(data.unread ? [el('p', {class: 'warning'}, `${data.unread} rows could not be read and are missing.`)] : []),
        el('nav', {}, el('ul', {}, data.machines.length ? link('environment', 'Environment') : [], data.sets.map((set, i) => link(`set${i}`, nameOf(set))),
            data.lineages.length ? link('lineages', 'Lineages of written kernels') : [], link('curves', 'Learning and regret'))));

    const machines = data.machines.length ? [el('h2', {id: 'environment'}, 'Environment'), el('div', {class: 'scroll'},
        table(['device', 'SMs', 'driver CUDA', 'cuBLASLt', 'NVRTC', 'gemmsmith', 'commit', 'runs', 'from', 'to'], data.machines.map(row => row.map(value => value ?? ''))))] : [];
    const nothing = data.sets.length ? [] : [el('p', {class: 'none'}, 'Nothing was measured: there is no winner and no result of eval here. ', el('code', {}, 'gemmsmith tune'), ' and ',
        el('code', {}, 'gemmsmith eval'), ' bring some.')];
    const curves = [el('h2', {id: 'curves'}, 'Learning and regret'), data.curves.length ? [] : el('p', {class: 'none'}, 'No curves here. ', el('code', {}, 'gemmsmith train --store FILE'),
        ' keeps how training went, ', el('code', {}, 'gemmsmith db curves FILE'), ' takes others.'),
    el('div', {class: 'grid pair'}, [...groupBy(data.curves, curve => `${curve.device}\n${pictureOf(curve)}`).values()].map(curvePicture))];
    document.querySelector('main').append(...machines, ...data.sets.map(section), ...nothing, ...lineages(), ...curves.flat());
};

#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""gemmsmith report, opened in a browser: the store of page_store.c, rows of eval, an empty store. Everything must be painted, without an error, and say
what is in the store; a page whose script is broken must not pass.

    page.py PROGRAM PAGE_STORE
"""
import json
import math
import os
import random
import re
import shutil
import sqlite3
import statistics
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from html.parser import HTMLParser
from pathlib import Path

EXTENTS = (64, 1024, 8192)
BANDS = ("under 1", "1-5", "5-20", "20-100", "100-1000", "over 1000")
VOID = {"meta", "input", "br", "img", "link", "hr"}
failures = []


def expect(what, wanted, got):
    close = isinstance(wanted, float) and isinstance(got, float) and math.isclose(wanted, got, rel_tol=2e-3)
    if not close and wanted != got:
        failures.append(f"{what}: expected {wanted!r}, got {got!r}")


# ---- a small tree of elements ----

class Element:
    def __init__(self, name, attributes):
        self.name, self.attributes, self.children = name, attributes, []

    def all(self, name, kind=None):
        for child in self.children:
            if isinstance(child, Element):
                if child.name == name and (kind is None or kind in (child.attributes.get("class") or "").split()):
                    yield child
                yield from child.all(name, kind)

    def one(self, name, kind=None):
        return next(self.all(name, kind))

    @property
    def text(self):
        return "".join(c if isinstance(c, str) else c.text for c in self.children)


class Tree(HTMLParser):
    def __init__(self, text):
        super().__init__()
        self.root = Element("", {})
        self.open = [self.root]
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        element = Element(tag, dict(attrs))
        self.open[-1].children.append(element)
        if tag not in VOID:
            self.open.append(element)

    def handle_endtag(self, tag):
        while len(self.open) > 1 and self.open.pop().name != tag:
            pass

    def handle_data(self, data):
        self.open[-1].children.append(data)


def rows_of(table):
    return [[cell.text for cell in row.children if isinstance(cell, Element)] for row in table.one("tbody").all("tr")]


# ---- programs ----

def run(*command):
    return subprocess.run([str(c) for c in command], capture_output=True, text=True, timeout=120)


def find_browser():
    return next((path for path in map(shutil.which, ("chromium", "chromium-browser", "google-chrome")) if path), None)


def browse(page, address="", *flags):
    """The page's tree after its script has run."""
    profile = tempfile.mkdtemp(dir=WORK)   # several run at once
    done = run(BROWSER, "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", f"--user-data-dir={profile}", "--window-size=1400,2000",
               "--virtual-time-budget=10000", *flags, "--dump-dom", f"file://{page}#{address}")
    if "<body" not in done.stdout:
        sys.exit(f"the browser shows nothing: {done.stderr[-2000:]}")
    return Tree(done.stdout).root


def painted(root):
    """What is wrong with the pictures of a page; nothing is what it should be."""
    body = root.one("body").attributes
    wrong = []
    if body.get("data-state") != "done" or body.get("data-errors") != "0":
        wrong.append(f"state {body.get('data-state')}, {body.get('data-errors')} errors: {root.one('p', 'warning').text}")
    for figure in root.all("figure"):
        canvas, title = figure.one("canvas").attributes, figure.one("figcaption").text
        pixels, area, points = (int(canvas.get(f"data-{what}", 0)) for what in ("painted", "area", "points"))
        data = json.loads(figure.one("script").text)
        least = 0.8 * area * len(data["cells"]) / (len(data["m"]) * len(data["n"])) if data["kind"] == "heat" else 50
        if pixels < least or points < 1:
            wrong.append(f"{title}: {pixels} pixels of {area}, {points} points")
        if not rows_of(figure.one("table")):
            wrong.append(f"{title}: an empty table")
    return wrong


def section(root, title):
    found = [s for s in root.all("section") if s.one("h2").text == title]
    expect(f"sections '{title}'", 1, len(found))
    if not found:
        sys.exit("\n".join(failures))
    return found[0]


def figure(root, title):
    found = [f for f in root.all("figure") if f.one("figcaption").text.startswith(title)]
    expect(f"figures '{title}'", 1, len(found))
    if not found:
        sys.exit("\n".join(failures))
    return found[0], json.loads(found[0].one("script").text)


def cards(root):
    return {card.one("span").text: card.one("b").text for card in root.one("div", "cards").all("div")}


# ---- what must be there ----

def floor(m, n, k):
    """An H200: microseconds, and the band, which does not count the launch."""
    least = max(2 * m * n * k / (0.74 * 4096 * 132 * 1980e6), 2 * (m * k + k * n + m * n) / 4400e9) * 1e6
    return max(least, 1.2), next((i for i, most in enumerate((1, 5, 20, 100, 1000)) if least < most), 5)


def winners():
    for i in range(27):
        m, n, k = EXTENTS[i // 9], EXTENTS[i // 3 % 3], EXTENTS[i % 3]
        library = i % 3 == 1 and m == n
        yield {"m": m, "n": n, "k": k, "us": 10.0 * (i + 1), "ratio": 1.0 if library else 0.98 + 0.02 * i, "cublaslt": library}
    yield {"m": 64, "n": 64, "k": 64, "us": 4.0, "ratio": 1.5, "cublaslt": False}


def geomean(values):
    return math.exp(statistics.fmean(map(math.log, values)))


def check_winners(root):
    part, known = section(root, "Winners: nvidia-h200"), list(winners())
    ratios = [w["ratio"] for w in known]
    said = cards(part)
    expect("problems", "28", said["problems"])
    expect("geometric mean", f"{geomean(ratios):.3f}", said["ratio, geometric mean"])
    expect("median", f"{statistics.median(ratios):.3f}", said["ratio, median"])
    expect("not slower", f"{100 * sum(r >= 0.99 for r in ratios) / 28:.1f} %", said["not slower than 0.99"])
    expect("won by cuBLASLt", "3", said["won by cuBLASLt"])
    expect("worst", "0.980", said["worst ratio"])
    expect("labels", [], [e.text for e in part.all("em", "predicted")])
    kinds = [d.one("summary").text for d in part.all("details", "maps")]
    expect("kinds of maps", ["bf16 nn: 1 problem, 1 map", "f16 tn: 27 problems, 3 maps"], kinds)
    maps = list(part.all("details", "maps"))[1]
    for k in EXTENTS:
        shown, data = figure(maps, f"K = {k}")
        expect("axes", [[str(e) for e in EXTENTS]] * 2, [data["m"], data["n"]])
        cells = {(EXTENTS[m], EXTENTS[n]): value for n, m, value, count in data["cells"] if count == 1}
        wanted = {(w["m"], w["n"]): round(w["ratio"], 4) for w in known[:27] if w["k"] == k}
        expect(f"map of K = {k}", wanted, cells)
        table = rows_of(shown.one("table"))
        expect(f"table of K = {k}", [[str(m)] + [f"{wanted[m, n]:.3f}" for n in EXTENTS] for m in reversed(EXTENTS)], table)
    shown, data = figure(part, "Ratio by work")
    by_band = {}
    for w in known:
        by_band.setdefault(BANDS[floor(w["m"], w["n"], w["k"])[1]], []).append(w["ratio"])
    expect("bands", [b for b in BANDS if b in by_band] + ["all"], [box["name"] for box in data["boxes"]])
    for box in data["boxes"]:
        values = by_band.get(box["name"], ratios)
        expect(f"mean of {box['name']}", geomean(values), box["mean"])
        expect(f"median of {box['name']}", statistics.median(values), box["at"][2])
        expect(f"count of {box['name']}", len(values), box["count"])
    shown, data = figure(part, "Share of the floor, problem")
    w = known[20]
    expect("share of the floor", floor(w["m"], w["n"], w["k"])[0] / w["us"], next(y for _, y, name in data["series"][0]["points"] if name == "f16:8192x64x8192:tn"))
    table = part.one("div", "sortable")
    expect("rows of winners", 28, len(rows_of(table)))
    first = next(r for r in rows_of(table) if r[0] == "f16:64x64x1024:tn")
    expect("a library that won", ["f16:64x64x1024:tn", "64", "64", "1024", "cublaslt/2", "20.00", "20.00", "1.000", "0.990-1.010", "1.20", "0.060", "2026-01-31"], first)
    expect("marked as such", 3, len(list(table.all("td", "cublaslt"))))
    expect("strange names", 1, sum(r[4] == "source:<img src=x onerror=alert(1)>&\"'" for r in rows_of(table)))
    expect("images", 0, len(list(root.all("img"))))


def check_predicted(root):
    part = section(root, "Winners: emu-h200 (predicted)")
    figures = list(part.all("figure"))
    expect("figures of an emulated device", 6, len(figures))
    for shown in figures:
        title = shown.one("figcaption").text
        expect(f"label of {title}", True, not title.startswith("Predicted") and len(list(shown.all("em", "predicted"))) == 1)
        expect(f"label in the picture of {title}", True, json.loads(shown.one("script").text)["predicted"])
    expect("no ratios to a library", False, "cuBLASLt us" in part.one("div", "sortable").text)
    expect("a column of predicted times", True, "predicted us" in part.one("div", "sortable").text)
    _, data = figure(part, "K = 64")
    expect("scale", ["share", [[0, 0, 0.5, 1]]], [data["scale"], data["cells"]])


def check_latencies(root):
    part = section(root, "Evaluated, single requests: NVIDIA H200")
    _, data = figure(part, "Latency of single requests")
    expect("bands of latencies", list(BANDS[:2]), data["labels"])
    for bar, base, times in zip(data["bars"], (20, 20, 20, 50, 50, 50), (1, 2, 3, 1, 2, 3)):
        for band in range(2):
            expect(f"{bar['name']}, band {band}", geomean([times * (base + i) for i in range(7 * band, 7 * band + 7)]), bar["values"][band])
    expect("mean ratio", f"{geomean([(50 + i) / (20 + i) for i in range(14)]):.3f}", cards(part)["ratio, geometric mean"])
    expect("what could not be read", True, "1 rows could not be read" in root.one("header").text)


def check_curves(root):
    shown, data = figure(root, "Regret by policy, nvidia-h200")
    expect("lines", [("enumerate", 3), ("learned", 3)], [(line["name"], line["members"]) for line in data["lines"]])
    for line, factor in zip(data["lines"], (2, 1)):
        expect("median regret", [factor * 2 / x for x in range(1, 65)], line["y"])
        expect("middle half", [factor * 1.5, factor * 2.5], [line["low"][0], line["high"][0]])
    expect("measured", [], list(shown.all("em", "predicted")))
    shown, _ = figure(root, "Regret by policy, emu-h200")
    expect("predicted", 1, len(list(shown.all("em", "predicted"))))
    _, data = figure(root, "Training of the surrogate, nvidia-h200")
    expect("name of a line", "</script><b>weights", data["lines"][0]["name"])
    expect("a point without a number: the one before", math.exp(-4), data["lines"][0]["y"][5])


def check_data(text):
    """What the scripts are given, of the kernels in page_store.c."""
    data = json.loads(re.search('<script type="application/json" id="data">(.*?)</script>', text, re.S).group(1))
    expect("lineages in the data", [("nvidia-h200", "f16:1024x1024x1024:tn", False, 5)], [(t["device"], t["problem"], t["predicted"], len(t["kernels"])) for t in data["lineages"]])
    kernels = [dict(zip(data["lineage_columns"], row)) for tree in data["lineages"] for row in tree["kernels"]]
    expect("generations", [(1, 40, None, True), (2, None, None, False), (2, 50, 0.8, True), (3, 20, 2.5, True), (1, None, None, False)],
           [(k["generation"], k["us"], k["gain"], k["best"]) for k in kernels])
    expect("parents", ["ws", *(kernels[i]["candidate"] for i in (0, 0, 2)), ""], [k["base"] for k in kernels])


def check_lineages(root):
    """The kernels of page_store.c: a tree, what each gained over the one that it was made from, and the best line."""
    found = list(root.all("details", "lineage"))
    expect("lineages", 1, len(found))
    if not found:
        return
    expect("lineages, in a line", "f16:1024x1024x1024:tn on nvidia-h200: 5 kernels in 3 generations, 3 passed, best 20.00 us", found[0].one("summary").text)
    rows = rows_of(found[0].one("table"))
    names = [row[0] for row in rows]
    expect("names of kernels", [], [name for name in names if not re.fullmatch("source:[0-9a-f]{8}", name)])
    expect("kernels", [[names[0], "1", "ws", "0", "pass", "40.00", "0.750", "", "0.500"], [names[1], "2", names[0], "0", "exact", "", "", "", "-1.000"],
                       [names[2], "2", names[0], "0", "pass", "50.00", "0.600", "0.800", "0.500"], [names[3], "3", names[2], "0", "pass", "20.00", "1.500", "2.500", "0.500"],
                       [names[4], "1", "nothing", "1", "compile", "", "", "", "-1.000"]], rows)
    heads = list(found[0].one("tbody").all("th", "line"))
    expect("the best line", [names[0], names[2], names[3]], [head.text for head in heads if "best" in head.attributes["class"].split()])
    expect("indented", ["0.5em", "1.7em", "1.7em", "2.9em", "0.5em"], [head.attributes["style"].split()[1].rstrip(";") for head in heads])


def make_runs(program):
    """Two seeds of an arm, and one run of verl's."""
    for seed in (1, 2):
        folder = WORK / f"rl.{seed}" / "checkpoint-2"
        folder.mkdir(parents=True)
        entries = [{"step": step, "reward": step / 4 + seed, "entropy": 1 / step} for step in (1, 2)]
        (folder / "trainer_state.json").write_text(json.dumps({"log_history": entries + [{"step": 2, "train_runtime": 1.0}]}))
    (WORK / "verl.jsonl").write_text('{"step":1,"data":{"critic/rewards/mean":0.5}}\n')
    done = run(program, "report", WORK / "rl.1/checkpoint-2/trainer_state.json", WORK / "rl.2/checkpoint-2/trainer_state.json", WORK / "verl.jsonl", "--out", WORK / "runs.html")
    expect("runs", (0, f"{WORK}/runs.html: 0 problems in 0 sets, 5 curves, 0 lineages\n"), (done.returncode, done.stdout))


def check_runs(root):
    shown, data = figure(root, "Reward")
    lines = {line["name"]: line for line in data["lines"]}
    expect("runs' lines", {"rl": 2, "verl": 1}, {name: line["members"] for name, line in lines.items()})
    expect("middle of two seeds", [1.75, 2.0], lines["rl"]["y"])
    expect("what is drawn", True, "the middle half" in shown.text and "No measured times" not in shown.text)
    _, data = figure(root, "Entropy")
    expect("entropy", [1, 0.5], data["lines"][0]["y"])


def check_alone(text, root):
    """It loads nothing, says under which licence its library stands, and keeps what the store knows of the user's command lines to itself."""
    for element in ("script", "link", "img", "iframe", "a", "use", "image"):
        for found in root.all(element):
            for name in ("src", "href"):
                expect(f"{element} {name}", True, (found.attributes.get(name) or "#").startswith("#"))
    expect("policy", True, "default-src 'none'" in text)
    expect("licence", True, "Chart.js Contributors" in text and "Jukka Kurkela" in text and "The above copyright notice and this permission notice" in text)
    expect("scripts that end early", text.count("</script>"), text.count("<script"))
    expect("command lines", False, "--secret" in text)
    expect("environment", ["nvidia-h200", "132", "13.0", "13.1.0", "12.9", "0.1.0+feed", "c0ffee", "3"], rows_of(root.one("table"))[0][:8])


def check_sorting(root):
    expect("the page in the dark", [], painted_where_shown(root))
    table = section(root, "Winners: nvidia-h200").one("div", "sortable")
    visible = [[cell.text for cell in row.children] for row in table.one("tbody").all("tr") if "hidden" not in row.attributes]
    wanted = sorted((w for w in list(winners())[:27] if w["m"] == 8192 and w["n"] == 64), key=lambda w: w["ratio"])
    expect("searched and sorted", [f"f16:8192x64x{w['k']}:tn" for w in wanted], [row[0] for row in visible])
    expect("said beside it", "3 of 28", section(root, "Winners: nvidia-h200").one("output").text)


def painted_where_shown(root):
    """Closed parts are drawn when they are opened."""
    for details in root.all("details", "maps"):
        if "open" not in details.attributes:
            details.children = [c for c in details.children if isinstance(c, Element) and c.name == "summary"]
    return painted(root)


ROWS = """# NVIDIA H200, driver CUDA 13.0, cuBLASLt 13.1.0, NVRTC 13.0, gemmsmith 0.1.0+aa bb, 2026-01-31T12:00:00Z
# gemmsmith eval --file /home/somebody/list
problem,mode,cache,layout,contender,choice,device_us,ratio,low,high,is_best,best_ratio,best_low,best_high,verified,rounds,calls,mhz_before,mhz_after,floor_us,band,call_us,call_p50,call_p95,call_p99,algorithm,message,date
"f16:64x64x64:nn",offline,cold,nn,own,simple,9,1,1,1,0,1.25,1.2,1.3,ok,21,9,1980,1980,1.2,0,,,,,"x","",2026-01-30T12:00:00Z
"f16:64x64x64:tn",offline,cold,tn,own,mma/1,2,1,1,1,1,1.5,1.4,1.6,ok,21,9,1980,1980,1.2,0,,,,,"","",2026-01-31T12:00:00Z
"f16:64x64x64:nn",offline,cold,nn,own,simple,2.5,1,1,1,0,1.5,1.4,1.6,ok,21,9,1980,1980,1.2,0,,,,,"30 registers","",2026-01-31T12:00:00Z
"f16:64x64x64:nn",offline,cold,nn,cublaslt-autotuning,library/1,3,1,1,1,1,1.5,1.4,1.6,ok,21,9,1980,1980,1.2,0,,,,,"an ""algorithm"", it","",2026-01-31T12:00:00Z
"f16:64x64x64:tn",offline,warm,tn,own,mma/1,1,9,9,9,1,9,9,9,ok,21,9,1980,1980,1.2,0,,,,,"","",2026-02-01T12:00:00Z
"f16:64x64x128:tn",offline,cold,tn,own,mma/1,2,2,2,2,1,2,2,2,wrong,21,9,1980,1980,1.2,1,,,,,"","",2026-01-31T12:00:00Z
"f16:64x64x256:nn",predicted,cold,nn,own,mma/2,3,,,,0,,,,ok,21,9,,,1.2,1,,,,,"","",2026-01-31T12:00:00Z
"f16:64x64x256:tn",predicted,cold,tn,own,mma/1,4,,,,0,,,,ok,21,9,,,1.2,1,,,,,"","",2026-01-31T12:00:00Z
"f16:64x64x64:tn",offline,cold,tn,own,simple,1,1,1,1,1,9,9,9,ok,21,9,1980,1980,1.2,0,,,,,"","",2026-01-29T12:00:00Z
"f16:64x64x256:nn",predicted
"""


def make_rows(program):
    (WORK / "rows.csv").write_text(ROWS)
    done = run(program, "report", WORK / "rows.csv", "--out", WORK / "rows.html")
    expect("rows", f"{WORK}/rows.html: 3 problems in 2 sets, 0 curves, 0 lineages\n", done.stdout)
    expect("rows that could not be read", "1 rows could not be read and are missing\n", done.stderr)
    expect("a folder of the user", False, "somebody" in (WORK / "rows.html").read_text())


def check_rows(root):
    expect("pictures of rows", [], painted(root))
    expect("a device whose multiprocessors nobody named", ["NVIDIA H200", "", "13.0"], rows_of(root.one("table"))[0][:3])
    part = section(root, "Evaluated, calls back to back: NVIDIA H200")
    expect("rows of the faster layouts", [["f16:64x64x64:nn,tn", "64", "64", "64", "tn mma/1", "2.00", "3.00", "1.500", "1.400-1.600", "1.20", "0.600", "2026-01-31"],
                                          ["f16:64x64x128:tn", "64", "64", "128", "", "", "", "", "", "1.20", "", "2026-01-31"]], rows_of(part.one("div", "sortable")))
    expect("what was wrong", True, "1 times something of ours was wrong" in part.text)
    part = section(root, "Evaluated, calls back to back: NVIDIA H200 (predicted)")
    expect("no charts of one problem", 0, len(list(part.all("figure"))))
    expect("predicted rows", [["f16:64x64x256:nn,tn", "64", "64", "256", "nn mma/2", "3.00", "1.20", "0.400", "2026-01-31"]], rows_of(part.one("div", "sortable")))


def check_objects(program):
    """The same results as lines of eval --json."""
    with sqlite3.connect(WORK / "s.db") as store:
        lines = [value for (value,) in store.execute("SELECT value FROM result ORDER BY key")]
    (WORK / "rows.jsonl").write_text("\n".join(lines) + "\n")
    done = run(program, "report", WORK / "rows.jsonl", "--out", WORK / "objects.html")
    expect("objects", f"{WORK}/objects.html: 14 problems in 1 set, 0 curves, 0 lineages\n", done.stdout)
    check_latencies(browse(WORK / "objects.html"))
    objects = [json.loads(line) for line in lines[:-1]]
    for found in objects:   # with what ours is compared with first
        found["contenders"].reverse()
    (WORK / "reversed.jsonl").write_text("".join(json.dumps(found) + "\n" for found in objects) + lines[-1] + "\n")
    run(program, "report", WORK / "reversed.jsonl", "--out", WORK / "reversed.html")
    check_latencies(browse(WORK / "reversed.html"))
    (WORK / "predicted.jsonl").write_text(json.dumps({**objects[0], "mode": "offline", "predicted": True}) + "\n")
    run(program, "report", WORK / "predicted.jsonl", "--out", WORK / "predicted.html")
    expect("a predicted object, beside a library or not", [["f16:64x64x64:tn", "64", "64", "64", "tn simple", "2.00", "1.20", "0.600", "2026-01-31"]],
           rows_of(section(browse(WORK / "predicted.html"), "Evaluated, calls back to back: NVIDIA H200 (predicted)").one("div", "sortable")))


def check_damaged(program):
    """Rows and objects with something changed anywhere: a page or a message, and nothing of them gets out of its place."""
    source = random.Random(1)
    for text, count in ((ROWS, 24), ((WORK / "rows.jsonl").read_text(), 12)):
        for _ in range(count):
            damaged = list(text)
            for _ in range(source.randrange(1, 6)):
                at = source.randrange(len(damaged))
                damaged[at:at + source.randrange(4)] = source.choice(["", "\n", ",", '"', "<blink>", "{", "-", "9" * 20, "\0", "\x7f", "\r", "nan", "x" * 300])
            (WORK / "damaged").write_text("".join(damaged))
            done = run(program, "report", WORK / "damaged", "--out", WORK / "damaged.html")
            expect("a damaged file", True, done.returncode in (0, 1) and "Sanitizer" not in done.stderr)
            if done.returncode == 0:
                expect("tags of a damaged file", [], list(Tree((WORK / "damaged.html").read_text()).root.all("blink")))


def make_empty(program):
    (WORK / "none.tuned").write_text("gemmsmith-tuned 1\n")
    run(program, "db", "import", WORK / "none.tuned", "--store", WORK / "empty.db")   # reading would not make it
    done = run(program, "report", "--store", WORK / "empty.db", "--out", WORK / "empty.html")
    expect("empty", (0, f"{WORK}/empty.html: 0 problems in 0 sets, 0 curves, 0 lineages\n"), (done.returncode, done.stdout))


def check_empty(root):
    expect("an empty page", [], painted(root))
    expect("pictures of nothing", 0, len(list(root.all("canvas"))))
    expect("what it says", True, "Nothing was measured" in root.text and "No curves here" in root.text)


# legend: what is broken, a place in the page's script, what stands there instead
BROKEN = (
    ("begin", "'use strict';\n(() => {", "'use strict';\n((( => {"),
    ("draw", "new Chart(canvas", "new Sketch(canvas"),
    ("colour", "const faded = (hex, alpha) => `rgba(${parts(hex).join(',')},${alpha})`", "const faded = () => 'transparent'"),
)


def make_broken(text):
    for what, old, new in BROKEN:
        expect(f"broken: {what}", 1, text.count(old))
        (WORK / f"{what}.html").write_text(text.replace(old, new))


def main(program, page_store):
    done = run(page_store, WORK / "s.db")
    if done.returncode:
        sys.exit(done.stderr)
    done = run(program, "report", "--store", WORK / "s.db", "--out", WORK / "page.html")
    expect("said", (0, f"{WORK}/page.html: 46 problems in 3 sets, 14 curves, 1 lineage\n"), (done.returncode, done.stdout))
    check_data((WORK / "page.html").read_text())
    if not BROWSER:
        print("no browser: the page was made and not opened (scripts/setup.sh tests installs chromium)")
        return 77 if not failures else 1
    text = (WORK / "page.html").read_text()
    make_rows(program)
    make_empty(program)
    make_runs(program)
    make_broken(text)
    asked = [("page", "open"), ("page", "search=TN+8192x64x&sort=ratio", "--blink-settings=preferredColorScheme=0"), ("rows", "open"), ("empty", ""), ("runs", "open")]
    asked += [(what, "open") for what, _, _ in BROKEN]
    with ThreadPoolExecutor(3) as pool:
        root, sorted_root, rows, empty, runs, *broken = pool.map(lambda a: browse(WORK / f"{a[0]}.html", *a[1:]), asked)
    expect("pictures", [], painted(root))
    for check in (check_winners, check_predicted, check_latencies, check_curves, check_lineages):
        check(root)
    check_alone(text, root)
    check_sorting(sorted_root)
    check_rows(rows)
    check_empty(empty)
    expect("pictures of runs", [], painted(runs))
    check_runs(runs)
    check_objects(program)
    check_damaged(program)
    for (what, _, _), shown in zip(BROKEN, broken):
        expect(f"a script broken at '{what}' is noticed", True, bool(painted(shown)))
    return 1 if failures else 0


if __name__ == "__main__":
    for name in [n for n in os.environ if n.startswith("GEMMSMITH_")]:
        del os.environ[name]
    BROWSER = find_browser()
    with tempfile.TemporaryDirectory(prefix="gemmsmith-page.") as folder:
        WORK = Path(folder)
        os.environ["HOME"] = os.environ["XDG_DATA_HOME"] = os.environ["XDG_CACHE_HOME"] = folder
        code = main(*map(Path, sys.argv[1:3]))
    print("\n".join(failures) or "ok")
    sys.exit(code)

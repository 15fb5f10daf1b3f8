# SPDX-License-Identifier: MIT
"""What the stages share and what needs nothing but Python: rows, the split, the parts of a prompt, figures of regret."""
import csv
import gzip
import json
import math
import random
import re

BEST, EACH, BUCKETS = 3, 2, (1.03, 1.1, 1.3, 2.0, math.inf)   # as src/policy/llm_prompt.c shows what was measured
NOTHING = "Nothing yet.\n"
MEASURED = re.compile(r"(# What was measured\n\n)(.*?)(\n# What failed\n)", re.S)
SHOWN = re.compile(r"^(- [^\s:]+: [0-9.e+-]+ us).*$", re.M)
ARRAY = re.compile(r"\[[^\[\]]*\]")
PROBLEM = re.compile(r"(f16|bf16):([0-9]+)x([0-9]+)x([0-9]+):(nn|tn|nt|tt)((?::[a-z]+=[^:]+)*)")


# ---- rows ----

def opened(path, mode="rt"):
    return gzip.open(path, mode, compresslevel=1) if str(path).endswith(".gz") else open(path, mode, encoding="utf-8")


def rows(path):
    with opened(path) as file:
        for line in file:
            yield json.loads(line)


def problems(path):
    """The problems of a list: one a line, # begins a comment."""
    with open(path, encoding="utf-8") as file:
        return [text for line in file if (text := line.partition("#")[0].strip())]


def read_times(path):
    """{problem: {schedule: [us]}} of rows that begin "problem,schedule,us", as tools/time_pairs writes them."""
    out = {}
    with open(path, newline="", encoding="utf-8") as file:
        for row in csv.reader(file):
            if row and row[0] != "problem":
                out.setdefault(row[0], {}).setdefault(row[1], []).append(float(row[2]))
    return out


# ---- the split ----

def extents(problem):
    found = PROBLEM.fullmatch(problem)
    if not found:
        raise ValueError(f"'{problem}' is no problem")
    return tuple(map(int, found.group(2, 3, 4)))


def alignment(problem):
    """Of N and K: 64, 8 or 1. Nine in ten times that are kept are of multiples of 64, and models choose badly elsewhere."""
    _, n, k = extents(problem)
    return next(of for of in (64, 8, 1) if n % of == k % of == 0)


class Test:
    """Sizes that nothing may be learned about: those of a list, their twins with M and N swapped, and all that share two extents with one of them."""

    def __init__(self, listed):
        self.pairs = set()
        for m, n, k in map(extents, listed):
            for a, b in ((m, n), (n, m)):
                self.pairs |= {("mn", a, b), ("mk", a, k), ("nk", b, k)}

    def near(self, problem):
        m, n, k = extents(problem)
        return not self.pairs.isdisjoint({("mn", m, n), ("mk", m, k), ("nk", n, k)})


# ---- prompts ----

def change(prompt, edit):
    """The messages with another text of what was measured in the question."""
    def replace(match):
        return match[1] + edit(match[2]) + match[3]
    return [{**one, "content": MEASURED.sub(replace, one["content"], count=1)} if one["role"] == "user" else one for one in prompt]


SECTION = re.compile(r"^# (.*)\n\n", re.M)
TILES = ((64, 64), (64, 128), (128, 64), (128, 128), (64, 256), (128, 192), (192, 128), (128, 256), (256, 128))


def facts(problem, multiprocessors, tiles=TILES):
    """What a small model cannot compute from digits: the largest power of two up to 64 that divides each extent, and how often tiles of each size fill the multiprocessors."""
    if not PROBLEM.fullmatch(problem):
        return ""
    m, n, k = extents(problem)
    aligned = " ".join(f"{name} {math.gcd(extent, 64)}" for name, extent in (("M", m), ("N", n), ("K", k)))
    return aligned + "\n" + "".join(f"{a}x{b} {-(-m // a) * -(-n // b) / multiprocessors:.2f}\n" for a, b in tiles)


def brief_text(text):
    """Of a question in schedule mode what differs between problems: without the grammar and the device, which are the same for all lessons and nine tenths of the text."""
    parts = SECTION.split(text)
    named = dict(zip(parts[1::2], parts[2::2]))
    if parts[0].strip() or not {"Problem", "Grammar", "What was measured", "Question"} <= named.keys():
        return None
    problem = named["Problem"].partition("\n")[0]
    floor, count = re.search(r"The floor.*?: ([0-9.e+]+) us", named["Problem"]), re.search(r"(\d+) multiprocessors", named.get("Device", ""))
    told = [named[name].strip() for name in ("What failed", "What was wrong with the last answer") if named.get(name, "Nothing.").strip() != "Nothing."]
    return (f"{problem}\n" + (f"floor {floor[1]} us\n" if floor else "") + facts(problem, int(count[1]) if count else 132)
            + "\n".join([named["What was measured"].strip(), *told, named["Question"].strip()]) + "\n")


def brief(prompt):
    """The messages as a small model reads them, with no system message. What is no question in schedule mode stays as it is."""
    texts = [brief_text(one["content"]) if one["role"] == "user" else None for one in prompt]
    if not any(texts):
        return prompt
    return [{**one, "content": text or one["content"]} for one, text in zip(prompt, texts, strict=True) if one["role"] != "system"]


def without_examples(prompt):
    return change(prompt, lambda text: NOTHING)


def without_metrics(prompt):
    """Of what was measured the times alone: no share of the floor, no ratio to cuBLASLt, no counters."""
    return change(prompt, lambda text: SHOWN.sub(r"\1", text))


def number(value):
    """As C prints %.4g."""
    return f"{value:.4g}"


def measured_text(times, floor_us, seed):
    """times: {schedule: us}. The fastest, and some of each range of the others."""
    if not times:
        return NOTHING
    source = random.Random(f"{seed} {sorted(times)}")
    order = sorted(times.items(), key=lambda item: item[1])

    def line(item):
        return f"- {item[0]}: {number(item[1])} us, {100 * floor_us / item[1]:.0f} % of the floor's speed\n"
    text = f"{len(order)} so far. The fastest:\n" + "".join(map(line, order[:BEST]))
    rest = order[BEST:]
    if rest:
        text += "Some of the others:\n"
    for end in BUCKETS:
        inside = [item for item in rest if item[1] <= end * order[0][1]]
        rest = rest[len(inside):]
        text += "".join(map(line, sorted(source.sample(inside, min(EACH, len(inside))), key=lambda item: item[1])))
    return text


def with_measured(prompt, times, floor_us, seed=0):
    return change(prompt, lambda text: measured_text(times, floor_us, seed))


ARMS = {
    "imitation": None,
    "rl": lambda prompt: prompt,
    "rl-no-examples": without_examples,
    "rl-no-metrics": without_metrics,
    "rl-surrogate": lambda prompt: prompt,
    "rl-rounds": lambda prompt: prompt,
    "rl-rounds-no-examples": without_examples,
    "rl-rounds-no-metrics": without_metrics,
    "rl-rounds-surrogate": lambda prompt: prompt,
}


def schedules(answer):
    """The schedule strings of an answer; none if it cannot be read."""
    found = ARRAY.findall(answer)
    try:
        listed = json.loads(found[-1]) if found else []
    except ValueError:
        return []
    return [one for one in listed if isinstance(one, str)]


# ---- figures ----

def share(proposed, times, best, count):
    """Of one problem: the fastest time over the fastest among the first `count` proposals; what did not run counts as nothing. None: none ran."""
    own = [times[one] for one in proposed[:count] if one in times]
    return best / min(own) if own else None


FAILED = 0.1   # of the fastest: what a contender has where none of its proposals ran


def shares(arm, times, count):
    """arm: {problem: [schedule]}; times: {problem: {schedule: us}}. {problem: share} of all problems of which anything was timed."""
    out = {}
    for problem, known in times.items():
        got = share(arm.get(problem, []), known, min(known.values()), count)
        out[problem] = FAILED if got is None else max(got, FAILED)
    return out


def geometric(values):
    return math.exp(sum(map(math.log, values)) / len(values))


def paired(first, second, draws=2000, seed=1):
    """Difference of the geometric means, first - second, over the problems that both have: middle, and the bounds of 95 % by bootstrap over problems. Each of
    the two: a list of {problem: share}, one for each seed, whose logarithms are averaged."""
    def logs(arms):
        return {p: sum(math.log(one[p]) for one in arms) / len(arms) for p in arms[0] if all(p in one for one in arms)}
    a, b = logs(first), logs(second)
    both = sorted(set(a) & set(b))
    if not both:
        return None
    source = random.Random(seed)

    def difference(of):
        return math.exp(sum(a[p] for p in of) / len(of)) - math.exp(sum(b[p] for p in of) / len(of))
    drawn = sorted(difference(source.choices(both, k=len(both))) for _ in range(draws))
    return difference(both), drawn[int(0.025 * draws)], drawn[int(0.975 * draws) - 1]

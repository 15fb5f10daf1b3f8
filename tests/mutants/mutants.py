#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Makes wrong kernels of honest ones and says which of them verification lets pass.

    mutants.py --judge PROGRAM [--seed N] [--count N] [--base PART_OF_A_NAME] [--jobs N] [--report FILE]
    mutants.py --judge PROGRAM --sample N       a fixed sample; fails if one survives

Bases: a schedule of every family, and the user kernels of tests/hacks/honest.cu and blocks_honest.cu. Kinds of mutants: `code` changes one token or
drops one statement of the kernel (or of a header that it includes); the others change operands or results as a careless or a
dishonest kernel would: drop, clamp, flush, saturate, swallow NaN, a wrong bit in one element, skip a tile, stale data.

PROGRAM (tests/mutants/judge.c) compiles and verifies each on the emulated device. A mutant whose compiled code is that of its base
is no mutant. One that passes is a survivor, unless equivalent.txt has its name with the reason why it computes the same."""
import argparse
import collections
import concurrent.futures
import itertools
import os
import queue
import random
import re
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
KERNELS = os.path.join(ROOT, "kernels")
PLAIN = "f16:40x56x72:tn"
HEAD = "manifest 1\naccumulator f32\ndeterminism bitwise\nalign a=2 b=2 c=2 d=2\n"
ENTRY = "entry gs_kernel\ngrid cdiv(n,16) cdiv(m,16) batch\nblock 16 16 1\n"

# A schedule, the problem that it is judged on, ragged at every edge of the tiles, with rows that end before the next begins; and further problems for
# those that pass, as edge problems are for user kernels.
FAMILIES = [
    ("simple", "f16:40x56x72:tn:lda=80:ldb=96:ldd=64", ["f16:40x56x0:tn", "f16:3x70x33:tn:lda=40:ldb=48:b=2", "f16:24x40x48:tn:alpha=0.5"]),
    ("simple", "bf16:24x40x48:nn:ldb=48:ldc=56:ldd=64:beta=0.5", ["bf16:24x40x0:nn:beta=0.5", "bf16:70x3x33:nn:lda=40:ldb=8:b=2:beta=1"]),
    ("mma/32x64x64/w2x2/s5/g1/k2", "f16:72x96x136:tn:lda=144:ldb=152:ldd=112", ["f16:72x96x0:tn", "f16:40x72x1544:tn:b=2", "f16:24x40x8:tn:alpha=0.5"]),
    ("mma/16x64x64/w1x4/s6/g1/k2", "bf16:40x72x96:nn:d=f32:lda=104:ldb=88:ldd=80", ["bf16:72x96x0:nn:d=f32", "bf16:40x72x1544:nn:d=f32:b=2"]),
    ("ws/64x64x64/s4/c1x1/coop/g1", "f16:72x96x136:tn:lda=144:ldb=152:ldd=112", ["f16:72x96x0:tn", "f16:200x72x520:tn:b=2", "f16:24x40x8:tn:alpha=0.5"]),
    ("slicek/32x32/w1x1x8/d2/k1/any/f128", "f16:40x56x264:tn:lda=272:ldb=280:ldd=64", ["f16:40x72x1032:tn:b=2", "f16:24x40x8:tn:alpha=0.5"]),
    ("splitk/64x32x128/s4/ab/c1x1/k1/any", "f16:72x96x264:tn:lda=272:ldb=280:ldd=104", ["f16:40x72x1032:tn:b=2", "f16:24x40x8:tn:alpha=0.5"]),
    ("gemv/8x32/w16/d1/r128/p0/k1/any", "f16:1x136x264:tn:ldb=280", ["f16:1x40x1032:tn", "f16:1x40x8:tn:alpha=0.5"]),
]

Base = collections.namedtuple("Base", "name problem source manifest schedule more")


def read(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


def inline_headers(source, seen):
    """Puts the headers of common/ into the text, each once, so that they are mutated as well."""
    def replace(match):
        name = match.group(1)
        if name in seen:
            return ""
        seen.add(name)
        return inline_headers(read(os.path.join(KERNELS, name)), seen)
    return re.sub(r'^[ \t]*#[ \t]*include "(common/[a-z0-9_]+\.(?:cuh|h))"[^\n]*$', replace, source, flags=re.M)


def user_bases():
    plain = read(os.path.join(ROOT, "tests/hacks/plain.cuh"))
    files = [read(os.path.join(ROOT, "tests/hacks", name)) for name in ("honest.cu", "blocks_honest.cu")]
    for part in [part for text in files for part in re.split(r"^//// ", text, flags=re.M)[1:]]:
        head, body = part.split("\n", 1)
        fields = [field.strip() for field in head.split("|")]
        lines = re.findall(r"^//: (.*)$", body, flags=re.M)
        head = HEAD[:HEAD.index("align")] if lines and lines[0].startswith("align") else HEAD
        manifest = head + ("\n".join(lines) + "\n" if lines else ENTRY)
        yield Base("user: " + fields[0], fields[2] if len(fields) > 2 else PLAIN, plain + body, manifest, None, [])


def family_bases(judge, folder):
    for schedule, problem, more in FAMILIES:
        path = os.path.join(folder, "base.cu")
        answer = judge.ask("source %s %s %s" % (schedule, problem, path))
        if answer[1] != "pass":
            sys.exit("%s for %s: %s" % (schedule, problem, " ".join(answer)))
        source = read(path)
        if schedule == "simple":
            source = source[:source.index("/* ---- the f64 reference ---- */")]   # the verifier's own
        yield Base("family: %s %s" % (schedule, problem.split(":")[0]), problem, inline_headers(source, set()), None, schedule, more)


class Judge:
    """The program that verifies; it answers each line with one."""

    def __init__(self, program):
        self.process = subprocess.Popen([program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1)

    def ask(self, line):
        try:
            self.process.stdin.write(line + "\n")
            self.process.stdin.flush()
        except BrokenPipeError:
            pass
        answer = self.process.stdout.readline()
        if not answer:
            sys.exit(77 if self.process.wait() == 77 else "the judge ended")   # 77: there is no compiler
        return (answer.strip().split(" ", 3) + ["", "", ""])[:4]

    def close(self):
        self.process.stdin.close()
        self.process.wait()


# ---- mutants of the code ----

def code_mask(source):
    """True where a character is code that may be changed: no comment, text, directive, assembly."""
    mask = [True] * len(source)
    pattern = r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"|^[ \t]*#(?:\\\n|[^\n])*|\bstatic_assert\b[^;]*;|\btemplate\s*<[^>]*>'
    for match in re.finditer(pattern, source, flags=re.S | re.M):
        for i in range(match.start(), match.end()):
            mask[i] = False
    return mask


TOKENS = [
    ("off by one", r"(?<![<>=!\-+])<(?![<=])(?= )", ["<="]), ("off by one", r"<=", ["<"]), ("off by one", r"(?<![>\-])>(?![>=])(?= )", [">="]),
    ("off by one", r">=", [">"]), ("edge predicate", r"==", ["!="]), ("edge predicate", r"!=", ["=="]), ("edge predicate", r"&&", ["||"]),
    ("edge predicate", r"\|\|", ["&&"]), ("edge predicate", r"\bif \((?!constexpr)", ["if (!", "if (0 && ", "if (1 || "]),
    ("arithmetic", r" \+ ", [" - "]), ("arithmetic", r" - ", [" + "]), ("arithmetic", r" \* ", [" + "]), ("arithmetic", r" / ", [" * "]),
    ("arithmetic", r" % ", [" / "]), ("arithmetic", r" << ", [" >> "]), ("arithmetic", r" \+= ", [" -= ", " = "]), ("arithmetic", r" & ", [" | "]),
    ("off by one", r"(?<![\w.])\d+(?![\w.])", ["+1", "-1"]),
    ("layout index", r"\brow\b", ["col"]), ("layout index", r"\bcol\b", ["row"]), ("layout index", r"(?<=p\.)m\b", ["n"]), ("layout index", r"(?<=p\.)n\b", ["m"]),
    ("layout index", r"(?<=p\.)k\b", ["n"]), ("layout index", r"\blda\b", ["ldb"]), ("layout index", r"\bldb\b", ["lda"]), ("layout index", r"\bldd\b", ["ldc"]),
    ("layout index", r"threadIdx\.x", ["threadIdx.y"]), ("layout index", r"blockIdx\.x", ["blockIdx.y"]), ("layout index", r"blockIdx\.y", ["blockIdx.x"]),
]
STATEMENT = ("drop", r"(?<=[;{}\n])[ \t]*(?:[a-z_]\w*\([^;{}]*\)|[a-z_][\w.\[\]>*+ -]* [-+|&^*]?= [^;{}]*);", [";"])


def code_places(source):
    mask = code_mask(source)
    for kind, pattern, replacements in TOKENS + [STATEMENT]:
        for match in re.finditer(pattern, source):
            start = match.start() + len(match.group()) - len(match.group().lstrip(" \t\n"))
            if not mask[start]:
                continue
            if kind == "drop" and re.match(r"\s*(return|goto|break|continue|typedef|using|extern|template)\b", match.group()):
                continue
            for new in replacements:
                if new in ("+1", "-1"):
                    new = str(int(match.group()) + int(new))
                yield kind, match.start(), match.end(), new


def mutate_code(base, rng):
    kind, start, end, new = rng.choice(mutate_code.places.setdefault(base.name, list(code_places(base.source))))
    line, column = base.source.count("\n", 0, start) + 1, start - base.source.rfind("\n", 0, start)
    old = " ".join(base.source[start:end].split())
    return kind, "line %d.%d: %s -> %s" % (line, column, old, new.strip()), base.source[:start] + new + base.source[end:]


mutate_code.places = {}


# ---- mutants of operands and results ----

BITS = "static __device__ __forceinline__ unsigned gm_bits(float x) { return __float_as_uint(x); }\n"

# Of an input x; of a result x, before it is rounded. SUBNORMAL: the least normal number of the type.
INPUTS = [
    ("clamp", "fabsf(x) < 1e38f ? fminf(fmaxf(x, -{c}.f), {c}.f) : x", (6, 8, 16, 2047, 4096, 32767)),
    ("clamp", "x == truncf(x) || !(fabsf(x) < 1e9f) ? x : fminf(fmaxf(x, -{c}.f), {c}.f)", (6, 8, 100)),
    ("flush", "fabsf(x) < {c} ? 0.f : x", ("0x1p-14f", "0x1p-20f", "0x1p-18f")),
    ("swallow NaN", "x != x ? 0.f : x", (0,)),
    ("swallow NaN", "fmaxf(x, -3e38f)", (0,)),
    ("saturate", "fabsf(x) > 1e30f ? copysignf(65504.f, x) : x", (0,)),
    ("clamp", "x - x == 0.f ? x : copysignf({c}.f, x)", (0, 65504)),
    ("drop", "x == {c}.f ? 0.f : x", (3, 5, 7)),
]
RESULTS = [
    ("clamp", "fabsf(x) < 1e38f ? fminf(fmaxf(x, -{c}.f), {c}.f) : x", (1000, 8192, 30000)),
    ("flush", "fabsf(x) < {c} ? 0.f : x", ("0x1p-14f", "0x1p-20f", "0x1p-22f")),
    ("saturate", "fabsf(x) < 1e38f ? fminf(fmaxf(x, -65504.f), 65504.f) : x", (0,)),
    ("saturate", "x - x != 0.f && x == x ? copysignf(65504.f, x) : x", (0,)),
    ("swallow NaN", "x != x ? 0.f : x", (0,)),
    ("swallow NaN", "p.m > 16 && x != x ? 1.f : x", (0,)),
    ("drop", "row == p.m / 2 && col == p.n / 3 ? 0.f : x", (0,)),
    ("wrong bit", "row == p.m - 1 && col == p.n - {c} ? __uint_as_float(gm_bits(x) ^ (1u << 13)) : x", (1, 2, 9)),
    ("wrong bit", "row == p.m / 3 && col == p.n / 2 ? __uint_as_float(gm_bits(x) ^ (1u << {c})) : x", (14, 16, 20, 31)),
    ("wrong bit", "row == p.m / 3 && col == p.n / 2 && x != truncf(x) ? __uint_as_float(gm_bits(x) ^ (1u << {c})) : x", (13, 14, 16, 20)),
    ("skip a tile", "row / 16 == p.m / 32 && col / 16 == p.n / 32 ? 0.f : x", (0,)),
    ("special zero", "x == 0.f ? __uint_as_float(0x7fc00000u) : x", (0,)),
    ("special zero", "x == 0.f ? 0x1p-24f : x", (0,)),
    ("layout index", "row == {c} ? -x : x", (0, 1)),
    ("stale", "__half2float(*(__half *)d_at(p, batch, row, col)) == __half2float(*(__half *)d_at(p, batch, row, col)) ? gs_f16_to_f32(*d_at(p, batch, row, col)) : x", (0,)),
    ("reads C", "p.beta == 0 && gs_f16_to_f32(((const half_bits *)p.c)[(batch * p.m + row) * p.ldc + col]) == 1.f ? x + 1.f : x", (0,)),
    ("reads C", "p.beta == 0 && fabsf(gs_f16_to_f32(((const half_bits *)p.c)[(batch * p.m + row) * p.ldc + col])) < 1e9f ? 0.f : x", (0,)),
]
TILES = ["row / 16 == 1", "col / 16 == p.n / 16", "row / 8 == p.m / 8", "row == p.m - 1", "col % 16 == 15", "col == 0 && row == 0"]


def condition(rng):
    """Where a dishonest kernel would be wrong: everywhere, or at the size that is timed only."""
    return rng.choice(["", "", "", "p.m > 32 && ", "p.k > 40 && ", "row > 7 && ", "col > 7 && "])


def mutate_data(base, rng):
    """Operands and results of a user kernel, through the functions of plain.cuh that it calls."""
    source = base.source
    loads = [match for match in re.finditer(r"gs_f16_to_f32\(", source)]
    puts = source.count("put(p, ") > 1
    if loads and (not puts or rng.random() < 0.4):
        kind, text, values = rng.choice(INPUTS)
        text = text.replace("{c}", str(rng.choice(values)))
        which = rng.choice([None] + list(range(len(loads))))
        function = BITS + "static __device__ __forceinline__ float gm_load(unsigned short h) { const float x = gs_f16_to_f32(h); return %s; }\n" % text
        cut = source.index("typedef unsigned short half_bits;")
        head, tail = source[:cut], source[cut:]
        places = [match.start() for match in re.finditer(r"gs_f16_to_f32\(", tail)]
        if which is not None:
            places = places[which % len(places):][:1]
        for at in reversed(places):
            tail = tail[:at] + "gm_load(" + tail[at + len("gs_f16_to_f32("):]
        return kind, "input %s: %s" % ("all" if which is None else "load %d" % which, text), head + function + tail
    if not puts:
        return None
    if rng.random() < 0.15:
        where = rng.choice(TILES)
        new = source.replace("    *d_at(p, batch, row, col) = gs_f32_to_f16(", "    if (!(%s)) *d_at(p, batch, row, col) = gs_f32_to_f16(" % where, 1)
        return "skip a tile", "no store where %s" % where, new
    kind, text, values = rng.choice(RESULTS)
    text = text.replace("{c}", str(rng.choice(values))).replace("__half2float(*(__half *)d_at(p, batch, row, col))", "gs_f16_to_f32(*d_at(p, batch, row, col))")
    text = "(%s1) ? (%s) : x" % (condition(rng), text)
    old = "gs_f32_to_f16(scaled(p, batch, row, col, sum))"
    function = BITS + ("static __device__ __forceinline__ float gm_result(const gs_kernel_args &p, long long batch, long long row, long long col, float x)"
                       " { return %s; }\n" % text)
    new = source.replace(old, "gs_f32_to_f16(gm_result(p, batch, row, col, scaled(p, batch, row, col, sum)))", 1)
    return kind, "result: " + text, new.replace("INLINE void put(", function + "INLINE void put(", 1)


# Functions of common/convert.cuh by which kernels round results.
ROUNDING = r"__device__[^;{}]*\b(gs_f32_to_f16|gs_f32_to_bf16|gs_pack_f16x2|gs_pack_bf16x2)\(float (\w+)[^)]*\)\s*\{"


def mutate_rounding(base, rng):
    """Results of a family's kernel, where they are converted to the type of D."""
    places = list(re.finditer(ROUNDING, base.source))
    if not places:
        return None
    found = rng.choice(places)
    kind, text, values = rng.choice([item for item in RESULTS if not re.search(r"row|p\.", item[1])])
    text = text.replace("{c}", str(rng.choice(values)))
    name = found.group(2)
    source = base.source[:found.end()] + " { const float x = %s; %s = %s; }" % (name, name, text) + base.source[found.end():]
    return kind, "%s: %s" % (found.group(1), text), source


def make(base, rng):
    for _ in range(50):
        choice = rng.random()
        if base.manifest and choice < 0.5:
            made = mutate_data(base, rng)
        elif not base.manifest and choice < 0.15:
            made = mutate_rounding(base, rng)
        else:
            made = mutate_code(base, rng)
        if made and made[2] != base.source:
            return made
    return None


# ---- judging ----

def equivalents():
    """Names of mutants that compute the same, with the reason: 'NAME | REASON' per line."""
    path = os.path.join(HERE, "equivalent.txt")
    pairs = [line.split(" | ", 1) for line in read(path).splitlines() if line and not line.startswith("#")] if os.path.exists(path) else []
    return {name.strip(): reason.strip() for name, reason in pairs}


def judge_source(judge, folder, base, source, parts):
    path, manifest = os.path.join(folder, "mutant.cu"), os.path.join(folder, "mutant.manifest")
    with open(path, "w", encoding="utf-8") as file:
        file.write(source)
    if not base.manifest:
        problems = base.more if parts == "all" else [base.problem]
        for problem in problems:
            answer = judge.ask("family %s %s %s" % (base.schedule, problem, path))
            if answer[1] not in ("pass", "unsupported", "command"):
                return answer
        return ["", "pass", "", ""] if parts == "all" else answer
    with open(manifest, "w", encoding="utf-8") as file:
        file.write(base.manifest)
    return judge.ask("user %s %s %s %s" % (manifest, base.problem, path, parts))


def drawn(bases, rng, most):
    """(base, kind, name, source) of different mutants."""
    seen = set()
    while len(seen) < most:
        base = rng.choice(bases)
        made = make(base, rng)
        if not made:
            continue
        kind, text, source = made
        name = "%s; %s; %s" % (base.name, kind, text)
        if name not in seen:
            seen.add(name)
            yield base, kind, name, source


class Judges:
    """As many judges as judge at a time, each with a folder of its own."""

    def __init__(self, program, jobs, folder):
        self.pool, self.free = concurrent.futures.ThreadPoolExecutor(jobs), queue.SimpleQueue()
        for number in range(jobs):
            own = os.path.join(folder, str(number))
            os.mkdir(own)
            self.free.put((Judge(program), own))
        self.jobs = jobs

    def judge(self, base, source, code):
        judge, folder = self.free.get()
        try:
            answer = judge_source(judge, folder, base, source, "main")
            if answer[1] == "pass" and code and answer[0] != code:
                answer = judge_source(judge, folder, base, source, "all")   # edge problems take ten times as long
            return answer
        finally:
            self.free.put((judge, folder))

    def ahead(self, mutants, code):
        """(mutant, answer) in the order of the mutants; those behind are judged meanwhile."""
        waiting = collections.deque()
        for mutant in itertools.chain(mutants, [None] * 2 * self.jobs):
            waiting.append((mutant, self.pool.submit(self.judge, mutant[0], mutant[3], code[mutant[0].name]) if mutant else None))
            if len(waiting) >= 2 * self.jobs and waiting[0][0]:
                mutant, future = waiting.popleft()
                yield mutant, future.result()

    def close(self):
        self.pool.shutdown(cancel_futures=True)
        while not self.free.empty():
            self.free.get()[0].close()


def run(options, judges, judge, folder):
    bases = [base for base in list(user_bases()) + list(family_bases(judge, folder)) if options.base in base.name]
    known, tally, kinds, code = equivalents(), collections.Counter(), collections.defaultdict(collections.Counter), {}
    report = open(options.report, "a", encoding="utf-8") if options.report else None
    if not bases:
        sys.exit("no base has '%s' in its name" % options.base)
    for base, answer in zip(bases, judges.pool.map(lambda base: judges.judge(base, base.source, None), bases)):
        if answer[1] != "pass":
            sys.exit("%s is refused: %s" % (base.name, " ".join(answer)))
        code[base.name] = answer[0]
    for (base, kind, name, _), answer in judges.ahead(drawn(bases, random.Random(options.seed), 20 * options.count), code):
        outcome = ("killed" if answer[1] != "pass" else "same" if answer[0] == code[base.name] else "equivalent" if name in known else "survived")
        if answer[1] in ("compile", "command", "file", "machine"):
            outcome = "invalid"
        tally[outcome] += 1
        kinds[kind][outcome] += 1
        if report:
            report.write("%s | %s | %s\n" % (outcome, name, " ".join(answer[1:])))
            report.flush()
        if outcome == "survived":
            print("survived: %s" % name)
        elif outcome == "equivalent":
            print("equivalent: %s: %s" % (name, known[name]))
        sys.stdout.flush()
        if tally["killed"] + tally["survived"] + tally["equivalent"] >= options.count:
            break
    judged = tally["killed"] + tally["survived"]
    print("seed %d: %d mutants judged, %d killed (%.1f %%), %d survived; apart: %d equivalent with a reason, %d of the same code, %d that do not compile"
          % (options.seed, judged, tally["killed"], 100.0 * tally["killed"] / max(judged, 1), tally["survived"], tally["equivalent"], tally["same"],
             tally["invalid"]))
    for kind in sorted(kinds):
        print("  %-16s %4d killed %3d survived" % (kind, kinds[kind]["killed"], kinds[kind]["survived"]))
    return 1 if tally["survived"] or judged < options.least else 0


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--judge", required=True, help="the program tests/mutants_judge of the build")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=int, default=500, help="mutants to judge")
    parser.add_argument("--base", default="", help="bases with this in their name only")
    parser.add_argument("--sample", type=int, default=0, help="the fixed sample of so many mutants")
    parser.add_argument("--jobs", type=int, default=len(os.sched_getaffinity(0)), help="judged at a time (cores)")
    parser.add_argument("--report", help="file that every mutant's outcome is added to")
    options = parser.parse_args()
    options.least = 0
    if options.sample:
        options.seed, options.count, options.least = 20, options.sample, options.sample // 2
    judge = Judge(options.judge)
    with tempfile.TemporaryDirectory() as folder:
        judges = Judges(options.judge, options.jobs, folder)
        try:
            code = run(options, judges, judge, folder)
        finally:
            judges.close()
            judge.close()
    sys.exit(code)


if __name__ == "__main__":
    main()

#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Changes the project's own code at random, one small change at a time, and says which changes no test notices.

    mutate.py --seed S --count N [--room ROOM]... [--json]

Each change (a mutant) is made in a copy of the tree, which is built; then the tests run until one fails: those of the room, the golden
cases of the command line and, with --all, every other. A mutant that all of them let pass survives, and is printed as a diff. One that
does not compile, or compiles to the same object, is no mutant: another is drawn in its place.

    --room ROOM      a folder of src, or `kernels`; repeated or with commas. Without it: all of them
    --kind KIND      only changes of this kind; repeated or with commas. --list says which there are and how many places each has
    --all            also all other tests of the build whose program the change is in, the quick ones first
    --room-alone     only the tests of the room: what survives may still be killed by others
    --preset NAME    the build: release, or sanitize, which alone sees leaks
    --results FILE   a line of JSON per mutant (build/mutate/results-SEED.jsonl). A run that was stopped goes on behind the last: same
                     seed, rooms and sources, same mutants
    --equivalent FILE   mutants that compute the same, each with its reason (tests/mutants/code.txt)
    --seconds S      begins no mutant after this time
    --parallel N     judges N mutants at a time, each in a copy of the tree of its own (1). With ccache the copies are built soon
    --leave-out REGEX   tests that do not run, because this machine lacks what they need; --leave-failing leaves out, and names, those
                     that fail without a mutant
    --at-least X     exit 1 if a smaller share is killed

What is printed last: killed, survived, the share killed, and its interval of 95 % (Wilson). A stage of tests may take four times what
it takes without a mutant, and 30 s more; one that is late counts as killed. A test must fail twice. Without a mutant all must pass.

For another tree: --root DIR --source FOLDER --build COMMAND --test COMMAND (repeated, one per stage; {room} is replaced)."""
import argparse
import collections
import concurrent.futures
import contextlib
import ctypes
import hashlib
import itertools
import json
import math
import multiprocessing
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from xml.etree import ElementTree

from mutations import KINDS, applied, diff, draws, read_equivalent, reason_of, survey

ROOT = Path(__file__).resolve().parent.parent
TESTS_OF = {"kernels": "family|verify|emu|mutants|bench"}      # rooms whose tests are not called like them
PROGRAMS = r"gemmsmith|gemmsmith_program|gemmsmith_emu|fake_\w+|mutants_judge|test_page_store"   # that tests of many rooms need
STAGE_FACTOR, STAGE_MORE = 4, 30
AHEAD = 3                  # mutants begun or waiting for each copy, with --parallel


# ---- the copy, and what runs in it ----

def adopt_orphans():
    """What a test leaves behind when it is killed becomes a child of this process, so that it can be ended too."""
    try:
        ctypes.CDLL(None).prctl(36, 1, 0, 0, 0)   # PR_SET_CHILD_SUBREAPER
    except (OSError, AttributeError):
        pass


def descendants():
    parents = collections.defaultdict(list)
    for entry in os.listdir("/proc") if os.path.isdir("/proc") else []:
        if entry.isdigit():
            try:
                with open(f"/proc/{entry}/stat", encoding="utf-8", errors="replace") as file:
                    parents[int(file.read().rsplit(")", 1)[1].split()[1])].append(int(entry))
            except (OSError, IndexError):
                pass
    found, seek = [], [os.getpid()]
    while seek:
        children = parents[seek.pop()]
        found += children
        seek += children
    return found


def end_descendants():
    for _ in range(20):
        left = descendants()
        if not left:
            return
        for pid in left:
            try:
                os.kill(pid, signal.SIGKILL)
            except OSError:
                pass
        for pid in left:
            try:
                os.waitpid(pid, 0)
            except OSError:
                pass


def run(command, folder, limit, environment=None):
    """(code, output, seconds); code None: it was late. Nothing that it started is left."""
    begin = time.monotonic()
    with tempfile.TemporaryFile() as out:   # a file: a pipe would stay open as long as anything that it started lives
        child = subprocess.Popen(command, shell=True, cwd=folder, stdin=subprocess.DEVNULL, stdout=out, stderr=subprocess.STDOUT, start_new_session=True,
                                 env=environment)
        try:
            code = child.wait(timeout=limit)
        except subprocess.TimeoutExpired:
            code = None
        except KeyboardInterrupt:
            end_descendants()
            raise
        end_descendants()
        out.seek(0)
        said = out.read().decode("utf-8", "replace")
    return code, said, time.monotonic() - begin


def copy_tree(root, copy, keep):
    """Makes `copy` what `root` is, writing only what differs, so that a build there goes on where it was."""
    listed = subprocess.run(["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"], cwd=root, capture_output=True, check=False)
    if listed.returncode == 0 and (root / ".git").exists():
        names = [name for name in listed.stdout.decode().split("\0") if name and (root / name).is_file()]
    else:
        names = [path.relative_to(root).as_posix() for path in root.rglob("*") if path.is_file() and root / "build" not in path.parents]
    for name in names:
        source, target = root / name, copy / name
        if not target.exists() or target.read_bytes() != source.read_bytes():
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(source, target)
        target.chmod(source.stat().st_mode)
    known = set(names)
    for path in sorted(copy.rglob("*")):
        name = path.relative_to(copy).as_posix()
        if path.is_file() and name not in known and name.split("/")[0] != keep:
            path.unlink()


def tree_hash(copy):
    digest = hashlib.sha256()
    for path in sorted(path for path in copy.rglob("*") if path.is_file() and copy / "build" not in path.parents):
        digest.update(f"{path.relative_to(copy)} {hashlib.sha256(path.read_bytes()).hexdigest()}\n".encode())
    return digest.hexdigest()


class Project:
    """This tree: built by CMake, tested by ctest."""

    def __init__(self, copy, arguments):
        self.copy, self.everything, self.room_alone, self.preset = copy, arguments.all, arguments.room_alone, arguments.preset
        self.jobs = max(1, arguments.jobs // arguments.parallel)
        self.left_out, self.leave_failing = arguments.leave_out, arguments.leave_failing
        self.folder = copy / "build" / self.preset
        self.environment = dict(os.environ)
        if shutil.which("ccache"):
            self.environment.update(CMAKE_C_COMPILER_LAUNCHER="ccache", CCACHE_BASEDIR=str(copy), CCACHE_NOHASHDIR="1")
        self.cache = copy.parent / "cache"   # of compiled kernels
        self.targets, self.clean = [], {}

    def prepare(self):
        code, said, _ = run(f"cmake --preset {self.preset}", self.copy, 600, self.environment)
        if code != 0:
            sys.exit("cmake fails without a mutant:\n" + said)
        listed = run(f"cmake --build build/{self.preset} --target help", self.copy, 60, self.environment)[1]
        self.targets = re.findall(r"^([\w./-]+): phony", listed, re.M)
        if not self.targets:
            sys.exit("the build names no targets:\n" + listed)

    def surroundings(self, room):
        """A mutant of what compiles and keeps kernels has a cache of its own."""
        cache = self.copy / "build" / "cache" if room in ("device", "sandbox") else self.cache
        return {**self.environment, "GS_TEST_CACHE": str(cache), "GEMMSMITH_CACHE": str(cache)}

    def tests(self, room):
        return TESTS_OF.get(room, room)

    def build(self, *rooms):
        tests = "|".join(self.tests(room) for room in rooms)
        wanted = [name for name in self.targets if re.fullmatch(rf"{PROGRAMS}|test_({tests})_\w+", name)]
        return f"cmake --build build/{self.preset} -j{self.jobs}" + ("" if self.everything else " --target " + " ".join(wanted))

    def select(self, room):
        """(name of a stage, options of ctest), in order."""
        tests = self.tests(room)
        yield "room", f"-R '^({tests})/'"
        if not self.room_alone:
            yield "golden", "-R '^cli/golden$'"
        if self.everything:
            yield "quick", "-LE slow"
            yield "slow", "-L slow"

    def stages(self, room):
        untouched = self.untouched(room)
        for name, chosen in self.select(room):
            before = [] if name in ("room", "golden") else [f"^({self.tests(room)})/", "^cli/golden$"]
            out = "|".join(filter(None, [self.left_out, *before, *untouched]))
            out = f" -E '{out}'" if out else ""
            yield name, f"ctest --test-dir build/{self.preset} --output-on-failure --no-tests=ignore -j{self.jobs} {chosen}{out}"

    def programs(self):
        return {path: hashlib.sha256(path.read_bytes()).digest() for path in sorted((self.folder / "tests").glob("test_*")) if os.access(path, os.X_OK)}

    def built(self):
        """The tree is built without a mutant: what its programs are."""
        if not self.clean:
            self.clean = self.programs()

    def untouched(self, room):
        """Tests in whose program a mutant is not. One that names the build's folder runs other programs, one that names the tree may read kernels."""
        now = self.programs()
        same = {path for path, digest in self.clean.items() if now.get(path) == digest}
        away = [str(self.copy if room == "kernels" else self.folder).encode()]
        alone = {str(path) for path in same if not any(name in path.read_bytes() for name in away)}
        if not alone:
            return []
        listed = run(f"ctest --test-dir build/{self.preset} --show-only=json-v1", self.copy, 60, self.environment)[1]
        tests = json.loads(listed[listed.index("{"):])["tests"]
        return [f"^{re.escape(test['name'])}$" for test in tests if test.get("command", [""])[0] in alone]

    def measure(self, rooms, cores):
        """{(room, stage): seconds} of the tests without a mutant, in which they must pass."""
        kept = self.copy.parent / f"baseline-{self.preset}.json"   # of these sources: a run that goes on does not measure again
        key = [tree_hash(self.copy), self.everything, self.left_out, self.leave_failing, sorted(rooms)]
        with contextlib.suppress(OSError, ValueError):
            before = json.loads(kept.read_text(encoding="utf-8"))
            if before["key"] == key:
                self.left_out = before["left_out"]
                return {tuple(stage): seconds for stage, seconds in before["limits"]}
        chosen = "" if self.everything else "-R '^((" + "|".join(self.tests(room) for room in rooms) + ")/|cli/golden$)'"
        out = f" -E '{self.left_out}'" if self.left_out else ""
        report = self.folder / "baseline.xml"
        code, said, _ = run(self.build(*rooms).replace(f"-j{self.jobs}", f"-j{cores}"), self.copy, None, self.environment)
        if code != 0:
            sys.exit("the build fails without a mutant:\n" + said[-4000:])
        ctest = f"ctest --test-dir build/{self.preset} --output-on-failure"
        code, said, _ = run(f"{ctest} -j{cores} --output-junit {report} {chosen}{out}", self.copy, None, self.surroundings(""))
        if code != 0:   # once more: the machine may have been busy
            code, said, _ = run(f"{ctest} --rerun-failed", self.copy, None, self.surroundings(""))
        if code != 0:
            failed = re.findall(r"^\s*\d+ - (\S+) \(", said, re.M)
            if not self.leave_failing or not failed:
                sys.exit("tests fail without a mutant:\n" + said[-4000:])
            self.left_out = "|".join([*filter(None, [self.left_out]), *(f"^{re.escape(name)}$" for name in failed)])
            print(said[-4000:] + "\nleft out, because they fail without a mutant: " + " ".join(failed), file=sys.stderr, flush=True)
        taken = {case.get("name"): float(case.get("time")) for case in ElementTree.parse(report).iter("testcase")}
        limits = {}
        for room in rooms:
            own = sum(seconds for name, seconds in taken.items() if re.match(rf"({self.tests(room)})/", name))
            limits.update({(room, "room"): own, (room, "golden"): taken.get("cli/golden", 0)})
            limits.update({(room, stage): sum(taken.values()) for stage in ("quick", "slow")})
        kept.write_text(json.dumps({"key": key, "left_out": self.left_out, "limits": list(limits.items())}), encoding="utf-8")
        return limits

    def object(self, mutant):
        path = self.folder / f"CMakeFiles/gs_{mutant.room}.dir/{mutant.path}.o"
        return hashlib.sha256(path.read_bytes()).hexdigest() if path.exists() else None

    def compile(self, mutant):
        """The object alone, which is sooner seen to be as it was, or not to compile. None: there is none."""
        target = f"CMakeFiles/gs_{mutant.room}.dir/{mutant.path}.o"
        return f"cmake --build build/{self.preset} --target {target}" if (self.folder / target).exists() else None


class Tree:
    """Any tree: built and tested by commands that are given."""

    def __init__(self, copy, arguments):
        self.copy, self.command, self.given, self.left_out = copy, arguments.build or "true", arguments.test, None

    def prepare(self):
        pass

    def built(self):
        pass

    def surroundings(self, room):
        return dict(os.environ)

    def build(self, room):
        return self.command.replace("{room}", shlex.quote(room))

    def stages(self, room):
        for number, command in enumerate(self.given, 1):
            yield f"stage {number}", command.replace("{room}", shlex.quote(room))

    def measure(self, rooms, cores):
        limits, taken = {}, {}
        for room in rooms:
            for name, command in [("the build", self.build(room)), *self.stages(room)]:
                if command not in taken:
                    code, said, taken[command] = run(command, self.copy, None)
                    if code != 0 and name != "the build":
                        code, said, taken[command] = run(command, self.copy, None)
                    if code != 0:
                        sys.exit(f"{room}: {name} fails without a mutant:\n{said[-4000:]}")
                limits[room, name] = taken[command]
        return limits

    def object(self, mutant):
        return None

    def compile(self, mutant):
        return None


class Judge:
    """Judges mutants in one copy of the tree."""

    def __init__(self, root, copy, arguments):
        copy.mkdir(parents=True, exist_ok=True)
        copy_tree(root, copy, "build")
        self.tree = (Tree if arguments.test else Project)(copy, arguments)
        self.tree.prepare()
        self.limit, self.taken = arguments.limit, {}

    def measure(self, rooms, cores):
        self.taken = self.tree.measure(sorted(rooms), cores)
        return self.taken, self.tree.left_out

    def judge(self, mutant):
        """(outcome, stage, what was said at the end): killed, survived, refused by the compiler, or same as before."""
        tree, surroundings = self.tree, self.tree.surroundings(mutant.room)
        path = tree.copy / mutant.path
        text = path.read_text(encoding="utf-8")
        try:
            code, said, _ = run(tree.build(mutant.room), tree.copy, None, surroundings)   # as it is, if it was not built before
            if code != 0:
                sys.exit(f"{mutant.room}: the build fails without a mutant:\n{said[-4000:]}")
            tree.built()
            before = tree.object(mutant)
            path.write_text(applied(mutant, text), encoding="utf-8")
            single = tree.compile(mutant)
            if single:
                code, said, _ = run(single, tree.copy, self.limit, surroundings)
                if code != 0:
                    return "refused", "build", said[-400:]
                if before and tree.object(mutant) == before:
                    return "same", "build", ""
            code, said, _ = run(tree.build(mutant.room), tree.copy, self.limit, surroundings)
            if code != 0:
                return "refused", "build", said[-400:]
            for name, command in tree.stages(mutant.room):
                limit = min(self.limit, self.taken.get((mutant.room, name), self.limit) * STAGE_FACTOR + STAGE_MORE)
                stop = command.replace("--output-on-failure", "--output-on-failure --stop-on-failure", 1)
                code, said, _ = run(stop, tree.copy, limit, surroundings)
                failed = re.findall(r"^\s*\d+ - (\S+) \(", said, re.M)
                if code not in (None, 0):   # a test that fails now and then kills nothing: it must fail twice
                    again = re.sub(r" -R '.*| -LE? .*", "", command) + " --rerun-failed" if failed else command
                    code, said, _ = run(again, tree.copy, limit, surroundings)
                    if code == 0 and failed:   # those behind it have not run
                        code, said, _ = run(stop, tree.copy, limit, surroundings)
                        failed = re.findall(r"^\s*\d+ - (\S+) \(", said, re.M)
                if code is None:
                    return "killed", name, "late"
                if code != 0:
                    return "killed", name, " ".join(failed) or f"exit {code}"
            return "survived", "", ""
        finally:
            path.write_text(text, encoding="utf-8")


# ---- several at a time ----

JUDGE = None   # of this process


def begin_judge(root, copies, known, arguments):
    global JUDGE   # pylint: disable=global-statement
    signal.signal(signal.SIGINT, signal.SIG_IGN)   # the parent's affair
    adopt_orphans()
    JUDGE = Judge(root, Path(copies.get()), arguments)
    JUDGE.taken, JUDGE.tree.left_out = known


def judge_here(mutant):
    return JUDGE.judge(mutant)


class Judges:
    """Judges mutants in as many copies as are asked for, ahead of those whose outcome is waited for."""

    def __init__(self, root, copy, arguments, keep):
        self.keep, self.pending, self.pool, self.parallel = keep, {}, None, arguments.parallel
        self.first, self.known = Judge(root, copy, arguments), None
        self.start = lambda: self.begin(root, copy, arguments)

    def measure(self, rooms, cores):
        self.known = self.first.measure(rooms, cores)

    def begin(self, root, copy, arguments):
        context = multiprocessing.get_context("fork")
        copies = context.Queue()
        for number in range(self.parallel):
            copies.put(str(copy) if number == 0 else f"{copy}-{number}")
        self.pool = concurrent.futures.ProcessPoolExecutor(self.parallel, mp_context=context, initializer=begin_judge,
                                                           initargs=(root, copies, self.known, arguments))

    def ahead(self, mutant):
        """Begins with a mutant that will be asked for. What is known is kept as soon as it is known, in another thread."""
        if not self.pool:
            self.start()
        future = self.pool.submit(judge_here, mutant)
        future.add_done_callback(lambda done: done.cancelled() or done.exception() or self.keep(mutant, done.result()))
        self.pending[mutant] = future

    def judge(self, mutant):
        if mutant in self.pending:
            outcome = self.pending.pop(mutant).result()
        else:
            outcome = self.first.judge(mutant)
        self.keep(mutant, outcome)

    def end(self):
        if self.pool:
            self.pool.shutdown(cancel_futures=True)


# ---- results ----

def wilson(hits, count):
    if not count:
        return 0.0, 1.0
    z, share = 1.96, hits / count
    middle = (share + z * z / (2 * count)) / (1 + z * z / count)
    half = z * math.sqrt(share * (1 - share) / count + z * z / (4 * count * count)) / (1 + z * z / count)
    return max(0.0, middle - half), min(1.0, middle + half)


def identity(mutant, text):
    """The same mutant of the same file, in another run."""
    digest = hashlib.sha256(text.encode()).hexdigest()[:12]
    return f"{mutant.path}@{digest}:{mutant.start}-{mutant.end}:{mutant.new}"


def read_results(path):
    known = {}
    if path.exists():
        for line in path.read_text(encoding="utf-8").splitlines():
            try:
                row = json.loads(line)
                known[row["id"]] = row
            except (ValueError, KeyError):   # the last line of a run that was killed
                continue
    return known


def total(rows, as_json, out):
    counts = collections.Counter(row["outcome"] for row in rows)
    killed, survived = counts["killed"], counts["survived"]
    low, high = wilson(killed, killed + survived)
    share = killed / (killed + survived) if killed + survived else 0.0
    if as_json:
        json.dump({"killed": killed, "survived": survived, "equivalent": counts["equivalent"], "refused": counts["refused"], "same": counts["same"],
                   "share": round(share, 4), "interval": [round(low, 4), round(high, 4)], "mutants": rows}, out, indent=1)
        out.write("\n")
    else:
        by_kind = collections.defaultdict(collections.Counter)
        for row in rows:
            by_kind[row["kind"]][row["outcome"]] += 1
        for kind, some in sorted(by_kind.items()):
            print(f"{kind:12} {some['killed']:4} killed {some['survived']:4} survived", file=out)
        print(f"{killed} killed, {survived} survived, {counts['equivalent']} without effect by the list, {counts['same']} by their object, "
              f"{counts['refused']} not compiled: {100 * share:.0f} % killed ({100 * low:.0f} to {100 * high:.0f})", file=out)
    return share


def tell(row, as_json):
    if as_json:
        return
    if row["outcome"] == "survived":
        print(f"SURVIVED {row['file']}:{row['line']} {row['kind']}\n{row['diff']}", flush=True)
    elif row["outcome"] == "killed":
        print(f"killed   {row['file']}:{row['line']} {row['kind']}: {row['stage']} ({row['by']})", flush=True)
    elif row["outcome"] == "equivalent":
        print(f"same     {row['file']}:{row['line']} {row['kind']}: {row['by']}", flush=True)


def lists(values, known, what):
    names = [name for value in values or [] for name in value.split(",") if name]
    for name in names:
        if known is not None and name not in known:
            sys.exit(f"there is no {what} {name}: {', '.join(sorted(known))}")
    return names


def options():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter, usage=argparse.SUPPRESS)
    parser.add_argument("--seed", default="1")
    parser.add_argument("--count", type=int, default=20)
    parser.add_argument("--room", action="append")
    parser.add_argument("--kind", action="append")
    parser.add_argument("--list", action="store_true")
    parser.add_argument("--all", action="store_true")
    parser.add_argument("--room-alone", action="store_true")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--preset", default="release")
    parser.add_argument("--results", type=Path)
    parser.add_argument("--equivalent", type=Path)
    parser.add_argument("--copy", type=Path, help="the copy of the tree, which is kept (build/mutate/tree)")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--parallel", type=int, default=1)
    parser.add_argument("--leave-out")
    parser.add_argument("--leave-failing", action="store_true")
    parser.add_argument("--limit", type=float, default=1800, help="seconds that a stage may take at most")
    parser.add_argument("--seconds", type=float, default=math.inf)
    parser.add_argument("--at-least", type=float, default=0)
    parser.add_argument("--root", type=Path, default=ROOT)
    parser.add_argument("--source", action="append")
    parser.add_argument("--build")
    parser.add_argument("--test", action="append")
    return parser


def fill(order, drawn, count):
    """Draws until so many wait."""
    order.extend(itertools.islice(drawn, max(0, count - len(order))))


def more(drawn, order):
    """Those that were drawn ahead, then others."""
    while True:
        fill(order, drawn, 1)
        if not order:
            return
        yield order.pop(0)


def main(argv=None):
    arguments = options().parse_args(argv)
    root, begin = arguments.root.resolve(), time.monotonic()
    folders = arguments.source or ["src", "kernels"]
    kinds = lists(arguments.kind, KINDS, "kind") or list(KINDS)
    everywhere = survey(root, folders, [], kinds)
    rooms = lists(arguments.room, {mutant.room for some in everywhere.values() for mutant in some}, "room")
    found = survey(root, folders, rooms, kinds) if rooms else everywhere
    if arguments.list:
        for kind, mutants in found.items():
            print(f"{kind:12} {len(mutants)}")
        return 0
    work = root / "build/mutate"
    copy = (arguments.copy or work / f"tree-{arguments.preset}").resolve()
    results = arguments.results or work / f"results-{arguments.seed}.jsonl"
    results.parent.mkdir(parents=True, exist_ok=True)
    known, done = read_equivalent(arguments.equivalent or root / "tests/mutants/code.txt"), read_results(results)
    texts, rows, judges, order, lock = {}, [], None, [], threading.Lock()
    adopt_orphans()

    def text_of(mutant):
        return texts.setdefault(mutant.path, (root / mutant.path).read_text(encoding="utf-8"))

    def open_question(mutant):
        return identity(mutant, text_of(mutant)) not in done and not reason_of(mutant, text_of(mutant), known)

    def row_of(mutant, outcome, stage, by):
        return {"id": identity(mutant, text_of(mutant)), "file": mutant.path, "line": mutant.line, "room": mutant.room, "kind": mutant.kind,
                "diff": diff(mutant, text_of(mutant)), "outcome": outcome, "stage": stage, "by": by}

    def keep(mutant, judged):
        row = row_of(mutant, *judged)
        with lock:
            if row["id"] not in done:
                file.write(json.dumps(row) + "\n")
                file.flush()
            done.setdefault(row["id"], row)

    with open(results, "a", encoding="utf-8") as file:
        try:
            drawn = draws(found, arguments.seed)
            for mutant in more(drawn, order):
                counted = sum(row["outcome"] in ("killed", "survived") for row in rows)
                if counted >= arguments.count or time.monotonic() - begin > arguments.seconds:
                    break
                if open_question(mutant):
                    if not judges:
                        judges = Judges(root, copy, arguments, keep)
                        ahead = itertools.islice(draws(found, arguments.seed), 2 * arguments.count)
                        judges.measure({other.room for other in ahead if open_question(other)}, arguments.jobs)
                    if arguments.parallel > 1:   # one that takes long delays no other
                        fill(order, drawn, AHEAD * arguments.parallel)
                        for other in [mutant, *order]:
                            if other not in judges.pending and open_question(other) and len(judges.pending) < AHEAD * arguments.parallel:
                                judges.ahead(other)
                    judges.judge(mutant)
                reason = reason_of(mutant, text_of(mutant), known)
                row = row_of(mutant, "equivalent", "", reason) if reason else done[identity(mutant, text_of(mutant))]
                rows.append(row)
                tell(row, arguments.json)
        except BaseException:
            end_descendants()   # what is judged now is not waited for
            raise
        finally:
            if judges:
                judges.end()
    share = total(rows, arguments.json, sys.stdout)
    return 1 if share < arguments.at_least else 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:   # the results until here are kept
        sys.exit(130)

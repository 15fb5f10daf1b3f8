# SPDX-License-Identifier: MIT
"""Judges many mutants in one build of the tree: makes it, finds the tests that reach each mutant, and runs them. For mutate.py --together."""
import collections
import hashlib
import itertools
import json
import mmap
import multiprocessing
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import time
import traceback
from pathlib import Path

from mutant_sources import FIRST, HEADERS_FILE, LOOKUP_FILE, size_of, with_headers, with_mutants, with_texts
from mutations import applied
from tested_trees import adopt_orphans, copy_tree, run, tree_hash

BATCH_SECONDS, BATCH_FACTOR = 6, 4   # of the tests that run first, and how much longer those may take that run next
LIMIT_FACTOR, LIMIT_MORE = 4, 30     # tests may take so much longer with a mutant
ANEW_MORE = 300                      # and so much if every kernel is compiled anew
FRESH = ("device", "sandbox", "kernel")   # rooms whose mutants must neither find compiled kernels nor leave them to others
GROUP = 8                            # mutants that are chosen at once for a slow test, which most of them pass
CONFIGURE_S = 600


class Copy:
    """A copy of the tree, one process of its own at work in it."""

    def __init__(self, root, folder, arguments):
        folder.mkdir(parents=True, exist_ok=True)
        copy_tree(root, folder, "build")
        self.root, self.copy, self.preset, self.left_out = root, folder, arguments.preset, arguments.leave_out
        self.build = folder / "build" / arguments.preset
        self.mutant = folder / "build/mutant"   # the number, and the marks
        self.environment = {**os.environ, "GS_TEST_CACHE": str(folder / "build/cache"), "GEMMSMITH_CACHE": str(folder / "build/cache")}
        if shutil.which("ccache"):
            self.environment.update(CMAKE_C_COMPILER_LAUNCHER="ccache", CCACHE_BASEDIR=str(folder), CCACHE_NOHASHDIR="1")

    def configure(self):
        code, said, _ = run(f"cmake --preset {self.preset} -DCMAKE_C_FLAGS=", self.copy, CONFIGURE_S, self.environment)   # as it ships: warnings are errors
        if code != 0:
            sys.exit("cmake fails without a mutant:\n" + said)
        listed = subprocess.run(["ninja", "-C", self.build, "-t", "compdb"], capture_output=True, text=True, check=True).stdout
        self.commands = {}
        for entry in json.loads(listed):
            if entry["output"].endswith(".o"):
                self.commands.setdefault(os.path.relpath(os.path.join(entry["directory"], entry["file"]), self.copy), entry)

    # ---- is it a mutant? ----

    def compiled(self, path):
        """Hash of the object of a file as it is now; None: the compiler refuses it. "": no file of the build compiles it."""
        unit = path if path in self.commands else next((name for name in self.commands if f'#include "{path.removeprefix("src/")}"' in self.text(name)), None)
        if not unit:
            return ""
        entry, out = self.commands[unit], self.copy / "build/one.o"
        command = [re.sub(rf"^{re.escape(entry['output'])}", str(out), word) for word in shlex.split(entry["command"])]
        done = subprocess.run(command, cwd=entry["directory"], env=self.environment, capture_output=True, check=False)
        return hashlib.sha256(out.read_bytes()).hexdigest() if done.returncode == 0 else None

    def text(self, name):
        try:
            return (self.copy / name).read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError):
            return ""

    def tried(self, mutant, before):
        """The outcome that the compiler alone gives: refused, same, or None."""
        if mutant.path.startswith("kernels/"):
            return None
        path, text = self.copy / mutant.path, self.text(mutant.path)
        if mutant.path not in before:
            before[mutant.path] = self.compiled(mutant.path)
        path.write_text(applied(mutant, text), encoding="utf-8")
        try:
            now = self.compiled(mutant.path)
        finally:
            path.write_text(text, encoding="utf-8")
        return "refused" if now is None else "same" if now and now == before[mutant.path] else None

    # ---- the build ----

    def make(self, numbered, size):
        """Builds all of them. Numbers of mutants that could not be built so."""
        self.mutant.write_bytes(bytes(size))
        left, refused = [], set()
        while True:
            changed = self.changed(numbered, size, left, refused)
            for name, text in changed.items():
                if self.text(name) != text:
                    (self.copy / name).write_text(text, encoding="utf-8")
            code, said, _ = run(f"cmake --preset {self.preset} -DCMAKE_C_FLAGS=-w && cmake --build build/{self.preset} -j1 -- -k 0", self.copy, None, self.environment)
            for name in changed:
                shutil.copyfile(self.root / name, self.copy / name)
            if code == 0:
                return left
            new = {name for name in changed if re.search(rf"FAILED: .*{re.escape(name)}\.o", said) or re.search(rf"^{re.escape(str(self.copy / name))}:\d+:\d+: error", said, re.M)}
            if not new - refused:
                sys.exit("the build fails:\n" + said[-4000:])
            refused |= new

    def changed(self, numbered, size, left, refused):
        of_file, texts, found = collections.defaultdict(dict), {}, {}
        left.clear()
        for number, mutant in numbered.items():
            if mutant.path.startswith("kernels/"):
                texts[number] = mutant.path.removeprefix("kernels/"), applied(mutant, (self.root / mutant.path).read_text(encoding="utf-8"))
            else:
                of_file[mutant.path][number] = mutant
        for name, some in of_file.items():
            if name in refused:
                left += some
                continue
            found[name], without = with_mutants((self.root / name).read_text(encoding="utf-8"), some, self.mutant, size)
            left += without
        if texts:
            original = {name: found.get(name) or (self.root / name).read_text(encoding="utf-8") for name in (LOOKUP_FILE, HEADERS_FILE) if (self.root / name).exists()}
            kernels = {path.relative_to(self.root / "kernels").as_posix(): path.read_text(encoding="utf-8") for path in (self.root / "kernels").rglob("*.[ch]*")}
            found[LOOKUP_FILE] = with_texts(original[LOOKUP_FILE], texts, self.mutant, size, kernels)
            found.update({name: with_headers(text) for name, text in original.items() if name == HEADERS_FILE})
        return found

    # ---- the tests ----

    def choose(self, *numbers):
        with open(self.mutant, "r+b") as file, mmap.mmap(file.fileno(), 0) as shared:
            shared[FIRST + 1::2] = bytes(len(shared[FIRST + 1::2]))
            for number in numbers:
                shared[FIRST + 2 * number + 1] = 1

    def reached(self, size):
        """Takes the marks away, and says which there were."""
        with open(self.mutant, "r+b") as file, mmap.mmap(file.fileno(), 0) as shared:
            marks = [number for number, mark in enumerate(shared[FIRST:size:2]) if mark]
            shared[FIRST:size:2] = bytes(len(shared[FIRST:size:2]))
        return marks

    def ctest(self, names, limit, fresh):
        environment = self.environment
        if fresh:   # what a mutant of the cache leaves there is no other's affair
            shutil.rmtree(self.copy / "build/fresh", ignore_errors=True)
            environment = {**environment, "GS_TEST_CACHE": str(self.copy / "build/fresh"), "GEMMSMITH_CACHE": str(self.copy / "build/fresh")}
        chosen = "|".join(map(re.escape, names))
        return run(f"ctest --test-dir build/{self.preset} --output-on-failure --stop-on-failure --no-tests=ignore -R '^({chosen})$'", self.copy, limit, environment)

    def with_chosen(self, chosen, do):
        """What `do()` returns while these mutants are chosen. chosen: {number: mutant}, no two of them in one file."""
        texts = {self.copy / mutant.path: (self.text(mutant.path), mutant) for mutant in chosen.values() if mutant.path.startswith("kernels/")}
        self.choose(*chosen)
        try:
            for path, (text, mutant) in texts.items():   # for tests that read it
                path.write_text(applied(mutant, text), encoding="utf-8")
            return do()
        finally:
            self.choose()
            for path, (text, _) in texts.items():
                path.write_text(text, encoding="utf-8")

    def judge(self, number, mutant, names, seconds):
        return self.with_chosen({number: mutant}, lambda: self.judge_chosen(mutant, names, seconds))

    def judge_chosen(self, mutant, names, seconds):
        fresh = mutant.room in FRESH
        for batch in batches(names, seconds):
            limit = limit_of(sum(seconds[name] for name in batch), anew(mutant))
            code, said, _ = self.ctest(batch, limit, fresh)
            if code == 0:
                continue
            failed = failed_in(said)
            code, said, _ = self.ctest(failed or batch, limit, fresh)   # what fails now and then kills nothing
            if code is None:
                return "killed", " ".join(batch), "late"
            if code != 0:
                return "killed", str(len(batch)), " ".join(failed_in(said) or failed)
            behind = batch[batch.index(failed[0]) + 1:] if failed and failed[0] in batch else []
            code, said, _ = self.ctest(behind, limit, fresh) if behind else (0, "", 0)
            if code != 0:
                return "killed", str(len(batch)), " ".join(failed_in(said)) or "late"
        return "survived", str(len(names)), ""

    def try_group(self, name, chosen, seconds, size):
        """(whether one test passes with mutants that are chosen at once, which of them were executed, by what the single one is killed)."""
        if not chosen:
            return True, [], None
        fresh, limit = any(mutant.room in FRESH for mutant in chosen.values()), limit_of(seconds, any(map(anew, chosen.values())))
        self.reached(size)
        code, _, _ = self.with_chosen(chosen, lambda: self.ctest([name], limit, fresh))
        if code == 0 or len(chosen) > 1:
            return code == 0, self.reached(size), None
        code, said, _ = self.with_chosen(chosen, lambda: self.ctest([name], limit, fresh))
        if code == 0 or self.ctest([name], limit, fresh)[0] != 0:   # what fails now and then, or without it, kills nothing
            return True, [], None
        return False, [], " ".join(failed_in(said)) or "late"


def failed_in(said):
    return re.findall(r"^\s*\d+ - (\S+) \(", said, re.M)


def anew(mutant):
    """Whether tests compile their kernels anew with it."""
    return mutant.room in FRESH or mutant.path.startswith("kernels/")


def limit_of(seconds, compiles):
    return (ANEW_MORE if compiles else LIMIT_MORE) + LIMIT_FACTOR * seconds


def groups(numbers, numbered):
    """Of mutants, such that no two are in one file: the functions that call each other are there once for each of them. Those that take longer stay together."""
    found = []
    for number in numbers:
        for one in found:
            if len(one) < GROUP and anew(numbered[one[0]]) == anew(numbered[number]) and all(numbered[other].path != numbered[number].path for other in one):
                one.append(number)
                break
        else:
            found.append([number])
    return found


def batches(names, seconds):
    batch, sum_s, most = [], 0, BATCH_SECONDS
    for name in names:
        if batch and (sum_s + seconds[name] > most or len(batch) >= 4 * most):
            yield batch
            batch, sum_s, most = [], 0, most * BATCH_FACTOR
        batch.append(name)
        sum_s += seconds[name]
    if batch:
        yield batch


Failure = collections.namedtuple("Failure", "text")


def serve(at, copy, do, waiting, results):
    adopt_orphans()
    signal.signal(signal.SIGINT, signal.SIG_IGN)   # the parent's affair
    for item in iter(waiting.get, None):
        try:
            results.put((at, do(copy, item)))
        except BaseException:   # pylint: disable=broad-exception-caught
            results.put((at, Failure(traceback.format_exc())))


def share(copies, work, do):
    """`do(copy, item)` for every item of the work, one at a time in each copy, in a process of its own: (item, result) as they come. The first copy does the
    first item, and so on. Whoever asks may append to the work, if it is a deque."""
    context, work = multiprocessing.get_context("fork"), work if isinstance(work, collections.deque) else collections.deque(work)
    results, waiting = context.Queue(), [context.Queue() for _ in copies]
    processes = [context.Process(target=serve, args=(at, copy, do, waiting[at], results), daemon=True) for at, copy in enumerate(copies)]
    for process in processes:
        process.start()
    idle, given = collections.deque(range(len(copies))), {}
    try:
        while True:
            while idle and work:
                at = idle.popleft()
                given[at] = work.popleft()
                waiting[at].put(given[at])
            if not given:
                return
            at, result = results.get()
            if isinstance(result, Failure):
                sys.exit(result.text)
            idle.append(at)
            yield given.pop(at), result
    finally:
        for process in processes:
            process.terminate()
            process.join()


def judge_groups(copies, numbered, names_of, reach, seconds, size, passed):
    """(number, outcome) of mutants by tests that most of them pass: several at once. names_of: {number: its tests}. passed: {number: tests known to pass}, kept
    up to date."""
    asked, left, work = collections.defaultdict(list), {}, collections.deque()
    for number, names in names_of.items():
        left[number] = {name for name in names if name not in passed.setdefault(str(number), [])}
        for name in left[number]:
            asked[name].append(number)
    for name in sorted(asked, key=lambda name: (seconds[name], name)):
        work += [(name, group) for group in groups(sorted(asked[name]), numbered)]
    work = collections.deque(sorted(work, key=lambda one: anew(numbered[one[1][0]])))
    for number in [number for number in left if not left[number]]:
        yield number, ("survived", str(len(names_of[number])), "")
        del left[number]

    def one(copy, item):
        name, numbers = item
        return copy.try_group(name, {number: numbered[number] for number in numbers}, seconds[name], size)
    for (name, group), (passes, marks, by) in share(copies, work, one):
        numbers = [number for number in group if number in left]
        if by:
            for number in numbers:
                del left[number]
                for _, others in work:   # nobody asks for it any more
                    if number in others:
                        others.remove(number)
                yield number, ("killed", "1", by)
            continue
        again = [number for number in numbers if not passes or len(group) > 1 and number in reach[name] and number not in marks]   # kept from it by another
        for number in numbers:
            if number not in again:
                passed[str(number)].append(name)
                left[number].discard(name)
                if not left[number]:
                    del left[number]
                    yield number, ("survived", str(len(names_of[number])), "")
        half = (len(again) + 1) // 2
        work.extendleft((name, some) for some in (again[half:], again[:half]) if some)


class Together:
    """Mutants in the order in which they were drawn, judged all at once."""

    def __init__(self, root, folder, arguments):
        self.copies = [Copy(root, Path(f"{folder}-{number}" if number else folder), arguments) for number in range(arguments.parallel)]
        self.count, self.before, self.left_out, self.quick = arguments.count, {}, arguments.leave_out, arguments.quick
        self.kept = folder.parent / f"reached-{arguments.preset}-{arguments.seed}.json"

    def draw(self, drawn, known):
        """({number: mutant} of as many as are asked for, [(mutant, outcome)] of those that are none). known(mutant): has its outcome."""
        for copy in self.copies:
            copy.configure()
        mutants, others = [], []
        while len(mutants) < self.count:
            some = list(itertools.islice(drawn, self.count - len(mutants)))
            if not some:
                break
            outcomes = dict(share(self.copies, [mutant for mutant in some if not known(mutant)], lambda copy, mutant: copy.tried(mutant, self.before)))
            for mutant in some:
                if known(mutant) or outcomes[mutant]:
                    others.append((mutant, outcomes.get(mutant)))
                else:
                    mutants.append(mutant)
        return dict(enumerate(mutants, 1)), others

    def measure(self, size):
        """({test: seconds}, {test: numbers of mutants that it reaches}) of those that pass without one."""
        names = [name for name in self.listed() if not self.left_out or not re.search(self.left_out, name)]

        def one(copy, name):
            copy.reached(size)
            begin = time.monotonic()
            code, said, _ = copy.ctest([name], None, False)
            if code != 0:
                code, said, _ = copy.ctest([name], None, False)
            return code == 0, said[-600:], time.monotonic() - begin, copy.reached(size)
        seconds, reach = {}, {}
        for name, (passed, said, taken, marks) in share(self.copies, names, one):
            if passed:
                seconds[name], reach[name] = taken, marks
            else:
                print(f"left out, because it fails without a mutant: {name}\n{said}", file=sys.stderr, flush=True)
        return seconds, reach

    def listed(self):
        first = self.copies[0]
        said = subprocess.run(["ctest", "--test-dir", first.build, "--show-only=json-v1"], capture_output=True, check=True, text=True).stdout
        return [test["name"] for test in json.loads(said)["tests"]]

    def judge(self, numbered, known):
        """(mutant, (outcome, stage, by)) as they come, of those that are not known. One that is in no function has the outcome apart."""
        size = size_of(len(numbered))
        key = hashlib.sha256(repr((len(self.copies), tree_hash(self.copies[0].copy), sorted(numbered.items()))).encode()).hexdigest()
        kept = json.loads(self.kept.read_text(encoding="utf-8")) if self.kept.exists() else {}
        if kept.get("key") != key:
            left = [some for _, some in share(self.copies, self.copies, lambda copy, _: copy.make(numbered, size))][0]
            seconds, reach = self.measure(size)
            kept = {"key": key, "left": left, "seconds": seconds, "reach": reach}
            self.kept.write_text(json.dumps(kept), encoding="utf-8")
        for number in kept["left"]:
            yield numbered[number], ("apart", "", "in no function that can be there twice")
        tests = collections.defaultdict(list)
        for name, marks in kept["reach"].items():
            for number in marks:
                tests[number].append(name)
        seconds = kept["seconds"]
        readers = [name for name, marks in kept["reach"].items() if not marks]   # which execute nothing of ours, and may read kernels

        def names_of(number, quick):
            mutant = numbered[number]
            first = mutant.room + "/"
            names = sorted(tests[number] + readers * mutant.path.startswith("kernels/"), key=lambda name: (not (name.startswith(first) and (not quick or seconds[name] < BATCH_SECONDS)), seconds[name], name))
            return [name for name in names if (seconds[name] < self.quick) == quick]

        def quickly(copy, number):
            return copy.judge(number, numbered[number], names_of(number, True), seconds)
        asked = [number for number in numbered if number not in kept["left"] and not known(numbered[number])]
        asked.sort(key=lambda number: numbered[number].path.startswith("kernels/"))   # last what is compiled anew in every test
        left = [number for number in asked if number in kept.setdefault("open", [])]   # of a run that was stopped
        for number, outcome in share(self.copies, [number for number in asked if number not in left], quickly):
            slow = names_of(number, False)
            if outcome[0] == "survived" and slow:
                left.append(number)
                kept["open"].append(number)
                self.kept.write_text(json.dumps(kept), encoding="utf-8")
                print(f"no quick test kills {numbered[number].path}:{numbered[number].line} {numbered[number].kind}", file=sys.stderr, flush=True)
            else:
                yield numbered[number], outcome if outcome[0] != "survived" or names_of(number, True) else ("survived", "", "no test executes it")
        passed = kept.setdefault("passed", {})
        for number, outcome in judge_groups(self.copies, numbered, {number: names_of(number, False) for number in left}, kept["reach"], seconds, size, passed):
            self.kept.write_text(json.dumps(kept), encoding="utf-8")
            yield numbered[number], outcome

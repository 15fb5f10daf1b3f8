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

from mutant_sources import FIRST, HEADERS_FILE, LOOKUP_FILE, with_headers, with_mutants, with_texts
from mutations import applied
from tested_trees import adopt_orphans, copy_tree, run, tree_hash

BATCH_SECONDS, BATCH_FACTOR = 6, 4   # of the tests that run first, and how much longer those may take that run next
LIMIT_FACTOR, LIMIT_MORE = 4, 30     # tests may take so much longer with a mutant
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

    def choose(self, number):
        with open(self.mutant, "r+b") as file, mmap.mmap(file.fileno(), 0) as shared:
            shared[0:4] = number.to_bytes(4, "little")

    def reached(self, size):
        """Takes the marks away, and says which there were."""
        with open(self.mutant, "r+b") as file, mmap.mmap(file.fileno(), 0) as shared:
            marks = [number for number in range(size - FIRST) if shared[FIRST + number]]
            shared[FIRST:size] = bytes(size - FIRST)
        return marks

    def ctest(self, names, limit, fresh):
        environment = self.environment
        if fresh:   # what a mutant of the cache leaves there is no other's affair
            shutil.rmtree(self.copy / "build/fresh", ignore_errors=True)
            environment = {**environment, "GS_TEST_CACHE": str(self.copy / "build/fresh"), "GEMMSMITH_CACHE": str(self.copy / "build/fresh")}
        chosen = "|".join(map(re.escape, names))
        return run(f"ctest --test-dir build/{self.preset} --output-on-failure --stop-on-failure --no-tests=ignore -R '^({chosen})$'", self.copy, limit, environment)

    def judge(self, number, mutant, names, seconds):
        fresh = mutant.room in ("device", "sandbox", "kernel")
        text = self.text(mutant.path)
        self.choose(number)
        try:
            if mutant.path.startswith("kernels/"):   # for tests that read it
                (self.copy / mutant.path).write_text(applied(mutant, text), encoding="utf-8")
            for batch in batches(names, seconds):
                limit = LIMIT_MORE + LIMIT_FACTOR * sum(seconds[name] for name in batch)
                code, said, _ = self.ctest(batch, limit, fresh)
                if code == 0:
                    continue
                failed = re.findall(r"^\s*\d+ - (\S+) \(", said, re.M)
                code, said, _ = self.ctest(failed or batch, limit, fresh)   # what fails now and then kills nothing
                if code is None:
                    return "killed", " ".join(batch), "late"
                if code != 0:
                    return "killed", str(len(batch)), " ".join(re.findall(r"^\s*\d+ - (\S+) \(", said, re.M) or failed)
                behind = batch[batch.index(failed[0]) + 1:] if failed and failed[0] in batch else []
                code, said, _ = self.ctest(behind, limit, fresh) if behind else (0, "", 0)
                if code != 0:
                    return "killed", str(len(batch)), " ".join(re.findall(r"^\s*\d+ - (\S+) \(", said, re.M)) or "late"
            return "survived", str(len(names)), ""
        finally:
            self.choose(0)
            if mutant.path.startswith("kernels/"):
                (self.copy / mutant.path).write_text(text, encoding="utf-8")


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


def serve(copy, do, waiting, results):
    adopt_orphans()
    signal.signal(signal.SIGINT, signal.SIG_IGN)   # the parent's affair
    for at, item in iter(waiting.get, None):
        try:
            results.put((at, do(copy, item)))
        except BaseException:   # pylint: disable=broad-exception-caught
            results.put((at, Failure(traceback.format_exc())))


def share(copies, work, do, each=False):
    """`do(copy, item)` for every item of the work, one at a time in each copy, in a process of its own: (item, result) as they come.
    each: the first copy does the first item, and so on."""
    context, work = multiprocessing.get_context("fork"), list(work)
    results, waiting = context.Queue(), [context.Queue() for _ in copies] if each else [context.Queue()] * len(copies)
    for at, item in enumerate(work):
        waiting[at % len(copies)].put((at, item))
    for one in waiting:
        one.put(None)
    processes = [context.Process(target=serve, args=(copy, do, one, results), daemon=True) for copy, one in zip(copies, waiting)]
    for process in processes:
        process.start()
    try:
        for _ in work:
            at, result = results.get()
            if isinstance(result, Failure):
                sys.exit(result.text)
            yield work[at], result
    finally:
        for process in processes:
            process.terminate()
            process.join()


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
        size = (FIRST + len(numbered) + 1 + 4095) // 4096 * 4096
        key = hashlib.sha256(repr((len(self.copies), tree_hash(self.copies[0].copy), sorted(numbered.items()))).encode()).hexdigest()
        kept = json.loads(self.kept.read_text(encoding="utf-8")) if self.kept.exists() else {}
        if kept.get("key") != key:
            left = [some for _, some in share(self.copies, self.copies, lambda copy, _: copy.make(numbered, size), each=True)][0]
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

        def slowly(copy, number):
            return copy.judge(number, numbered[number], names_of(number, False), seconds)
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
        for number, outcome in share(self.copies, left, slowly):
            yield numbered[number], outcome

# SPDX-License-Identifier: MIT
"""Which tests execute which lines of the project: measured once for a tree, with clang's counters. For mutate.py."""
import concurrent.futures
import json
import os
import re
import shutil
import subprocess
import time
from pathlib import Path

# The counters lie in files that the processes map: what ends by a signal, by _exit or locked into the sandbox has counted all the same.
FLAGS = "-w -fprofile-instr-generate -fcoverage-mapping -mllvm -runtime-counter-relocation"
BATCH_SECONDS, BATCH_FACTOR = 6, 4   # of the tests that run first, which are as many at most, and how much longer those may take that run next


def lines_of(exported, root):
    """{file: lines that were executed, and all that have a counter}, of the text that llvm-cov exports (lcov's)."""
    found, executed, counted = {}, set(), set()
    for line in exported.splitlines():
        if line.startswith("SF:"):
            path = Path(os.path.normpath(line[3:]))
            name = path.relative_to(root).as_posix() if root in path.parents else None
            executed, counted = found.setdefault(name, (set(), set()))
        elif line.startswith("DA:"):
            number, count = map(int, line[3:].split(",")[:2])
            counted.add(number)
            if count:
                executed.add(number)
    return {name: sets for name, sets in found.items() if name and not name.startswith("build/")}


def includes(root, name):
    """Kernels that contain a file of kernels/, themselves and through others."""
    text_of = {path.relative_to(root / "kernels").as_posix(): path.read_text(encoding="utf-8") for path in (root / "kernels").rglob("*.cu*")}
    text_of.update((path.relative_to(root / "kernels").as_posix(), path.read_text(encoding="utf-8")) for path in (root / "kernels").rglob("*.h"))
    reached = {name}
    while True:
        more = {other for other, text in text_of.items() for inner in reached
                if re.search(rf'#include "(?:{re.escape(inner)}|{re.escape(inner.removeprefix("common/"))})"', text)} - reached
        if not more:
            return reached
        reached |= more


class CoverageMap:
    """tests: {name: {seconds, whole, alone, targets}}. whole: it did not pass, so that any line may be one of its. alone: it starts no other program of the
    build. targets: what of the build its command names; None: all.
    lines: {file: {line: bits of the tests, in the order of `tests`}}."""

    def __init__(self, tests, lines):
        self.tests, self.names, self.lines = tests, list(tests), lines
        self.everything = (1 << len(self.names)) - 1
        self.whole = sum(1 << i for i, name in enumerate(self.names) if tests[name]["whole"])

    @classmethod
    def read(cls, path):
        kept = json.loads(path.read_text(encoding="utf-8"))
        return cls(kept["tests"], {name: {int(line): int(bits, 16) for line, bits in some.items()} for name, some in kept["lines"].items()})

    def write(self, path):
        lines = {name: {line: f"{bits:x}" for line, bits in some.items()} for name, some in self.lines.items()}
        path.write_text(json.dumps({"tests": self.tests, "lines": lines}), encoding="utf-8")

    def of_file(self, name):
        bits = 0
        for some in self.lines.get(name, {}).values():
            bits |= some
        return bits

    def of_kernel(self, root, name):
        """A kernel is text to the counters. Its tests execute a line that names it, or name it themselves, or execute nothing that is counted: they may read it."""
        reached = includes(root, name)
        wanted = re.compile(r'"(' + "|".join(re.escape(other) for other in reached) + ')"')
        bits, executing = 0, 0
        for path in [*(root / "src").rglob("*.[ch]"), *(root / "tests").rglob("*.[ch]")]:
            own = path.relative_to(root).as_posix()
            text = path.read_text(encoding="utf-8")
            if re.search(rf'#include "{re.escape(name)}"', text):
                return self.everything   # the host compiles it as well
            for number, line in enumerate(text.splitlines(), 1):
                if wanted.search(line):
                    bits |= self.lines.get(own, {}).get(number, self.of_file(own))
            if "gs_embedded_find(" in text and own.startswith("tests/"):
                bits |= sum(1 << i for i, test in enumerate(self.names) if own in (f"tests/{test}.c", f"tests/{test.split('/')[0]}/{path.name}"))
        for some in self.lines.values():
            for line in some.values():
                executing |= line
        return bits | self.of_file("kernels/" + name) | self.everything & ~executing

    def select(self, root, path, line):
        """Tests that may notice a change of this line: short ones of its room, which are most likely to, then the others, the soonest first."""
        if path.startswith("kernels/"):
            bits = self.of_kernel(root, path[len("kernels/"):])
        elif line in self.lines.get(path, {}):
            bits = self.lines[path][line]
        else:
            bits = self.everything   # a table or a type, which others may use
        first = self.of_file(path) if bits == self.everything else bits
        room = path.split("/")[1] + "/"

        def place(i, name):
            seconds = self.tests[name]["seconds"]
            return not first >> i & 1, not (name.startswith(room) and seconds < BATCH_SECONDS), seconds, name
        return [name for *_, name in sorted(place(i, name) for i, name in enumerate(self.names) if (bits | self.whole) >> i & 1)]

    def batches(self, names):
        """The same in parts: what ends soon is built and run before the rest is."""
        batch, seconds, most = [], 0, BATCH_SECONDS
        for name in names:
            if batch and (seconds + self.tests[name]["seconds"] > most or len(batch) >= most):
                yield batch
                batch, seconds, most = [], 0, most * BATCH_FACTOR
            batch.append(name)
            seconds += self.tests[name]["seconds"]
        if batch:
            yield batch


def listed_tests(folder):
    """{name: command} of the tests of a build."""
    said = subprocess.run(["ctest", "--test-dir", folder, "--show-only=json-v1"], capture_output=True, check=True, text=True).stdout
    return {test["name"]: test.get("command", []) for test in json.loads(said)["tests"]}


def targets(folder, command):
    """What of the build a test's command names; None: the folder itself, so all of it, or a program that is not there."""
    named = [Path(word) for word in command if Path(word).is_absolute()]
    if folder in named or not command:
        return None
    return [path.relative_to(folder).as_posix() for path in named if folder in path.parents]


def own_program(folder, command):
    """The program that a test is, if it is one of the build."""
    path = Path(command[0]) if command else None
    return [path] if path and path.is_absolute() and folder in path.parents and os.access(path, os.X_OK) else []


def measure(copy, preset, jobs, environment, left_out, limit):
    """The map of a tree: built with counters in build/coverage, each of its tests runs once, for `limit` seconds at most."""
    folder = copy / "build/coverage"
    for tool in ("clang", "llvm-profdata", "llvm-cov"):
        if not shutil.which(tool):
            raise SystemExit(f"{tool} is missing, which finds the tests that execute a line")
    environment = {**environment, "LLVM_PROFILE_FILE": "/dev/null"}   # of programs that the build runs
    made = subprocess.run(["cmake", "--preset", preset, "-B", folder, "-DCMAKE_C_COMPILER=clang", f"-DCMAKE_C_FLAGS={FLAGS}"], cwd=copy, env=environment,
                          capture_output=True, text=True, check=False)
    if made.returncode != 0:
        raise SystemExit("cmake fails with clang:\n" + made.stdout + made.stderr)
    # tests of what clang refuses do not pass, and count as executing every line
    subprocess.run(["cmake", "--build", folder, f"-j{jobs}", "--", "-k", "0"], cwd=copy, env=environment, capture_output=True, check=False)
    commands = listed_tests(folder)
    names = [name for name in commands if not left_out or not re.search(left_out, name)]
    profiles = copy / "build/profiles"
    shutil.rmtree(profiles, ignore_errors=True)
    objects = [folder / name for name in ("gemmsmith",) if (folder / name).exists()]   # which contains what the others do

    def one(number):
        name, mine = names[number], profiles / str(number)
        mine.mkdir(parents=True)
        begin = time.monotonic()
        with subprocess.Popen(["ctest", "--test-dir", folder, "-R", f"^{re.escape(name)}$"], cwd=copy, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                              stderr=subprocess.DEVNULL, env={**environment, "LLVM_PROFILE_FILE": str(mine / "%c%m.profraw")}) as ctest:
            try:
                passed = ctest.wait(limit) == 0
            except subprocess.TimeoutExpired:
                passed = False
                ctest.terminate()   # which ends its test
        seconds, raw, exported = round(time.monotonic() - begin, 2), sorted(mine.glob("*.profraw")), ""
        own = own_program(folder, commands[name])
        words = [word for path in [*objects, *own] for word in ("-object", path)]
        if raw and words:
            subprocess.run(["llvm-profdata", "merge", "-sparse", *raw, "-o", mine / "all"], capture_output=True, check=False)
            exported = subprocess.run(["llvm-cov", "export", "-format=lcov", *words[1:], "-instr-profile", mine / "all"], capture_output=True, check=False,
                                      text=True).stdout
        shutil.rmtree(mine)
        return {"seconds": seconds, "whole": not passed or bool(raw) and not exported, "alone": len(raw) == 1 and bool(own), "targets": targets(folder, commands[name])}, lines_of(exported, copy)

    tests, lines = {}, {}
    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        for number, (test, found) in enumerate(pool.map(one, range(len(names)))):
            tests[names[number]] = test
            for name, (executed, counted) in found.items():
                some = lines.setdefault(name, {})
                for line in counted:
                    some[line] = some.get(line, 0) | (line in executed) << number
    return CoverageMap(tests, lines)

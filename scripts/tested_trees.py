# SPDX-License-Identifier: MIT
"""Copies of a tree in which mutants are made: how one is built, and which tests run there, in which order. For mutate.py."""
import argparse
import collections
import contextlib
import ctypes
import hashlib
import json
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from xml.etree import ElementTree

TESTS_OF = {"kernels": "family|verify|emu|mutants|bench", "checks": "verify"}      # rooms whose tests are not called like them
PROGRAMS = r"gemmsmith|gemmsmith_program|gemmsmith_emu|fake_\w+|mutants_judge|predict_pairs|test_page_store"   # that tests of many rooms need


Stage = collections.namedtuple("Stage", "name command")


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

    def build(self, mutant):
        return self.build_rooms(mutant.room)

    def build_rooms(self, *rooms):
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

    def stages(self, mutant):
        room = mutant.room
        untouched = self.untouched(room)
        for name, chosen in self.select(room):
            before = [] if name in ("room", "golden") else [f"^({self.tests(room)})/", "^cli/golden$"]
            out = "|".join(filter(None, [self.left_out, *before, *untouched]))
            out = f" -E '{out}'" if out else ""
            yield Stage(name, f"ctest --test-dir build/{self.preset} --output-on-failure --no-tests=ignore -j{self.jobs} {chosen}{out}")

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
        code, said, _ = run(self.build_rooms(*rooms).replace(f"-j{self.jobs}", f"-j{cores}"), self.copy, None, self.environment)
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

    def build(self, mutant):
        return self.command.replace("{room}", shlex.quote(mutant.room))

    def stages(self, mutant):
        for number, command in enumerate(self.given, 1):
            yield Stage(f"stage {number}", command.replace("{room}", shlex.quote(mutant.room)))

    def measure(self, rooms, cores):
        limits, taken = {}, {}
        for room in rooms:
            of_room = argparse.Namespace(room=room)
            for name, command, *_ in [("the build", self.build(of_room)), *self.stages(of_room)]:
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

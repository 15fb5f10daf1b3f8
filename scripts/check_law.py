#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Checks the law of docs/internals/design.md: which room may include which, what the shipped library may not use, how large a room
and a file may be, no circle between files, no type defined twice, no control flow on prose, one writer of requests.

    check_law.py [--root DIR]     each fault on a line, then a count; exit 1 if there is one

scripts/draw_rooms.py draws what this reads; tests/scripts/law.py breaks each rule and expects its line."""
import argparse
import collections
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent

# layer: what it may include besides itself, the public headers and the C library
LAW = {
    "base":     set(),
    "problem":  {"base"},
    "record":   {"base", "problem"},
    "schedule": {"base", "problem"},
    "learn":    {"base", "problem", "schedule", "cublas"},
    "kernel":   {"base", "problem", "schedule"},
    "family":   {"base", "problem", "schedule", "kernel"},
    "ptx":      {"base"},
    "device":   {"base", "schedule"},
    "emu":      {"base", "schedule", "device", "ptx"},
    "inspect":  {"base", "kernel", "ptx"},
    "cublas":   {"base", "problem", "kernel", "device", "common"},
    "race":     {"base", "problem", "kernel", "device", "common"},
    "table":    {"base", "problem", "schedule", "cublas"},
    "pack":     {"base", "problem", "schedule", "kernel"},
    "loaded":   {"base", "problem", "schedule", "kernel", "device", "common"},
    "plan":     {"base", "problem", "record", "learn", "device", "cublas", "race", "table", "pack", "loaded"},
    "torch":    {"base", "problem", "record", "device", "cublas", "plan"},
    "sequence": {"base", "problem", "device", "plan"},
    "packing":  {"base", "problem", "schedule", "kernel", "device", "table", "pack", "plan"},
    "shim":     {"base", "problem", "record", "device", "cublas", "plan"},
    "train":    {"base", "problem", "schedule", "learn"},
    "pages":    {"base"},
    "postgres": {"base"},
    "store":    {"base", "problem", "schedule", "pages", "postgres"},
    "notes":    {"base", "problem", "schedule", "store"},
    "llm":      {"base"},
    "sandbox":  {"base", "device"},
    "redact":   {"base"},
    "baseline": {"base", "problem", "schedule", "kernel", "device", "cublas", "loaded"},
    "routing":  {"base", "problem", "device", "common"},
    "operands": {"base", "problem", "schedule", "device", "loaded", "common"},
    "checks":   {"base", "problem", "kernel", "device", "loaded", "routing", "operands", "common"},
    "verdict":  {"base"},
    "verify":   {"base", "problem", "schedule", "kernel", "device", "loaded", "routing", "operands", "checks", "verdict", "common"},
    "random":   {"base", "problem", "schedule"},
    "product":  {"base", "problem", "device", "operands", "verify"},
    "bench":    {"base", "problem", "schedule", "kernel", "device", "routing", "operands", "verify"},
    "worker":   {"base", "problem", "schedule", "kernel", "device", "ptx", "emu", "cublas", "loaded", "baseline", "routing", "operands", "verify", "bench", "inspect", "sandbox"},
    "evaluate": {"base", "problem", "schedule", "kernel", "device", "inspect", "table", "loaded", "verify", "bench", "store", "worker"},
    "policy":   {"base", "problem", "schedule", "learn", "train", "llm", "verdict"},
    "tune":     {"base", "problem", "schedule", "learn", "kernel", "device", "table", "loaded", "verify", "bench", "store", "worker", "evaluate", "policy"},
    "author":   {"base", "problem", "schedule", "kernel", "inspect", "store", "notes", "llm", "redact", "verdict", "verify", "worker", "evaluate", "policy"},
    "dataset":  {"base", "problem", "schedule", "learn", "table", "train", "store", "notes", "llm", "redact", "verdict", "evaluate", "policy", "author"},
    "compare":  {"base", "problem", "schedule", "learn", "device", "table", "verdict", "verify", "bench", "store", "worker", "evaluate", "tune"},
    "report":   {"base", "problem", "schedule", "device", "table", "store", "verdict", "author", "compare"},
    "jobs":     {"base", "problem", "schedule", "store", "worker", "evaluate"},
    "recorded": {"base", "problem", "record", "schedule"},
    "service":  {"base", "problem", "schedule", "kernel", "store", "llm", "verdict", "worker", "evaluate", "author", "dataset", "jobs"},
    "cli":      {"base", "problem", "recorded", "schedule", "learn", "device", "emu", "cublas", "table", "pack", "plan", "packing", "inspect", "train", "store", "sandbox", "verdict", "verify", "random", "product", "worker", "evaluate", "tune", "author",
                 "dataset", "compare", "report", "service"},
}
SHIPPED = ("base", "problem", "record", "schedule", "learn", "kernel", "family", "device", "cublas", "race", "table", "pack", "loaded", "plan", "sequence")
OUTSIDE = {   # third-party headers and the layers that may use them
    "sqlite3.h": {"pages", "store", "notes"}, "libpq-fe.h": {"postgres"}, "jansson.h": {"llm", "worker", "author", "dataset", "jobs", "service", "compare", "report"}, "seccomp.h": {"sandbox"},
    "microhttpd.h": {"service"}, "curl/curl.h": {"llm"}, "xxhash.h": {"base"},
    "cuda.h": set(), "nvrtc.h": set(), "cublas_v2.h": set(), "cublasLt.h": set(),
}
FORBIDDEN_CALLS = re.compile(r"(?<![\w.>])(exit|_exit|abort|printf|puts|assert)\s*\(")
INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]')
ROOM_LINES = 3200          # "about 3000": beyond it a room is two
CLI_LINES = 4600           # one file per command, most of it tables of options and lines that are printed: what computes belongs into a room
FILE_LINES = 620
PARTED = {"emu"}           # a room of any size, made of parts: src/emu/*
PARTS = {"emu": ("check", "machine", "isa", "run", "")}   # a part includes itself and those before it; "": the files of the room's own folder

ACROSS = {"conformance", "damage", "fake", "fault", "fuzz", "gpu", "hacks", "mutants", "sanitize", "scripts", "support"}   # folders of tests/ that belong to no one room

# Where stored names, or messages of others that come without a code, become values of our own: there alone they are compared as texts.
EDGES = {
    "src/verdict/verdict.c",   # names of verdicts <-> verdicts
    "src/notes/note.c",       # SQLite has one code for a module that it was built without and for a mistake in a statement
}

# Faults that are there today, by name. An entry that no longer occurs is a fault too, so that this only shrinks.
KNOWN = set()

Fault = collections.namedtuple("Fault", "name place text")   # name: the same wherever the line moves


def masked(text, strings=True):
    """The text without comments and preprocessor lines, and without what stands in strings; every line stays where it is."""
    def blank(match):
        found = match.group(0)
        if found[0] in "\"'":
            return found[0] + found[0] if strings else found
        return re.sub(r"[^\n]", " ", found)
    text = re.sub(r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'', blank, text, flags=re.S)
    if strings:
        text = re.sub(r"^[ \t]*#(?:[^\n]*\\\n)*[^\n]*", lambda m: "\n" * m.group(0).count("\n"), text, flags=re.M)
    return text


class File:
    """A source or header: what it includes, defines and uses."""

    def __init__(self, path, name, room):
        self.path, self.name, self.room = path, name, room
        self.text = path.read_text(encoding="utf-8")
        self.lines = self.text.count("\n")
        self.includes = []     # (line, "<" or '"', what it says)
        for number, line in enumerate(self.text.splitlines(), 1):
            match = INCLUDE.match(line)
            if match:
                self.includes.append((number, *match.groups()))
        self.functions, self.objects, self.types, self.used = {}, {}, {}, {}
        if name.endswith((".c", ".h")):
            self._read(masked(self.text))

    def _read(self, text):
        """File scope and function bodies. What stands in an initialiser at file scope is data, as a row of a table of families is: it
        is no call. Who calls through the table uses the file that defines the table."""
        text = re.sub(r'extern\s+""\s*\{', lambda m: "\n" * m.group(0).count("\n"), text)
        depth = at = start = 0
        opened, line = None, 1
        for match in re.finditer(r"[{};\n]", text):
            what = match.group(0)
            if what == "\n":
                line += 1
            elif what == "{":
                if depth == 0:
                    head = text[start:match.start()]
                    opened = "data" if "=" in head or not head.rstrip().endswith(")") else "body"
                    if opened == "body":
                        self._function(head, line)
                    else:
                        self._definition(head, line)
                    at = match.end()
                depth += 1
            elif what == "}":
                depth = max(depth - 1, 0)
                if depth == 0 and opened == "body":
                    first = text.count("\n", 0, at) + 1
                    for number, part in enumerate(text[at:match.start()].split("\n"), first):
                        for word in re.findall(r"\b[a-z]+_\w+", part):
                            self.used.setdefault(word, number)
                    start, opened = match.end(), None
            elif what == ";" and depth == 0:
                self._statement(text[start:match.start()], line, opened)
                start, opened = match.end(), None

    def _function(self, head, line):
        head = re.sub(r"__attribute__\s*\(\((?:[^()]|\([^()]*\))*\)\)", " ", head).rstrip()
        depth, at = 0, len(head)
        for at in range(len(head) - 1, -1, -1):
            depth += {")": 1, "(": -1}.get(head[at], 0)
            if depth == 0:
                break
        name = re.search(r"(\w+)\s*$", head[:at])
        if name and not re.search(r"\b(static|inline)\b", head):
            self.functions[name.group(1)] = line

    def _definition(self, head, line):
        kind = re.search(r"\b(struct|union|enum)\s+(\w+)\s*$", head)
        if kind and "=" not in head:
            self.types[kind.group(2)] = line

    def _statement(self, text, line, opened):
        words = re.sub(r"\{.*\}", " ", text, flags=re.S).strip()   # members are no names of types
        if words.startswith("typedef"):
            forward = re.fullmatch(r"typedef\s+(?:struct|union|enum)\s+(\w+)\s+\1", words)
            name = re.search(r"\(\s*\*\s*(\w+)\s*\)\s*\(", words) or re.search(r"(\w+)\s*(?:\[[^\]]*\])?$", words)
            if name and not forward:
                self.types.setdefault(name.group(1), line)
        elif opened == "data" and "=" in words and not re.search(r"\bstatic\b", words.split("=")[0]):
            name = re.search(r"(\w+)\s*(?:\[[^\]]*\]\s*)*$", words.split("=")[0])
            if name:
                self.objects[name.group(1)] = line


class Tree:
    """All files of src/, cli/ and the public headers."""

    def __init__(self, root):
        self.root, self.files = root, {}
        folders = [(folder.name, folder) for folder in sorted((root / "src").glob("*")) if folder.is_dir()]
        for room, folder in folders + [("cli", root / "cli"), (None, root / "include")]:
            for path in sorted(p for p in folder.rglob("*") if p.suffix in (".c", ".h", ".def")):
                name = path.relative_to(root).as_posix()
                self.files[name] = File(path, name, room)
        self.rooms = sorted({f.room for f in self.files.values() if f.room})

    def included(self, file, target):
        """The file of the tree that a quoted include names, as the compiler looks for it, or None."""
        beside = (pathlib.PurePosixPath(file.name).parent / target).as_posix()
        for name in (beside, f"src/{target}", f"cli/{target}", f"include/{target}"):
            if name in self.files:
                return self.files[name]
        return None

    def room_of(self, file, target):
        """The room that a quoted include leads into: of the tree, or the first folder that it names."""
        found = self.included(file, target)
        if found:
            return found.room
        return target.split("/")[0] if "/" in target else file.room

    def room_lines(self):
        lines = collections.Counter()
        for file in self.files.values():
            if file.room:
                lines[file.room] += file.lines
        return lines

    def arrows(self):
        """room -> {room: number of includes}"""
        arrows = collections.defaultdict(collections.Counter)
        for file in self.files.values():
            for _, kind, target in file.includes:
                to = self.room_of(file, target) if kind == '"' else None
                if file.room and to and to != file.room:
                    arrows[file.room][to] += 1
        return arrows


def circles(graph):
    """The strongly connected components of more than one node, each sorted (Tarjan)."""
    index, low, stack, on, found = {}, {}, [], set(), []

    def visit(node):
        work = [(node, iter(sorted(graph.get(node, ()))))]
        index[node] = low[node] = len(index)
        stack.append(node)
        on.add(node)
        while work:
            at, rest = work[-1]
            for to in rest:
                if to not in index:
                    index[to] = low[to] = len(index)
                    stack.append(to)
                    on.add(to)
                    work.append((to, iter(sorted(graph.get(to, ())))))
                    break
                if to in on:
                    low[at] = min(low[at], index[to])
            else:
                work.pop()
                if work:
                    low[work[-1][0]] = min(low[work[-1][0]], low[at])
                if low[at] == index[at]:
                    part = []
                    while True:
                        part.append(stack.pop())
                        on.discard(part[-1])
                        if part[-1] == at:
                            break
                    if len(part) > 1:
                        found.append(sorted(part))

    for node in sorted(graph):
        if node not in index:
            visit(node)
    return sorted(found)


def check_includes(tree):
    for file in tree.files.values():
        if not file.room:
            continue
        if file.room not in LAW:
            continue
        for number, kind, target in file.includes:
            if kind == "<" and target in OUTSIDE and file.room not in OUTSIDE[target]:
                yield Fault(f"outside {file.name} {target}", f"{file.name}:{number}", f"{file.room} may not use {target}")
            to = tree.room_of(file, target) if kind == '"' else None
            if to and to != file.room and to not in LAW[file.room]:
                yield Fault(f"include {file.name} {target}", f"{file.name}:{number}", f"{file.room} may not include {target}")
    for path in sorted((tree.root / "examples").rglob("*.c")):
        name = path.relative_to(tree.root).as_posix()
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
            match = INCLUDE.match(line)
            if match and match.group(1) == '"' and "/" in match.group(2):
                yield Fault(f"example {name}", f"{name}:{number}", "examples use the public headers only")


def check_rooms(tree):
    lines = tree.room_lines()
    for room in tree.rooms:
        if room not in LAW:
            yield Fault(f"room {room}", f"src/{room}", "a room without a row in the law (LAW in scripts/check_law.py)")
        elif room == "cli" and lines[room] > CLI_LINES:
            yield Fault("size cli", "cli", f"{lines[room]} lines, at most about {CLI_LINES}: what computes belongs into a room of src")
        elif lines[room] > ROOM_LINES and room not in PARTED | {"cli"}:
            yield Fault(f"size {room}", f"src/{room}", f"{lines[room]} lines, a room has at most about {ROOM_LINES}")
    for room in sorted(set(LAW) - set(tree.rooms)):
        yield Fault(f"row {room}", "scripts/check_law.py", f"{room} has a row in the law, but no folder")
    graph = {room: set(LAW[room]) & set(LAW) for room in LAW}
    for part in circles(graph):
        yield Fault("rooms " + " ".join(part), "scripts/check_law.py", "rooms in a circle: " + ", ".join(part))
    for file in tree.files.values():
        if file.room and not file.text.startswith("/* SPDX-License-Identifier: MIT"):
            yield Fault(f"licence {file.name}", f"{file.name}:1", "must open with the licence line")
        if file.room and file.lines > FILE_LINES:
            yield Fault(f"long {file.name}", file.name, f"{file.lines} lines, at most {FILE_LINES}")


def check_parts(tree):
    """The parts of a room are layers."""
    def part_of(name):
        return name.split("/")[2] if name.count("/") > 2 else ""
    for file in tree.files.values():
        order = PARTS.get(file.room)
        if not order:
            continue
        if part_of(file.name) not in order:
            yield Fault(f"part {file.name}", file.name, f"{part_of(file.name)} is no part of {file.room} that PARTS of the law names")
            continue
        for number, kind, target in file.includes:
            to = tree.included(file, target) if kind == '"' else None
            if to and to.room == file.room and part_of(to.name) in order and order.index(part_of(to.name)) > order.index(part_of(file.name)):
                yield Fault(f"part {file.name} {to.name}", f"{file.name}:{number}", f"{file.room}/{part_of(file.name)} may not include {target}: it is a later part")


def check_tests(tree):
    for folder in sorted(path for path in (tree.root / "tests").glob("*") if path.is_dir()):
        if folder.name not in ACROSS | set(LAW) and any(folder.iterdir()):
            yield Fault(f"tests {folder.name}", f"tests/{folder.name}", "tests stand in a folder named after their room")


def check_shipped(tree):
    for room in SHIPPED:
        for other in sorted(set(LAW.get(room, ())) & set(LAW) - set(SHIPPED)):
            yield Fault(f"ships {room} {other}", "scripts/check_law.py", f"{room} ships and may include {other}, which does not")
    cmake = tree.root / "CMakeLists.txt"
    match = re.search(r"set\(GS_LIBRARY_LAYERS\s+([^)]*)\)", cmake.read_text(encoding="utf-8")) if cmake.exists() else None
    for room in sorted(set(match.group(1).split()) ^ set(SHIPPED)) if match else ["GS_LIBRARY_LAYERS"]:
        yield Fault(f"library {room}", "CMakeLists.txt", f"{room}: GS_LIBRARY_LAYERS and SHIPPED of the law differ")
    for file in tree.files.values():
        if file.room not in SHIPPED:
            continue
        for number, line in enumerate(masked(file.text).splitlines(), 1):
            call = FORBIDDEN_CALLS.search(line)
            if call:
                yield Fault(f"call {file.name} {call.group(1)}", f"{file.name}:{number}", f"the library may not call {call.group(1)}()")


def calls(tree):
    """source -> {source: (function, line)}: who uses what another file defines."""
    home = {}
    for file in tree.files.values():
        if file.room and file.name.endswith(".c"):
            for name in (*file.functions, *file.objects):
                home[name] = file.name
    graph = collections.defaultdict(dict)
    for file in tree.files.values():
        for word, line in file.used.items():
            if file.room and home.get(word, file.name) != file.name:
                graph[file.name].setdefault(home[word], (word, line))
    return graph


def check_circles(tree):
    headers = collections.defaultdict(dict)
    for file in tree.files.values():
        for number, kind, target in file.includes:
            to = tree.included(file, target) if kind == '"' else None
            if to and to is not file and file.name.endswith(".h") and to.name.endswith(".h"):
                headers[file.name].setdefault(to.name, (target, number))
    for word, graph in (("include each other", headers), ("call each other", calls(tree))):
        for part in circles(graph):
            inside = [f"{a}:{graph[a][b][1]} {graph[a][b][0]}" for a in part for b in sorted(graph.get(a, ())) if b in part]
            yield Fault("circle " + " ".join(part), part[0], f"files that {word}: {', '.join(part)} ({'; '.join(inside[:6])})")


def check_types(tree):
    """A name of a type that a header shows, or that is public by its prefix, has one definition. Others are private to their source."""
    homes = collections.defaultdict(list)
    shown = set()
    for file in tree.files.values():
        for name, line in file.types.items():
            homes[name].append((file.name, line))
            if file.name.endswith(".h") or name.startswith(("gs_", "cli_")):
                shown.add(name)
    for name in sorted(shown):
        if len(homes[name]) > 1:
            places = ", ".join(f"{file}:{line}" for file, line in homes[name])
            yield Fault(f"type {name}", places.split(",")[0], f"{name} is defined more than once: {places}")


def names_of(tree, macro):
    """The names in the rows of X-macro tables: MACRO(ID, "name", ...)."""
    return {name for file in tree.files.values() if file.name.endswith(".def")
            for name in re.findall(macro + r'\(\w+,\s*"([^"]*)"', file.text)}


COMPARES = re.compile(r'\b(strn?cmp|strn?casecmp|strstr|strcasestr)\s*\(\s*((?:[^(),"]|\([^()]*\))+),\s*"((?:\\.|[^"\\])*)"')
PROSE = re.compile(r"(?:^|->|\.|\b)(reason|message)\s*$")
NAMED = re.compile(r"(?:^|->|\.|\b)(verdict|stage)\s*$")


def check_prose(tree):
    """Decisions are taken on enumerations. A comparison of text is a fault if it is with a verdict's name ("pass" above all), if what is
    compared is a verdict, a stage, a reason or a message, or if what it is compared with is a message, of several words."""
    verdicts = names_of(tree, "GS_VERDICT")
    for file in tree.files.values():
        if not file.room or file.name in EDGES or not file.name.endswith((".c", ".h")):
            continue
        text = masked(file.text, strings=False)
        for match in COMPARES.finditer(text):
            call, what, literal = match.groups()
            line = text.count("\n", 0, match.start()) + 1
            what = what.strip()
            if literal == "pass" and "pass" in verdicts:
                why = "a verdict's name"
            elif NAMED.search(what) or (literal in verdicts and re.search(r"verdict|outcome", what)):
                why = f"a name of a {'stage' if 'stage' in what else 'verdict'}"
            elif PROSE.search(what) or re.search(r"[a-z]{3,} [a-z]", literal):
                why = "prose"
            else:
                continue
            yield Fault(f"prose {file.name}", f"{file.name}:{line}", f"decides by {why}: {call}({what}, \"{literal}\")")


def check_requests(tree):
    for file in tree.files.values():
        if not file.room or file.room == "worker":
            continue
        text = masked(file.text, strings=False)
        for number, line in enumerate(text.splitlines(), 1):
            if '"op"' in line or '\\"op\\"' in line:
                yield Fault(f"request {file.name}", f"{file.name}:{number}", "only src/worker writes requests to the worker")


RULES = (check_includes, check_rooms, check_parts, check_tests, check_shipped, check_circles, check_types, check_prose, check_requests)


def faults(root, known=None):
    """The files that were read and the faults: those that KNOWN does not name, and entries of it that no longer occur."""
    known = KNOWN if known is None else known
    tree = Tree(root)
    all_faults = [fault for rule in RULES for fault in rule(tree)]
    names = {fault.name for fault in all_faults}
    left = [fault for fault in all_faults if fault.name not in known]
    left += [Fault(f"known {name}", "scripts/check_law.py", f"KNOWN has '{name}', which is no fault any more: remove it") for name in sorted(set(known) - names)]
    return tree, left


def main():
    arguments = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    arguments.add_argument("--root", type=pathlib.Path, default=ROOT, help="the tree to check")
    arguments.add_argument("--names", action="store_true", help="print the faults' names, as KNOWN takes them")
    options = arguments.parse_args()
    tree, found = faults(options.root.resolve())
    for fault in found:
        print(fault.name if options.names else f"{fault.place}: {fault.text}")
    print(f"{len(tree.files)} files, {len(found)} faults, {len(KNOWN)} known")
    return 1 if found or not tree.files else 0


if __name__ == "__main__":
    sys.exit(main())

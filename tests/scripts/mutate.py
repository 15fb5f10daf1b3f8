#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""scripts/mutate.py on a tree of a few lines: a change that its test sees is killed, one that it does not see survives and is shown, what hangs is ended, a
run goes on where it was stopped, and each kind of change is made where it belongs and nowhere else.
Usage: mutate.py SOURCE_DIR"""
import argparse
import collections
import json
import multiprocessing
import os
import shutil
import sys
import tempfile
import time
import unittest
from pathlib import Path

from script import Script

SOURCE = Path(sys.argv.pop(1)).resolve()
SCRIPT = Script(SOURCE, "scripts/mutate.py")
BUILD = "cc -Werror -o prog src/room/limit.c src/room/other/deep.c tests/test.c"

LIMIT = """/* x > 1 && y < 2 */
#define MORE(x) ((x) > 1)
int limit(int x);
void note(const char *text, int x);
int limit(int x)
{
    if (x > 10) return 10;
    note("x == 3 + 4", x);
    return x;
}
"""
DEEP = """void note(const char *text, int x);
void note(const char *text, int x)
{
    (void)text, (void)x;
}
"""
TEST = "int limit(int x);\nint main(void) { return limit(3) == 3 && limit(50) == 10 ? 0 : 1; }\n"


class Tree(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = Path(folder.name)
        self.write("src/room/limit.c", LIMIT)
        self.write("src/room/other/deep.c", DEEP)
        self.write("src/empty/none.c", "int none;\n")
        self.write("tests/test.c", TEST)

    def write(self, name, text):
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")

    def run_script(self, *arguments, test="./prog", build=BUILD):
        return SCRIPT.run_alone("--root", str(self.root), "--source", "src", "--build", build, "--test", test, *map(str, arguments))

    def told(self, *arguments, **commands):
        code, out, said = self.run_script("--json", *arguments, **commands)
        self.assertEqual((code, said), (0, ""), out)
        return json.loads(out)

    def counts(self, told):
        return {name: told[name] for name in ("killed", "survived", "equivalent", "refused", "same") if told[name]}

    def test_survivor(self):
        told = self.told("--kind", "edge")
        self.assertEqual(self.counts(told), {"survived": 1})
        self.assertEqual((told["share"], told["interval"][0]), (0, 0))
        one = told["mutants"][0]
        self.assertEqual((one["file"], one["line"], one["kind"], one["room"]), ("src/room/limit.c", 7, "edge", "room"))
        self.assertIn("-    if (x > 10) return 10;\n+    if (x >= 10) return 10;", one["diff"])
        code, out, _ = self.run_script("--kind", "edge", "--seed", "2")
        self.assertEqual(code, 0)
        self.assertIn("SURVIVED src/room/limit.c:7 edge\n", out)
        self.assertIn("+    if (x >= 10) return 10;", out)
        self.assertTrue(out.endswith("0 killed, 1 survived, 0 without effect by the list, 0 by their object, 0 not compiled: 0 % killed (0 to 79)\n"), out)
        self.assertEqual((self.root / "src/room/limit.c").read_text(encoding="utf-8"), LIMIT)
        self.assertEqual(self.run_script("--kind", "edge", "--at-least", "0.5")[0], 1)

    def test_killed(self):
        told = self.told("--kind", "comparison,return")
        self.assertEqual(self.counts(told), {"killed": 2})
        self.assertEqual({one["stage"] for one in told["mutants"]}, {"stage 1"})
        self.assertEqual(told["share"], 1)
        told = self.told("--kind", "constant")   # 10 twice, to 9 and 11 each; the comparison's survive
        self.assertEqual(self.counts(told), {"killed": 2, "survived": 2})

    def test_call_that_matters_to_nobody(self):
        told = self.told("--kind", "call")
        self.assertEqual([(one["outcome"], one["line"]) for one in told["mutants"]], [("survived", 8)])
        self.assertIn("+    (void)0;", told["mutants"][0]["diff"])

    def test_refused(self):
        told = self.told("--kind", "arguments")
        self.assertEqual(told["mutants"], [])   # a string is no plain argument
        self.write("src/room/limit.c", LIMIT.replace('"x == 3 + 4", x', "text, x").replace("(int x)\n{", '(int x)\n{\n    const char *text = "";'))
        self.assertEqual(self.counts(self.told("--kind", "arguments")), {"refused": 1})

    def test_late(self):
        self.write("src/room/limit.c", "#include <unistd.h>\n" + LIMIT.replace("    note(", "    sleep(0 * 60);\n    note("))
        begin = time.monotonic()
        told = self.told("--kind", "constant", "--count", "20", "--limit", "2.5", test="sleep 987 & ./prog")
        late = [one for one in told["mutants"] if one["by"] == "late"]
        self.assertEqual([(one["outcome"], one["line"]) for one in late], [("killed", 9)])
        self.assertLess(time.monotonic() - begin, 60)

    def test_fails_now_and_then(self):
        test = f"if [ -e {self.root}/once ]; then rm {self.root}/once; else touch {self.root}/once; fi; [ -e {self.root}/once ]"
        self.assertEqual(self.counts(self.told("--kind", "edge", test=test)), {"survived": 1})

    def test_goes_on(self):
        log = self.root.parent / (self.root.name + ".log")
        self.addCleanup(lambda: log.unlink(missing_ok=True))
        results = self.root / "build/mutate/results-1.jsonl"
        test = f"echo >> {log}; ./prog"
        first = self.told("--count", "3", test=test)
        ran = len(log.read_text())
        self.assertEqual(len(results.read_text().splitlines()), len(first["mutants"]))
        with open(results, "a", encoding="utf-8") as file:
            file.write('{"id": "cut o')   # killed as it wrote
        again = self.told("--count", "3", test=test)
        self.assertEqual(again, first)
        self.assertEqual(len(log.read_text()), ran)
        more = self.told("--count", "5", test=test)
        self.assertEqual(more["mutants"][:len(first["mutants"])], first["mutants"])
        self.assertEqual(more["killed"] + more["survived"], 5)
        other = self.told("--count", "5", "--seed", "7")
        self.assertNotEqual([one["id"] for one in other["mutants"]], [one["id"] for one in more["mutants"]])
        # a file that changed since is judged anew
        self.write("src/room/limit.c", LIMIT + "\n")
        ran = len(log.read_text())
        self.told("--count", "1", test=test)
        self.assertGreater(len(log.read_text()), ran)

    def test_options_that_exclude_each_other(self):
        code, _, said = self.run_script("--together", "--room-alone")
        self.assertEqual(code, 1)
        self.assertIn("--room-alone cannot be used with --together", said)

    def test_several_at_a_time(self):
        one = self.told("--count", "6")
        (self.root / "build/mutate/results-1.jsonl").unlink()
        several = self.told("--count", "6", "--parallel", "3", "--jobs", "3")
        self.assertEqual([(row["id"], row["outcome"]) for row in several["mutants"]], [(row["id"], row["outcome"]) for row in one["mutants"]])
        self.assertTrue((self.root / "build/mutate/tree-release-2/src/room/limit.c").exists())
        again = self.told("--count", "6", "--parallel", "3", test="false")
        self.assertEqual(again, several)

    def test_equivalent(self):
        record = "# known\n\nsrc/room/limit.c\n- if (x > 10) return 10;\n+ if (x >= 10) return 10;\n10 is 10\neither way\n"
        self.write("tests/mutants/code.txt", record)
        told = self.told("--kind", "edge")
        self.assertEqual(self.counts(told), {"equivalent": 1})
        self.assertEqual(told["mutants"][0]["by"], "10 is 10 either way")
        for name, old, new, count in (("src/*", "if ($1 > $2)$3", "if ($1 >= $2)$3", 1), ("src/*", "if ($1 > $2) return $2;", "if ($1 >= $2) return $2;", 1), ("src/*", "if ($1 > $2) return $1;", "if ($1 >= $2) return $1;", 0),
                                      ("src/*", "if ($1 > $2)$3", "if ($2 >= $1)$3", 0), ("src/*", "if ($1 >", "if ($1 >=", 0), ("src/*", "if ($1 > $2)$3", "if ($1 >= $2)$4", 0),
                                      ("src/other/*", "if ($1 > $2)$3", "if ($1 >= $2)$3", 0), ("src/*", "if (x > 10) return 10;", "if (x >= 10) return 10;", 1)):
            self.write("tests/mutants/code.txt", f"{name}\n- {old}\n+ {new}\nany\n")
            (self.root / "build/mutate/results-1.jsonl").unlink(missing_ok=True)
            self.assertEqual(self.counts(self.told("--kind", "edge")).get("equivalent", 0), count, (name, old, new))
        self.write("tests/mutants/code.txt", record.replace("+ if", "if"))
        code, _, said = self.run_script("--kind", "edge")
        self.assertEqual(code, 1)
        self.assertIn("code.txt: not a name, a line with '- '", said)

    def test_fails_without_a_mutant(self):
        code, _, said = self.run_script("--kind", "edge", test="echo broken; false")
        self.assertEqual(code, 1)
        self.assertIn("room: stage 1 fails without a mutant:\nbroken", said)
        code, _, said = self.run_script("--kind", "edge", build="false")
        self.assertIn("room: the build fails without a mutant", said)

    def test_rooms(self):
        self.assertIn("there is no room none: empty, room", self.run_script("--room", "none")[2] + self.empty_room())
        self.assertIn("there is no kind none", self.run_script("--kind", "none")[2])
        self.write("src/empty/none.c", "int none = 1;\n")
        told = self.told("--room", "empty")
        self.assertEqual({one["room"] for one in told["mutants"]}, {"empty"})

    def empty_room(self):
        self.write("src/empty/none.c", "int none = 1;\n")
        return self.run_script("--room", "none")[2]


class Project(unittest.TestCase):
    """Tests in whose program a mutant is not need not run: those of a tree of two rooms that CMake builds."""
    PRESETS = {"version": 3, "configurePresets": [{"name": "release", "generator": "Ninja", "binaryDir": "${sourceDir}/build/release"}]}
    LISTS = """cmake_minimum_required(VERSION 3.21)
project(rooms C)
enable_testing()
foreach(room one two)
  add_library(gs_${room} STATIC src/${room}/${room}.c)
  add_executable(test_${room} tests/${room}.c)
  target_link_libraries(test_${room} gs_${room})
  set_target_properties(test_${room} PROPERTIES RUNTIME_OUTPUT_DIRECTORY tests)
  add_test(NAME ${room}/${room} COMMAND test_${room})
endforeach()
add_test(NAME script COMMAND sh -c true)
"""

    def test_untouched(self):
        with tempfile.TemporaryDirectory() as folder:
            root = Path(folder).resolve()
            files = {"CMakeLists.txt": self.LISTS, "CMakePresets.json": json.dumps(self.PRESETS)}
            for room, other in (("one", "no folder"), ("two", str(root / "build/release"))):
                files[f"src/{room}/{room}.c"] = f"int {room}(int x);\nint {room}(int x)\n{{\n    return x > 10;\n}}\n"
                files[f"tests/{room}.c"] = f'int {room}(int x);\nconst char *volatile other = "{other}";\nint main(void) {{ return !{room}(11); }}\n'
            for name, text in files.items():
                (root / name).parent.mkdir(parents=True, exist_ok=True)
                (root / name).write_text(text, encoding="utf-8")
            arguments = SCRIPT.module.options().parse_args(["--all"])
            tree = SCRIPT.module.Project(root, arguments)
            tree.prepare()
            self.assertEqual(SCRIPT.module.run(tree.build_rooms("one"), root, 60)[0], 0)
            tree.built()
            self.assertEqual(tree.untouched("one"), ["^one/one$"])   # nothing changed; two names the build's folder
            stages = {stage.name: stage.command for stage in tree.stages(argparse.Namespace(room="one"))}
            self.assertIn("-E '^one/one$'", stages["room"])
            self.assertIn("-LE slow -E '^(one)/|^cli/golden$|^one/one$'", stages["quick"])
            path = root / "src/one/one.c"
            path.write_text(path.read_text(encoding="utf-8").replace("10", "11"), encoding="utf-8")
            self.assertEqual(SCRIPT.module.run(tree.build_rooms("one"), root, 60)[0], 0)
            self.assertEqual(tree.untouched("one"), [])
            self.assertNotEqual(SCRIPT.module.run(stages["quick"].replace("^(one)/|", "").replace("|^one/one$", ""), root, 60)[0], 0)


class Together(unittest.TestCase):
    """All mutants are in one build; each meets the tests that reach its function, and no other."""
    ROOM = """#include <signal.h>
#include <stdarg.h>
#include <sys/wait.h>
#include <unistd.h>
static int limits[] = {4 + 1, 5};
int small(const int x[static 1], int (*more)(int));
int gone(int x);
int never(int x);
int open(int count, ...);
int small(const int x[static 1], int (*more)(int))
{
    return x[0] > 10 && more(x[0]) == 1;
}
static void end(int x) { if (x > 20) _exit(1); }
int gone(int x)
{
    const pid_t child = fork();
    if (child == 0) {
        end(x);
        kill(getpid(), SIGKILL);
    }
    int status;
    waitpid(child, &status, 0);
    return WIFEXITED(status);
}
int never(int x)
{
    return x > limits[0];
}
int open(int count, ...)
{
    return count > 40;
}
"""
    LOOKUP = """#include <string.h>
const char *gs_embedded_find(const char *name);
const char *gs_embedded_find(const char *name)
{
    return strcmp(name, "one.cu") == 0 ? "#include \\"common/inner.cuh\\"\\nx < 1" : NULL;
}
"""
    LOADED = """#include <string.h>
typedef struct embedded { const char *name, *text; } embedded;
const char *header(const char *name);
const char *header(const char *name)
{
    static const embedded only = {"common/inner.cuh", "y < 2"}, *const file = &only;
    return strcmp(name, file->name) == 0 ? file->text : NULL;
}
"""
    LISTS = """cmake_minimum_required(VERSION 3.21)
project(room C)
enable_testing()
add_library(gs_room STATIC src/room/room.c src/kernel/define.c src/loaded/code.c)
foreach(test small gone text fails)
  add_executable(test_${test} tests/${test}.c)
  target_link_libraries(test_${test} gs_room)
  set_target_properties(test_${test} PROPERTIES RUNTIME_OUTPUT_DIRECTORY tests)
endforeach()
add_test(NAME room/small COMMAND env -i ${CMAKE_BINARY_DIR}/tests/test_small)
foreach(test gone text fails)
  add_test(NAME room/${test} COMMAND test_${test})
endforeach()
add_test(NAME script COMMAND grep -q "x < 1" ${CMAKE_SOURCE_DIR}/kernels/two.cu)
"""
    TESTS = {"small": "int small(const int *x, int (*more)(int)); static int one(int x) { return x == 11; }\n"
                      "int main(void) { return !small((int[]){11}, one) || small((int[]){12}, one) || small((int[]){9}, one); }\n",
             "gone": "int gone(int x), open(int count, ...); int main(void) { return !gone(21) || gone(1) || open(1, 2); }\n",
             "text": '#include <string.h>\nconst char *gs_embedded_find(const char *name), *header(const char *name);\n'
                     'int main(void) { return !strstr(gs_embedded_find("one.cu"), "x < 1") || gs_embedded_find("two.cu") || strcmp(header("common/inner.cuh"), "y < 2") != 0; }\n',
             "fails": "int main(void) { return 1; }\n"}

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = Path(folder.name).resolve()
        files = {"CMakeLists.txt": self.LISTS, "CMakePresets.json": json.dumps(Project.PRESETS), "src/room/room.c": self.ROOM, "src/kernel/define.c": self.LOOKUP,
                 "src/loaded/code.c": self.LOADED, "kernels/one.cu": '#include "common/inner.cuh"\nx < 1', "kernels/two.cu": "x < 1", "kernels/common/inner.cuh": "y < 2"}
        for name, text in {**files, **{f"tests/{name}.c": text for name, text in self.TESTS.items()}}.items():
            (self.root / name).parent.mkdir(parents=True, exist_ok=True)
            (self.root / name).write_text(text, encoding="utf-8")

    def judged(self, *arguments):
        code, out, said = SCRIPT.run_alone("--root", str(self.root), "--together", "--json", "--count", "100", *arguments)
        self.assertEqual(code, 0, said)
        return {(Path(row["file"]).name, row["line"]): (row["outcome"], row["by"]) for row in json.loads(out)["mutants"]}, said

    def line(self, text):
        return self.ROOM[:self.ROOM.index(text)].count("\n") + 1

    def test_judged(self):
        by_line, said = self.judged("--kind", "comparison")
        self.assertIn("left out, because it fails without a mutant: room/fails\n", said)
        small, end, never = self.line("return x[0] > 10"), self.line("if (x > 20)"), self.line("return x > limits")
        self.assertEqual(by_line["room.c", small], ("killed", "room/small"))   # whose environment is empty
        self.assertEqual(by_line["room.c", end], ("killed", "room/gone"))      # in a child
        self.assertEqual(by_line["room.c", never], ("survived", "no test executes it"))
        self.assertEqual(by_line["room.c", self.line("return count > 40")][0], "apart")
        self.assertEqual(by_line["one.cu", 2], ("killed", "room/text"))        # a text
        self.assertEqual(by_line["inner.cuh", 1], ("killed", "room/text"))     # which contains this one
        self.assertEqual(by_line["two.cu", 1], ("killed", "script"))           # which reads it
        self.assertEqual(by_line["define.c", 5], ("killed", "room/text"))
        for name in ("src/room/room.c", "src/kernel/define.c", "kernels/one.cu"):
            self.assertEqual((self.root / "build/mutate/tree-release" / name).read_text(encoding="utf-8"), (self.root / name).read_text(encoding="utf-8"))
        results = self.root / "build/mutate/results-1.jsonl"
        kept = results.read_text(encoding="utf-8")
        self.assertEqual(self.judged("--kind", "comparison"), (by_line, ""))   # nothing runs again
        self.assertEqual(results.read_text(encoding="utf-8"), kept)
        reached = (self.root / "build/mutate/reached-release-1.json").read_text(encoding="utf-8")
        results.write_text("".join(kept.splitlines(keepends=True)[:1]), encoding="utf-8")
        self.assertEqual(self.judged("--kind", "comparison"), (by_line, ""))   # what tests reach is known, and what was judged
        self.assertEqual((self.root / "build/mutate/reached-release-1.json").read_text(encoding="utf-8"), reached)
        results.unlink()
        self.assertEqual(self.judged("--kind", "comparison", "--parallel", "2")[0], by_line)
        results.unlink()
        again, said = self.judged("--kind", "comparison", "--quick", "0")   # all tests are slow
        self.assertEqual(again, by_line)
        self.assertIn(f"no quick test kills src/room/room.c:{small} comparison\n", said)

    def test_edges(self):
        by_line, _ = self.judged("--kind", "sum,edge", "--room", "room", "--leave-out", "fails")
        self.assertEqual(by_line["room.c", self.line("4 + 1")][0], "apart")   # in no function
        self.assertEqual(by_line["room.c", self.line("return x[0] > 10")], ("survived", ""))

    def test_sources(self):
        sources = sys.modules["mutant_sources"]
        body = ("void f(int x)\n{\n    one o = {1, x < 2};\n    for (int i = 0; i < x; i++) { g(x < 3); }\n    if (x < 4) h(x < 5);\n    else if (y(x < 6)) return;\n"
                "    do i(x < 7); while (x < 8);\n    switch (x) {\n    case 1:\n    case 2: j((two){x < 9}); break;\n    }\n}\n")
        only, = sources.functions(body)
        places = {number: body[sources.statement(sources.flat(body), only, body.index(f"x < {number}")):].split()[0] for number in range(2, 10)}
        self.assertEqual(places, {2: "one", 3: "g(x", 4: "if", 5: "if", 6: "if", 7: "do", 8: "do", 9: "j((two){x"})
        text = ("typedef struct one { int a; } one;\nenum { B = 1 };\nint c[] = {1};\nstruct one\nmade(void)\n{\n    return (one){1};\n}\n#define X {\n"
                "/* d() { */ static inline void d(char *const names[4], one x) { (void)names; (void)x; }\nint e(int count, ...)\n{\n    return count;\n}\n"
                "__attribute__((noinline)) int f(void)\n{\n    return 0;\n}\nint g; const one *h(int (*run)(int), void **out) { return run(1) ? *out : 0; }\n")
        found = list(sources.functions(text))
        self.assertEqual([(one.name, one.call) for one in found],
                         [("made", "return @();"),
                          ("d", "{ @(names, x); return; }"), ("h", "return @(run, out);")])


class Groups(unittest.TestCase):
    """Slow tests meet several mutants at once: each gets the judgement that it would get alone, in fewer runs."""

    class Copy:
        """Tests whose outcome is a table. hides: {number: those that are not executed while it is chosen}."""

        def __init__(self, killed, hides, reach, unsteady):
            self.killed, self.hides, self.reach, self.unsteady, self.runs = killed, hides, reach, unsteady, multiprocessing.get_context("fork").Value("i", 0)

        def try_group(self, name, chosen, seconds, size):
            with self.runs.get_lock():
                self.runs.value += bool(chosen)
            hidden = {other for number in chosen for other in self.hides.get(number, ())}
            executed = [number for number in chosen if number not in hidden]
            if (name in self.unsteady and len(chosen) > 1) or any((name, number) in self.killed for number in executed):
                return False, [], name if len(chosen) == 1 and (name, *chosen) in self.killed else None
            return True, [number for number in executed if number in self.reach[name]], None

    def judged(self, names_of, killed, hides=(), unsteady=(), reach=None, passed=None, parallel=2):
        together = sys.modules["mutants_together"]
        files = collections.namedtuple("Mutant", "path room")
        numbered = {number: files(f"src/x/{number}.c", "x") for number in names_of}
        names = {name for some in names_of.values() for name in some}
        reach = reach or {name: [number for number, some in names_of.items() if name in some] for name in names}
        copy = self.Copy(set(killed), dict(hides), reach, set(unsteady))
        found = list(together.judge_groups([copy] * parallel, numbered, names_of, reach, dict.fromkeys(names, 1.0), 4096, {} if passed is None else passed))
        self.assertEqual(len(found), len(dict(found)))   # each once
        return {number: (outcome, by) for number, (outcome, _, by) in found}, copy.runs.value

    def test_as_alone(self):
        names_of = {number: ["a", "b", "c"] for number in range(1, 25)}
        found, runs = self.judged(names_of, [("a", 3), ("b", 17), ("c", 17), ("c", 20)])
        self.assertIn(found[17], (("killed", "b"), ("killed", "c")))   # of two at once either may be the first
        self.assertEqual({number: one for number, one in found.items() if one[0] == "killed" and number != 17}, {3: ("killed", "a"), 20: ("killed", "c")})
        self.assertEqual({one for number, one in found.items() if number not in (3, 17, 20)}, {("survived", "")})
        self.assertEqual(set(found), set(names_of))
        self.assertLess(runs, 40)   # of 72

    def test_one_hides_another(self):
        found, _ = self.judged({1: ["a"], 2: ["a"], 3: ["a"]}, [("a", 2)], {1: [2]})
        self.assertEqual(found, {1: ("survived", ""), 2: ("killed", "a"), 3: ("survived", "")})
        found, _ = self.judged({1: ["a"], 2: ["a"]}, [], {1: [2]}, reach={"a": [1]})   # a text that it reads leaves no mark
        self.assertEqual(found, {1: ("survived", ""), 2: ("survived", "")})

    def test_fails_now_and_then(self):
        found, _ = self.judged({number: ["a"] for number in range(1, 6)}, [("a", 5)], unsteady=["a"])
        self.assertEqual(found, {**{number: ("survived", "") for number in range(1, 5)}, 5: ("killed", "a")})

    def test_goes_on(self):
        passed = {"1": ["a"], "2": ["a", "b"]}
        found, runs = self.judged({1: ["a", "b"], 2: ["a", "b"]}, [], passed=passed, parallel=1)
        self.assertEqual((found, runs, passed), ({1: ("survived", ""), 2: ("survived", "")}, 1, {"1": ["a", "b"], "2": ["a", "b"]}))

    def test_groups(self):
        together = sys.modules["mutants_together"]
        files = collections.namedtuple("Mutant", "path room")
        numbered = {number: files("one.c" if number % 3 == 0 else f"kernels/{number}.cu" if number % 5 == 0 else f"src/x/{number}.c", "x") for number in range(1, 31)}
        found = together.groups(list(numbered), numbered)
        self.assertEqual(sorted(number for group in found for number in group), list(numbered))
        for group in found:
            self.assertLessEqual(len(group), together.GROUP)
            self.assertEqual(len({numbered[number].path for number in group}), len(group))
            self.assertEqual(len({together.anew(numbered[number]) for number in group}), 1)


class Places(unittest.TestCase):
    def made(self, kind, line):
        """The line as each change of this kind makes it."""
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "x.c"
            text = f"void f(void)\n{{\n{line}\n}}\n"
            path.write_text(text, encoding="utf-8")
            return [SCRIPT.module.applied(mutant, text)[len("void f(void)\n{\n"):-len("\n}\n")]
                    for found, mutant in sys.modules["mutations"].places(path, "x.c", "x") if found == kind]

    def test_kinds(self):
        # legend: kind, a line, what becomes of it
        cases = [
            ("comparison", "    x = a == b;", ["    x = a != b;"]),
            ("comparison", "    if (a <= b) p->q = c << 1;", ["    if (a >= b) p->q = c << 1;"]),
            ("edge", "    if (a >= b && c == d) x();", ["    if (a > b && c == d) x();"]),
            ("sum", "    a += b - c * -d;", ["    a -= b - c * -d;", "    a += b + c * -d;"]),
            ("logic", "    x = a && b || !c;", ["    x = a || b || !c;", "    x = a && b && !c;"]),
            ("call", "    free(list(1), f(2));", ["    (void)0;"]),
            ("call", "    if (a) free(b);", ["    if (a) (void)0;"]),
            ("call", "    if (a) b(); else free(b);", ["    if (a) (void)0; else free(b);", "    if (a) b(); else (void)0;"]),
            ("call", "    int x = f(y);", []),
            ("constant", "    x[0] = 1.5f + 7u + a2 + 0x1f;", ["    x[1] = 1.5f + 7u + a2 + 0x1f;", "    x[0] = 1.5f + 8u + a2 + 0x1f;", "    x[0] = 1.5f + 6u + a2 + 0x1f;"]),
            ("condition", "    while (f(a)) b();", ["    while (!(f(a))) b();"]),
            ("condition", "    for (;;) b();", []),
            ("arguments", "    f(a, b->c, 1, &d);", ["    f(b->c, a, 1, &d);"]),
            ("arguments", "    f(a, a);", []),
            ("return", "    if (a) return b + c;", ["    if (a) (void)(b + c);"]),
            ("return", "        return;", ["        (void)0;"]),
            ("return", "    return b;", []),
        ]
        for kind, line, lines in cases:
            self.assertEqual(self.made(kind, line), lines, (kind, line))

    def test_where_there_is_no_code(self):
        for kind in SCRIPT.module.KINDS:
            for line in ("    /* if (a < 1 && b) return f(a, b); */", "    // a + 1", '    x = "a < 1 && f(a, b)";', "#if X > 1 && Y < 2", "#define F(a) \\\n    g(a + 1);"):
                self.assertEqual(self.made(kind, line), [], (kind, line))

    def test_interval(self):
        for hits, count, low, high in ((0, 0, 0, 1), (65, 80, 0.713, 0.883), (10, 10, 0.722, 1)):
            got = SCRIPT.module.wilson(hits, count)
            self.assertAlmostEqual(got[0], low, 3)
            self.assertAlmostEqual(got[1], high, 3)

    def test_every_room_has_places(self):
        """Of the tree itself: nothing is built, but whoever writes code in another way would find no mutants of it."""
        found = SCRIPT.module.survey(SOURCE, ["src", "kernels"], [], list(SCRIPT.module.KINDS))
        self.assertEqual(set(found), set(SCRIPT.module.KINDS))
        rooms = {mutant.room for mutants in found.values() for mutant in mutants}
        self.assertGreaterEqual(rooms, {entry.name for entry in os.scandir(SOURCE / "src") if entry.is_dir()} | {"kernels"})


if __name__ == "__main__":
    unittest.main()

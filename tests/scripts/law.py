#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""scripts/check_law.py finds each way to break the law, by its line, in a small tree that keeps it otherwise; the real tree passes.

    law.py SOURCE-FOLDER"""
import pathlib
import subprocess
import sys
import tempfile

LICENCE = "/* SPDX-License-Identifier: MIT */\n"


def write(path, text, licence=True):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text((LICENCE if licence else "") + text, encoding="utf-8")


def make(root, law):
    """A tree that keeps the law: a header and a source per room, which include everything that they may, and a public header."""
    for room in law.LAW:
        folder = root / "cli" if room == "cli" else root / "src" / room
        includes = "".join(f'#include "{other}/{other}.h"\n' for other in sorted(set(law.LAW[room]) & set(law.LAW)))
        write(folder / f"{room}.h", f"typedef struct gs_{room} {{ int size; }} gs_{room};\nint gs_{room}_call(void);\n")
        write(folder / f"{room}.c", f'#include "{room}/{room}.h"\n{includes}\nint gs_{room}_call(void)\n{{\n    return 0;\n}}\n')
    write(root / "src/verdict/verdicts.def", 'GS_VERDICT(PASS, "pass", "passed")\nGS_VERDICT(HANG, "hang", "did not finish")\n')
    write(root / "include/gemmsmith/status.h", "typedef enum gs_status { GS_OK } gs_status;\n")
    write(root / "examples/c/one.c", '#include <gemmsmith/status.h>\n')
    write(root / "CMakeLists.txt", f"set(GS_LIBRARY_LAYERS {' '.join(law.SHIPPED)})\n", licence=False)


def breaks(law):
    """(what is broken, {file: text}, what a line of the report must have): each text is another file of the tree, or one instead of it."""
    shipped = law.SHIPPED[-1]
    source = "int gs_{0}_{1}(void)\n{{\n    return gs_{2}();\n}}\n"
    yield "a room below uses one above", {"src/base/up.c": '#include "verify/verify.h"\n'}, "src/base/up.c:2: base may not include verify/verify.h"
    yield "a room uses a file of the command line", {"src/worker/up.c": '#include "cli.h"\n'}, "src/worker/up.c:2: worker may not include cli.h"
    yield "what ships uses a tool", {f"src/{shipped}/up.c": '#include "store/store.h"\n'}, f"src/{shipped}/up.c:2: {shipped} may not include store/store.h"
    yield "a library in a room that may not use it", {"src/tune/sql.c": "#include <sqlite3.h>\n"}, "src/tune/sql.c:2: tune may not use sqlite3.h"
    yield "an example with private headers", {"examples/c/one.c": '#include "plan/plan.h"\n'}, "examples/c/one.c:2: examples use the public headers only"
    yield "a room without a row", {"src/attic/attic.c": ""}, "src/attic: a room without a row"
    yield "a row without a room", {"src/redact/redact.c": None, "src/redact/redact.h": None}, "redact has a row in the law, but no folder"
    yield "tests that are no room's", {"tests/unit/a.c": ""}, "tests/unit: tests stand in a folder named after their room"
    half = {f"src/tune/part{i}.c": "\n" * 600 for i in range(law.ROOM_LINES // 600 + 1)}
    yield "a room that is too large", half, "src/tune: "
    commands = {f"cli/command{i}.c": "\n" * 600 for i in range(law.CLI_LINES // 600 + 1)}
    yield "a command line that is too large", commands, f"lines, at most about {law.CLI_LINES}: what computes belongs into a room of src"
    yield "a command that uses a room of the inside", {"cli/up.c": '#include "ptx/ptx.h"\n'}, "cli/up.c:2: cli may not include ptx/ptx.h"
    yield "a command with a library of a room", {"cli/sql.c": "#include <sqlite3.h>\n"}, "cli/sql.c:2: cli may not use sqlite3.h"
    yield "the engine of eval uses the command line", {"src/compare/up.c": '#include "cli.h"\n'}, "src/compare/up.c:2: compare may not include cli.h"
    yield "the search uses the engine of eval", {"src/tune/up.c": '#include "compare/compare.h"\n'}, "src/tune/up.c:2: tune may not include compare/compare.h"
    yield "a file that is too long", {"src/tune/long.c": "\n" * law.FILE_LINES}, f"src/tune/long.c: {law.FILE_LINES + 1} lines, at most {law.FILE_LINES}"
    yield "a file without a licence", {"src/tune/free.c": None, "src/tune/tune.c": "\n"}, "src/tune/tune.c:1: must open with the licence line"
    yield "the library ends the process", {f"src/{shipped}/die.c": "int gs_die(void)\n{\n    abort();\n}\n"}, f"src/{shipped}/die.c:4: the library may not call abort()"
    yield "the library built of other rooms", {"CMakeLists.txt": "set(GS_LIBRARY_LAYERS base store)\n"}, "CMakeLists.txt: store: GS_LIBRARY_LAYERS and SHIPPED"
    yield "headers in a circle", {"src/tune/a.h": '#include "tune/b.h"\n', "src/tune/b.h": '#include "a.h"\n'}, "files that include each other: src/tune/a.h, src/tune/b.h"
    yield ("sources in a circle", {"src/tune/a.c": source.format("a", "to", "b_to"), "src/tune/b.c": source.format("b", "to", "a_to")},
           "files that call each other: src/tune/a.c, src/tune/b.c (src/tune/a.c:4 gs_b_to; src/tune/b.c:4 gs_a_to)")
    yield ("sources in a circle over a variable",
           {"src/tune/a.c": "const int gs_values[] = {1};\n" + source.format("a", "to", "b_to"), "src/tune/b.c": "int gs_b_to(void)\n{\n    return gs_values[0];\n}\n"},
           "files that call each other: src/tune/a.c, src/tune/b.c")
    yield "a type with two definitions", {"src/store/run.h": "typedef struct gs_run { int a; } gs_run;\n", "src/tune/run.c": "struct gs_run {\n    int b;\n};\n"}, "gs_run is defined more than once: src/store/run.h:2, src/tune/run.c:2"
    yield "an enumeration with two definitions", {"src/store/mode.h": "enum mode { A };\n", "src/tune/mode.h": "typedef enum mode { B } mode;\n"}, "mode is defined more than once"
    decide = "#include <string.h>\nint gs_decide(const struct gs_tune *t)\n{{\n    return {0};\n}}\n"
    for what, text in (("a verdict's name", 'strcmp(t->verdict, "pass")'), ("a name of a verdict", 'strcmp(verdict, "hang")'), ("a name of a stage", 'strcmp(t->stage, "race")'),
                       ("prose", 'strstr(t->reason, "signal")'), ("prose", 'strncmp(line, "killed by signal", 16)')):
        yield f"a decision: {text}", {"src/tune/decide.c": decide.format(text)}, f"src/tune/decide.c:5: decides by {what}: {text.split(', 16')[0].rstrip(')')})"
    yield "a part that includes a later one", {"src/emu/check/a.c": '#include "emu/run/b.h"\n', "src/emu/run/b.h": "\n"}, "src/emu/check/a.c:2: emu/check may not include emu/run/b.h"
    yield "a part without a place", {"src/emu/attic/a.c": ""}, "attic is no part of emu"
    yield "a request that the worker does not write", {"src/tune/ask.c": 'const char *gs_ask(void)\n{\n    return "{\\"op\\":\\"bench\\"}";\n}\n'}, "src/tune/ask.c:4: only src/worker writes requests"
    yield "a request by its writer", {"cli/ask.c": 'void cli_ask(void)\n{\n    gs_json_string(json, "op", "bench");\n}\n'}, "cli/ask.c:4: only src/worker writes requests"


def allowed(law):
    """(what looks like a breach and is none, {file: text})"""
    yield "a command line that is larger than a room", {f"cli/command{i}.c": "\n" * 600 for i in range(law.ROOM_LINES // 600 + 1)}
    yield ("a table of what rows define, who call its file", {
        "src/tune/table.c": "extern int gs_row_call(void);\ntypedef int row(void);\nrow *const gs_rows[] = {gs_row_call};\nint gs_rows_count(void)\n{\n    return 1;\n}\n",
        "src/tune/row.c": "int gs_row_call(void)\n{\n    return gs_rows_count();\n}\n"})
    yield "private types of one name", {"src/tune/a.c": "struct entry { int a; };\n", "src/store/b.c": "struct entry { int b; };\n"}
    yield "a type that is declared again", {"src/tune/a.h": "typedef struct gs_tune gs_tune;\n"}
    yield "comments and texts", {"src/base/a.c": '/* abort() and "op" and strcmp(v->verdict, "pass") */\nstatic const char text[] = "abort() gs_tune_call()";\n'}
    yield "a word that is no verdict", {"src/tune/a.c": 'int gs_a(const char *word)\n{\n    return strcmp(word, "hang");\n}\n'}


def main():
    source = pathlib.Path(sys.argv[1]).resolve()
    sys.path.insert(0, str(source / "scripts"))
    sys.dont_write_bytecode = True
    import check_law as law

    def found(changes, known=()):
        with tempfile.TemporaryDirectory() as folder:
            root = pathlib.Path(folder)
            make(root, law)
            for name, text in changes.items():
                if text is None:
                    (root / name).unlink(missing_ok=True)
                else:
                    write(root / name, text, licence=not (name == "CMakeLists.txt" or text == "\n"))
            for path in sorted(root.glob("src/*")):
                if not any(path.iterdir()):
                    path.rmdir()
            return [f"{fault.place}: {fault.text}" for fault in law.faults(root, set(known))[1]
                    if not fault.text.startswith("rooms in a circle")]   # of the law itself: below

    failed = []

    def expect(what, holds, told):
        if not holds:
            failed.append(what)
            print(f"not ok {what}: " + ("\n    ".join(told) if told else "nothing found"))

    clean = found({})
    expect("the small tree keeps the law", clean == [], clean)
    count = 0
    for what, changes, line in breaks(law):
        count += 1
        told = found(changes)
        expect(what, any(line in one for one in told), told)
    for what, changes in allowed(law):
        count += 1
        told = found(changes)
        expect(what, told == [], told)
    expect("an entry of KNOWN that is no fault", any("KNOWN has 'type gs_gone'" in one for one in found({}, {"type gs_gone"})), [])
    expect("an entry of KNOWN that is a fault", found({"src/attic/attic.c": ""}, {"room attic"}) == [], [])
    rows = dict(law.LAW)
    law.LAW.update({"base": set(rows["base"]) | {"problem"}})
    with tempfile.TemporaryDirectory() as folder:
        told = [fault.text for fault in law.check_rooms(law.Tree(pathlib.Path(folder)))]
    expect("rooms in a circle", any(text.startswith("rooms in a circle") and "base" in text and "problem" in text for text in told), told)
    law.LAW.update({"base": rows["base"], law.SHIPPED[0]: set(rows[law.SHIPPED[0]]) | {"store"}})
    with tempfile.TemporaryDirectory() as folder:
        told = [fault.text for fault in law.check_shipped(law.Tree(pathlib.Path(folder)))]
    expect("a row that lets what ships include a tool", any("ships and may include store" in text for text in told), told)
    law.LAW.update(rows)

    script = [sys.executable, str(source / "scripts/check_law.py")]
    real = subprocess.run(script, capture_output=True, text=True)
    expect("the real tree passes", real.returncode == 0, real.stdout.splitlines())
    with tempfile.TemporaryDirectory() as folder:
        broken = subprocess.run([*script, "--root", folder], capture_output=True, text=True)
    expect("an empty tree fails", broken.returncode == 1 and ", 0 known" not in broken.stdout.splitlines()[0], broken.stdout.splitlines())
    print(f"{count} trees, {len(failed)} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())

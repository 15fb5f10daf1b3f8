#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""scripts/check_docs.py: each kind of fault in a page is found, with its line, and what looks like one is not.
Usage: docs.py SOURCE_DIR"""
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

SCRIPT = Path(sys.argv.pop(1)).resolve() / "scripts/check_docs.py"
LONG = "many words " * 10   # 110 columns


class Docs(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        for path in ("docs", "src/room"):
            (self.folder / path).mkdir(parents=True)
        (self.folder / "src/room/there.h").write_text("", encoding="utf-8")
        (self.folder / "docs/other.md").write_text("# Other\n\n## A heading, `code` and more\n", encoding="utf-8")

    def faults(self, text):
        (self.folder / "docs/page.md").write_text(text, encoding="utf-8")
        done = subprocess.run([sys.executable, SCRIPT, self.folder], capture_output=True, text=True, check=False)
        lines = done.stdout.splitlines()
        self.assertEqual(lines[-1], f"2 pages, {len(lines) - 1} faults", done.stderr)
        self.assertEqual(done.returncode, 1 if len(lines) > 1 else 0)
        return lines[:-1]

    def one(self, text, fault):
        self.assertEqual(self.faults(f"# Page\n\n{text}\n"), [f"docs/page.md:3: {fault}"])

    def none(self, text):
        self.assertEqual(self.faults(f"# Page\n\n{text}\n"), [])

    def test_width(self):
        self.one(LONG.strip(), "109 columns, at most 100")
        self.one("- " + LONG.strip(), "111 columns, at most 100")
        self.none("word " * 20)   # 100 columns
        self.none("| " + LONG + " |")
        self.none("## " + LONG)
        self.one("    " + LONG.strip(), "113 columns of code, at most 100")
        self.none("    " + "x" * 110)
        self.assertEqual(self.faults("# Page\n\n```\n" + LONG.strip() + "\n```\n"), ["docs/page.md:4: 109 columns of code, at most 100"])
        self.none("- [" + "x" * 110 + "](other.md)")

    def test_links(self):
        self.one("[a page](missing.md)", "the link leads nowhere: missing.md")
        self.one("[a page](other.md#none)", "the page has no such heading: other.md#none")
        self.one("[here](#none)", "the page has no such heading: #none")
        self.none("[a page](other.md#a-heading-code-and-more), [here](#page), [there](../src/room)")
        self.none("[far](https://example.org)")
        self.none("`[code](missing.md)`")

    def test_files(self):
        self.one("`src/room/missing.h`", "there is no src/room/missing.h")
        self.one("    src/room/missing.h   what it owns", "there is no src/room/missing.h")
        self.one("`missing.h`", "no file is called missing.h")
        self.none("`src/room/there.h`, `there.h`, `src/room/*.h`, `build/src/room/missing.h`, `src/room/x.c`")

    def test_machine(self):
        self.one("It is in /home/me/gemmsmith.", "names a path of one machine")
        self.one("    cd /home/me/gemmsmith", "names a path of one machine")
        self.none("`~/.local/share`, `$HOME/work/x`")


if __name__ == "__main__":
    unittest.main()

#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""check_docs.py [FOLDER]: checks the Markdown pages. Lines end at 100 columns, in code too (tables, headings and lines that cannot be
broken apart), relative links and their anchors lead somewhere, files that are named exist, and no path of one machine is named."""
import pathlib
import re
import subprocess
import sys

WIDTH = 100
ROOMS = r"(?:src|cli|include|docs|tests|scripts|tools|kernels|profiles|share|python|examples|cmake|tuned|\.ci)"
ENDING = r"\.(?:c|h|def|py|sh|cu|cuh|md|map|json|yaml|txt|js|css|jinja2?|cmake)"
PATH = re.compile(rf"(?<![\w/.$<>*-])({ROOMS}/[\w./*\[\]-]*{ENDING})(?![\w/<])")
NAME = re.compile(r"`([a-z_0-9*]+\.(?:c|h|def|cuh))`")
LINK = re.compile(r"\]\(([^)\s]+)\)")
MACHINE = re.compile(r"(?<![\w./~$}-])/(?:home|root|work|tmp)/")
PRINTED = re.compile(r"^(?:share|build)/|^docs/performance/(?:\w+/report\w*|written/\d.*)\.md$")   # prompts; what a script printed or a model answered
# stands for a file of any family or device, for one that the reader writes, or for another library's
EXAMPLE = re.compile(r"(?:^|[/-])(?:x(?:_\w+)?|program|sqlite3|jansson|seccomp|microhttpd|xxhash)\.\w+$")


def anchor(heading):
    text = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading).strip().lower()
    return re.sub(r"[^\w\- ]", "", text).replace(" ", "-")


def anchors(path, known={}):
    if path not in known:
        plain = re.sub(r"^```.*?^```", "", path.read_text(encoding="utf-8"), flags=re.S | re.M)
        known[path] = {anchor(found) for found in re.findall(r"^#+ +(.*)$", plain, re.M)}
    return known[path]


def breakable(line):
    """Whether a long line has a blank at which it could be broken: behind the marks of a list, outside of code spans and links."""
    line = re.sub(r"^\s*(?:[-*+]|\d+\.)?\s*", "", line)
    line = re.sub(r"`[^`]*`|\]\([^)]*\)", lambda found: "x" * len(found.group()), line)
    return " " in line.strip()


def check(root, path, files):
    fenced, behind_blank, in_code, faults = False, True, False, []
    names = {pathlib.PurePath(file).name for file in files}

    def fault(number, text):
        faults.append(f"{path.relative_to(root)}:{number}: {text}")

    for number, line in enumerate(path.read_text(encoding="utf-8").split("\n"), 1):
        if line.lstrip().startswith("```"):
            fenced = not fenced
            continue
        indented = line.startswith("    ")
        in_code = indented and (in_code or behind_blank) if line.strip() else in_code
        behind_blank = not line.strip()
        code = fenced or in_code
        if MACHINE.search(line):
            fault(number, "names a path of one machine")
        if code and len(line) > WIDTH and " " in line.strip() and not line.lstrip().startswith("|"):
            fault(number, f"{len(line)} columns of code, at most {WIDTH}")
        if fenced:
            continue
        for target in PATH.findall(line):
            if not EXAMPLE.search(target) and not any(root.glob(target)):
                fault(number, f"there is no {target}")
        if code:
            continue
        if len(line) > WIDTH and not line.startswith(("|", "#")) and breakable(line):
            fault(number, f"{len(line)} columns, at most {WIDTH}")
        for name in NAME.findall(line):
            if name not in names and not EXAMPLE.search(name) and not any(pathlib.PurePath(have).match(name) for have in names):
                fault(number, f"no file is called {name}")
        for target in LINK.findall(re.sub(r"`[^`]*`", "", line)):
            if re.match(r"[a-z]+:", target):
                continue
            file, _, place = target.partition("#")
            to = path.parent / file if file else path
            if not to.exists():
                fault(number, f"the link leads nowhere: {target}")
            elif place and to.suffix == ".md" and place not in anchors(to):
                fault(number, f"the page has no such heading: {target}")
    return faults


def main():
    root = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else pathlib.Path(__file__).resolve().parent.parent)
    listed = subprocess.run(["git", "-C", str(root), "ls-files", "-co", "--exclude-standard"], capture_output=True, text=True, check=False)
    files = listed.stdout.split("\n") if listed.returncode == 0 else [str(path.relative_to(root)) for path in root.rglob("*")]
    pages = [root / file for file in files if file.endswith(".md") and not PRINTED.search(file) and (root / file).is_file()]
    faults = [fault for page in sorted(pages) for fault in check(root, page, files)]
    print("\n".join([*faults, f"{len(pages)} pages, {len(faults)} faults"]))
    return 1 if faults or not pages else 0


if __name__ == "__main__":
    sys.exit(main())

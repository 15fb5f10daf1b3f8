#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Writes a man page per public call (from include/gemmsmith) and per subcommand (from `gemmsmith help`).

    make_man.py HEADERS OUT [PROGRAM]      pages in OUT/man3 and, with the program, in OUT/man1
"""
import pathlib
import re
import subprocess
import sys

CALL = re.compile(r"^(?:GS_API|static inline)\s+(?P<head>[^;{]*?\b(?P<name>gs_\w+)\([^;{]*?\))\s*(?P<end>[;{]|\n\{)(?P<rest>[^\n]*)", re.M | re.S)
COMMENT = re.compile(r"/\*(.*?)\*/", re.S)


def roff(text):
    """Plain text as lines that troff does not read as requests."""
    text = text.replace("\\", "\\e").replace("-", "\\-")
    return "\n".join("\\&" + line if line[:1] in (".", "'") else line for line in text.split("\n"))


def prose(comment):
    lines = [re.sub(r"^\s*\*? ?", "", line).rstrip() for line in comment.strip().split("\n")]
    return "\n".join(lines).strip()


def version(headers):
    return re.search(r'GS_VERSION_TEXT\s+"([^"]+)"', (headers / "gemmsmith.h").read_text()).group(1)


def comment_before(text, at):
    """The comment that ends right before the declaration; declarations under one comment share it."""
    above = text[:at].rstrip()
    while not above.endswith("*/"):
        last = [m for m in CALL.finditer(above)]
        if not last or above[last[-1].end():].strip():
            return ""
        above = above[:last[-1].start()].rstrip()
    return prose(above[above.rindex("/*") + 2:-2])


def calls(headers):
    """name: (declaration, description, header)"""
    found = {}
    for path in sorted(headers.glob("*.h")):
        text = path.read_text()
        for match in CALL.finditer(text):
            beside = COMMENT.search(match.group("rest"))
            description = prose(beside.group(1)) if beside else comment_before(text, match.start())
            found[match.group("name")] = (re.sub(r"\s+", " ", match.group("head")) + ";", description, path.name)
    return found


def flowing(text):
    """Paragraphs as wide as the terminal; those with indented lines stay as they are."""
    parts = re.split(r"\n\s*\n", text)
    return "\n.PP\n".join(f".nf\n{roff(part)}\n.fi" if re.search(r"^ ", part, re.M) else roff(part) for part in parts)


def page(name, section, release, title, parts):
    out = [f'.TH "{name.upper()}" "{section}" "" "gemmsmith {release}" "gemmsmith"', ".nh", ".ad l", ".SH NAME", roff(f"{name} - {title}")]
    for head, text, literal in parts:
        out.append(f".SH {head}")
        out += [".nf", roff(text), ".fi"] if literal else [flowing(text)]
    return "\n".join(out) + "\n"


def write_calls(headers, folder):
    folder.mkdir(parents=True, exist_ok=True)
    release, found = version(headers), calls(headers)
    undescribed = [name for name, (_, description, _) in found.items() if not description]
    if undescribed:
        sys.exit(f"make_man: no comment above: {' '.join(sorted(undescribed))}")
    for name, (declaration, description, header) in found.items():
        title = re.split(r"(?<=[.;:])\s", description.replace("\n", " "))[0].rstrip(".;:")
        parts = [("SYNOPSIS", f"#include <gemmsmith/gemmsmith.h>\n\n{declaration}", True), ("DESCRIPTION", description, None),
                 ("SEE ALSO", f"The header gemmsmith/{header}, which describes the types, and gemmsmith/status.h, which has the codes.", False)]
        (folder / f"{name}.3").write_text(page(name, 3, release, title, parts))


def ask(program, *words):
    return subprocess.run([program, *words], check=True, capture_output=True, text=True).stdout


def write_commands(headers, program, folder):
    folder.mkdir(parents=True, exist_ok=True)
    release, overview = version(headers), ask(program, "help")
    commands = re.findall(r"^  ([a-z]+)  +(.+)$", overview.split("commands:")[1].split("\n\n")[0], re.M)
    (folder / "gemmsmith.1").write_text(page("gemmsmith", 1, release, overview.split("\n")[0].split(": ", 1)[1], [("DESCRIPTION", overview, True), ("SEE ALSO", ", ".join(f"gemmsmith-{command}(1)" for command, _ in commands), False)]))
    for command, title in commands:
        text = ask(program, "help", command) if command != "help" else "gemmsmith help lists the commands, gemmsmith help COMMAND explains one.\n"
        (folder / f"gemmsmith-{command}.1").write_text(page(f"gemmsmith-{command}", 1, release, title, [("DESCRIPTION", text, True), ("SEE ALSO", "gemmsmith(1)", False)]))


def main():
    if len(sys.argv) not in (3, 4):
        sys.exit(__doc__)
    headers, out = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2])
    write_calls(headers, out / "man3")
    if len(sys.argv) == 4:
        write_commands(headers, sys.argv[3], out / "man1")


if __name__ == "__main__":
    main()

#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What CHANGELOG.md says of releases.

    changelog.py VERSION                 the entry of a version; exit 1: there is none
    changelog.py --date VERSION          its day
    changelog.py --debian MAINTAINER     all entries as a Debian changelog
"""
import datetime
import pathlib
import re
import sys
import textwrap

PAGE = pathlib.Path(__file__).resolve().parent.parent / "CHANGELOG.md"
HEAD = re.compile(r"^## \[(?P<version>[^\]]+)\](?: - (?P<date>\d{4}-\d\d-\d\d))?$", re.M)


def entries(text):
    """(version, date, entry) of each release, the newest first; what is not released has no date."""
    heads = list(HEAD.finditer(text))
    ends = [head.start() for head in heads[1:]] + [len(text)]
    return [(head["version"], head["date"], text[head.end():end].strip()) for head, end in zip(heads, ends)]


def items(entry):
    return [re.sub(r"\s+", " ", item).strip() for item in re.findall(r"^- (.*(?:\n  .*)*)", entry, re.M)]


def debian(released, maintainer):
    parts = []
    for version, date, entry in released:
        lines = [textwrap.fill(item, 78, initial_indent="  * ", subsequent_indent="    ", break_long_words=False, break_on_hyphens=False)
                 for item in items(entry)]
        day = datetime.datetime.strptime(date, "%Y-%m-%d").strftime("%a, %d %b %Y 00:00:00 +0000")
        parts.append(f"gemmsmith ({version}) unstable; urgency=medium\n\n" + "\n".join(lines) + f"\n\n -- {maintainer}  {day}\n")
    return "\n".join(parts)


def main(words):
    if len(words) not in (1, 2) or (len(words) == 2 and words[0] not in ("--date", "--debian")):
        sys.exit(__doc__)
    released = [entry for entry in entries(PAGE.read_text(encoding="utf-8")) if entry[1]]
    if words[0] == "--debian":
        print(debian(released, words[1]), end="")
        return
    found = [entry for entry in released if entry[0] == words[-1]]
    if not found or not found[0][2]:
        sys.exit(f"CHANGELOG.md has no entry of {words[-1]} with its day")
    print(found[0][1] if words[0] == "--date" else found[0][2])


if __name__ == "__main__":
    main(sys.argv[1:])

#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Writes completions for bash, zsh and fish, of what `gemmsmith help` says: commands, their words, options, and the values of those that have a list.

    make_completion.py PROGRAM OUT      OUT/gemmsmith for bash, OUT/_gemmsmith for zsh, OUT/gemmsmith.fish
"""
import pathlib
import re
import subprocess
import sys

OPTION = re.compile(r"^ +(?:(-\w), )?(--[a-z0-9-]+)(?: (\S+))?(?:  |$)", re.M)
FILES = {"FILE", "DIR", "STORE"}


def ask(program, *words):
    return subprocess.run([program, *words], stdout=subprocess.PIPE, text=True, check=True).stdout


def words_of(text):
    """`list | show PROBLEM | ...` of the usage line: the words that stand for themselves."""
    usage = re.search(r"^usage: gemmsmith \w+ (?:\[options\] )?(.*)$", text, re.M)
    parts = usage.group(1).split(" | ") if usage else []
    first = [part.split()[0] for part in parts if part.split()]
    return first if len(first) > 1 and all(re.fullmatch(r"[a-z]+", word) for word in first) else []


def cases(program):
    """(command, its words, its options, {option: values, None: files})"""
    overview = ask(program, "help")
    names = re.findall(r"^  ([a-z]+)  ", re.search(r"^commands:\n(.*?)\n\n", overview, re.M | re.S).group(1), re.M)
    for name in names:
        text = ask(program, "help", name) if name != "help" else ""
        options, values = ["--help"], {}
        for letter, option, value in OPTION.findall(text):
            options.append(option)
            for spelled in (letter, option):
                if spelled and value:
                    values[spelled] = re.split(r"[|,]", value) if re.fullmatch(r"[a-z0-9]+(?:[|,][a-z0-9_]+)+", value) else None if value in FILES else []
        yield name, names if name == "help" else words_of(text), sorted(set(options)), values


def fish(listed):
    begins, lines = "complete -c gemmsmith -n ", ["# fish completion for gemmsmith, made of what `gemmsmith help` says"]
    lines.append(f"{begins}__fish_use_subcommand -f -a '{' '.join(name for name, *_ in listed)}'")
    lines.append(f"{begins}__fish_use_subcommand -l version -l help")
    for name, words, options, values in listed:
        command = f"{begins}'__fish_seen_subcommand_from {name}'"
        if words:
            lines.append(f"{command} -a '{' '.join(words)}'")
        for option in options:
            allowed = values.get(option, False)   # False: it takes no value; None: a file; []: anything
            takes = "" if allowed is False else " -r -F" if allowed is None else f" -x -a '{' '.join(allowed)}'" if allowed else " -x"
            lines.append(f"{command} -l {option[2:]}{takes}")
    return lines


def write(program, out):
    lines = ["# bash completion for gemmsmith, made of what `gemmsmith help` says", "_gemmsmith()", "{",
             "    local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]} command=${COMP_WORDS[1]} words='' values=''", "    COMPREPLY=()"]
    listed = list(cases(program))
    names = " ".join(name for name, *_ in listed)
    lines += ["    if [ \"$COMP_CWORD\" -eq 1 ]; then", f"        COMPREPLY=($(compgen -W '{names} --help --version' -- \"$cur\"))", "        return", "    fi",
              "    case $command:$prev in"]
    for name, _, _, values in listed:
        for option, allowed in values.items():
            if allowed:
                lines.append(f"    {name}:{option}) values='{' '.join(allowed)}' ;;")
        files = [f"{name}:{option}" for option, allowed in values.items() if allowed is None]
        free = [f"{name}:{option}" for option, allowed in values.items() if allowed == []]
        if files:
            lines.append(f"    {'|'.join(files)}) COMPREPLY=($(compgen -f -- \"$cur\")); return ;;")
        if free:
            lines.append(f"    {'|'.join(free)}) return ;;")
    lines += ["    esac", "    if [ -n \"$values\" ]; then", "        COMPREPLY=($(compgen -W \"$values\" -- \"$cur\"))", "        return", "    fi", "    case $command in"]
    for name, words, options, _ in listed:
        if name == "help":
            lines.append(f"    help) COMPREPLY=($(compgen -W '{' '.join(words + options)}' -- \"$cur\")); return ;;")   # no files
            continue
        lines.append(f"    {name}) words='{' '.join(words)}' values='{' '.join(options)}' ;;")
    lines += ["    esac", "    case $cur in", "    -*) COMPREPLY=($(compgen -W \"$values\" -- \"$cur\")) ;;",
              "    *) COMPREPLY=($(compgen -W \"$words\" -- \"$cur\") $(compgen -f -- \"$cur\")) ;;", "    esac", "}", "complete -o filenames -F _gemmsmith gemmsmith"]
    out.mkdir(parents=True, exist_ok=True)
    (out / "gemmsmith.fish").write_text("\n".join(fish(listed)) + "\n")
    bash = "\n".join(lines) + "\n"
    (out / "gemmsmith").write_text(bash)
    (out / "_gemmsmith").write_text("#compdef gemmsmith\nautoload -U +X bashcompinit && bashcompinit\n" + bash)


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    write(sys.argv[1], pathlib.Path(sys.argv[2]))

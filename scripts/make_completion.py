#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Writes completions for bash, zsh and fish, of what `gemmsmith help` says: commands, their words, options, and the values of those that have a list.

    make_completion.py PROGRAM OUT      OUT/gemmsmith for bash, OUT/_gemmsmith for zsh, OUT/gemmsmith.fish
"""
import pathlib
import re
import subprocess
import sys

OPTION = re.compile(r"^ +(?:(-\w), )?(--[a-z0-9-]+)(?: (\S+))?(?:  +(.*)|)$((?:\n {28}.*)*)", re.M)
FILES = {"FILE", "DIR", "STORE"}


def ask(program, *words):
    return subprocess.run([program, *words], stdout=subprocess.PIPE, text=True, check=True).stdout


def words_of(text):
    """`list | show PROBLEM | ...` of the usage line: the words that stand for themselves."""
    usage = re.search(r"^usage: gemmsmith \w+ (?:\[options\] )?(.*)$", text, re.M)
    parts = usage.group(1).split(" | ") if usage else []
    first = [part.split()[0] for part in parts if part.split()]
    return first if len(first) > 1 and all(re.fullmatch(r"[a-z]+", word) for word in first) else []


def values_of(value, said):
    """Words and what stands between several of them ("": there is one); None: files; no words: anything. said: what help says of the option."""
    if re.fullmatch(r"[a-z0-9]+(?:[|,][a-z0-9_]+)+", value):
        return re.split(r"[|,]", value), "," if "," in value else ""
    if value in FILES:
        return None, ""
    devices = list(dict.fromkeys(re.findall(r"\b(?:cuda|emu):\w+", said))) if value == "NAME" else []
    usual = re.match(r"default ([a-z,-]+);", said) if value == "LIST" else None
    return (usual[1].split(",") + re.findall(r"(?<![@\w])([a-z]+): ", said), ",") if usual else (devices, "")


def cases(program):
    """(command, its words, its options, {option: values_of})"""
    overview = ask(program, "help")
    names = re.findall(r"^  ([a-z]+)  ", re.search(r"^commands:\n(.*?)\n\n", overview, re.M | re.S).group(1), re.M)
    for name in names:
        text = ask(program, "help", name) if name != "help" else ""
        options, values = ["--help"], {}
        for letter, option, value, first, rest in OPTION.findall(text):
            options.append(option)
            for spelled in (letter, option):
                if spelled and value:
                    values[spelled] = values_of(value, " ".join((first + rest).split()))
        yield name, names if name == "help" else words_of(text), sorted(set(options)), values


def fish(listed):
    begins, lines = "complete -c gemmsmith -n ", ["# fish completion for gemmsmith, made of what `gemmsmith help` says"]
    lines.append(f"{begins}__fish_use_subcommand -f -a '{' '.join(name for name, *_ in listed)}'")
    lines.append(f"{begins}__fish_use_subcommand -l version -l help")
    for name, words, options, values in listed:
        command = f"{begins}'__fish_seen_subcommand_from {name}'"
        if words:   # the first of them; files behind it
            lines.append(f"{command[:-1]}; and not __fish_seen_subcommand_from {' '.join(word for word in words if word != name)}' -f -a '{' '.join(words)}'")
        for option in options:
            allowed = values.get(option, (False, ""))[0]   # False: it takes no value; None: a file; []: anything
            takes = "" if allowed is False else " -r -F" if allowed is None else f" -x -a '{' '.join(allowed)}'" if allowed else " -x"
            lines.append(f"{command} -l {option[2:]}{takes}")
    return lines


# What bash cut at a colon ("emu:h200") is put together again; names of options may have _ for -.
BEGIN = r"""# bash completion for gemmsmith, made of what `gemmsmith help` says
_gemmsmith()
{
    local typed=() i cur prev command words='' values='' between='' seen='' before=''
    for ((i = 0; i <= COMP_CWORD; i++)); do
        if [ ${#typed[@]} -gt 1 ] && { [ "${COMP_WORDS[i]}" = : ] || [ "${COMP_WORDS[i - 1]}" = : ]; }; then
            typed[${#typed[@]} - 1]+=${COMP_WORDS[i]}
        else
            typed+=("${COMP_WORDS[i]}")
        fi
    done
    local at=$((${#typed[@]} - 1))
    cur=${typed[at]} prev=${typed[at - 1]} command=${typed[1]}
    case $cur in --*_*) cur=${cur//_/-} ;; esac
    case $prev in --*_*) prev=${prev//_/-} ;; esac
    COMPREPLY=()
"""
END = r"""
    esac
    case $cur in
    -*) COMPREPLY=($(compgen -W "$values" -- "$cur")) ;;
    *)  for ((i = 2; i < at; i++)); do case " $words " in *" ${typed[i]} "*) seen=1 ;; esac; done
        if [ -n "$words" ] && [ -z "$seen" ]; then COMPREPLY=($(compgen -W "$words" -- "$cur")); else COMPREPLY=($(compgen -f -- "$cur")); fi ;;
    esac
}
complete -o filenames -F _gemmsmith gemmsmith"""
VALUES = r"""
    esac
    if [ -n "$values" ]; then
        case $between$cur in ,*,*) before=${cur%,*}, ;; esac
        COMPREPLY=($(compgen -P "$before" -W "$values" -- "${cur#"$before"}"))
        if [[ $COMP_WORDBREAKS == *:* && $cur == *:* ]]; then COMPREPLY=("${COMPREPLY[@]#"${cur%:*}:"}"); fi
        return
    fi
    case $command in"""


def write(program, out):
    listed = list(cases(program))
    names = " ".join(name for name, *_ in listed)
    lines = [BEGIN.rstrip("\n"), "    if [ \"$at\" -eq 1 ]; then", f"        COMPREPLY=($(compgen -W '{names} --help --version' -- \"$cur\"))", "        return", "    fi",
             "    case $command:$prev in"]
    for name, _, _, values in listed:
        for option, (allowed, between) in values.items():
            if allowed:
                lines.append(f"    {name}:{option}) values='{' '.join(allowed)}' between='{between}' ;;")
        files = [f"{name}:{option}" for option, (allowed, _) in values.items() if allowed is None]
        free = [f"{name}:{option}" for option, (allowed, _) in values.items() if allowed == []]
        if files:
            lines.append(f"    {'|'.join(files)}) COMPREPLY=($(compgen -f -- \"$cur\")); return ;;")
        if free:
            lines.append(f"    {'|'.join(free)}) return ;;")
    lines.append(VALUES.strip("\n"))
    for name, words, options, _ in listed:
        if name == "help":
            lines.append(f"    help) COMPREPLY=($(compgen -W '{' '.join(words + options)}' -- \"$cur\")); return ;;")   # no files
            continue
        lines.append(f"    {name}) words='{' '.join(words)}' values='{' '.join(options)}' ;;")
    lines.append(END.strip("\n"))
    out.mkdir(parents=True, exist_ok=True)
    (out / "gemmsmith.fish").write_text("\n".join(fish(listed)) + "\n")
    bash = "\n".join(lines) + "\n"
    (out / "gemmsmith").write_text(bash)
    (out / "_gemmsmith").write_text("#compdef gemmsmith\nautoload -U +X bashcompinit && bashcompinit\n" + bash)


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    write(sys.argv[1], pathlib.Path(sys.argv[2]))

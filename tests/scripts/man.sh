#!/bin/sh
# SPDX-License-Identifier: MIT
# Every exported call and every subcommand has a man page that says something and that man can show. Usage: man.sh SOURCE PROGRAM
set -eu
out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT
python3 "$1/scripts/make_man.py" "$1/include/gemmsmith" "$out" "$2"
fail() { echo "$*"; exit 1; }
calls=$(sed -n 's/^ *\(gs_[a-z_]*\);$/\1/p' "$1/cmake/gemmsmith.map")
[ -n "$calls" ] || fail "no exported calls"
for call in $calls; do
    [ -s "$out/man3/$call.3" ] || fail "$call has no page"
done
commands=$("$2" help | sed -n '/^commands:/,/^$/s/^  \([a-z]*\)  .*/\1/p')
[ -n "$commands" ] || fail "no commands"
for command in $commands; do
    [ -s "$out/man1/gemmsmith-$command.1" ] || fail "gemmsmith $command has no page"
done
for page in "$out"/man?/*; do
    grep -q '^\.SH DESCRIPTION' "$page" || fail "${page##*/} describes nothing"
    grep -q '[\]- $' "$page" && fail "${page##*/} has no title"
    if command -v mandoc >/dev/null; then mandoc -T lint -W error "$page" || fail "${page##*/} is no man page"
    elif command -v groff >/dev/null; then [ -z "$(groff -man -ww -z "$page" 2>&1)" ] || fail "${page##*/} is no man page"
    fi
done
# a description is as wide as the terminal
if command -v man >/dev/null; then
    widest=$(MANWIDTH=72 man "$out/man3/gs_plan_create.3" | sed -n '/^DESCRIPTION/,$p' | awk 'length > most { most = length } END { print most }')
    [ "$widest" -le 72 ] || fail "gs_plan_create.3 has lines of $widest columns"
fi
# a header without a comment is refused
mkdir "$out/h"
cp "$1/include/gemmsmith/gemmsmith.h" "$out/h"
echo 'GS_API int gs_silent(void);' >"$out/h/silent.h"
if python3 "$1/scripts/make_man.py" "$out/h" "$out/none" 2>/dev/null; then fail "a call without a comment got a page"; fi

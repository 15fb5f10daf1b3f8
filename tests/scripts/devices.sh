#!/bin/sh
# SPDX-License-Identifier: MIT
# tune --devices on two emulated devices: every problem is measured once; and whoever is killed, and whenever, nothing that was finished is
# lost or measured again, nobody is left behind, and the table in the end is that of a run that nobody disturbed.
# Usage: devices.sh SOURCE BUILD      GS_KILLS=N: so many kills of each kind of run (default 3; 100 were done)
set -u
source=$1 program=$2/gemmsmith
"$program" info | grep -q '^NVRTC *none' && { echo "no NVRTC"; exit 77; }
. "$source/tests/scripts/folder.sh"
kills=${GS_KILLS:-3}
problems="48_64_64 64_64_64 64_48_128 96_64_64 64_96_32 32_64_96"
count=6
layouts=tn

# tune RUN OPTIONS: over the store and the table of RUN; in the background with how=exec, so that $! is the program
how=
tune() {
    folder=$1
    shift
    $how "$program" tune $problems --layouts $layouts --families simple --seed 5 --json --quiet --store "$folder/store.db" --tuned "$folder/my.tuned" "$@"
}
rows() { grep '^f16:' "$1/my.tuned" | tr -s ' ' | sort; }   # columns are as wide as what stands in them
without_date() {   # the rows without the columns date and by, wherever they stand
    awk '/^# problem/ {for (i = 2; i <= NF; i++) if ($i == "date" || $i == "by") out[i - 1] = 1}
         /^f16:/ {line = ""; for (i = 1; i <= NF; i++) if (!(i in out)) line = line " " $i; print line}' "$1/my.tuned" | sort
}
measured() { grep -c '"resumed":false' "$1"; }
children_of() {   # living ones
    for stat in /proc/[0-9]*/stat; do
        sed 's/^\([0-9]*\) (.*) /\1 /' "$stat" 2> /dev/null
    done | awk -v parent="$1" '$3 == parent && $2 != "Z" {print $1}'
}
lives() { sed 's/^[0-9]* (.*) //' "/proc/$1/stat" 2> /dev/null | grep -q '^[^ZX]'; }
random() { od -An -N4 -tu4 /dev/urandom | awk -v limit="$1" '{print $1 % limit}'; }

# A store in which all is still to be measured, but every kernel has passed its verification, which takes most of the time here.
begin() {
    mkdir "$1"
    cp verified.db "$1/store.db"
}

# ---- undisturbed ----
mkdir plain
tune plain --device emu:h200 --quick > plain/said.txt || fail "one device"
expect "measured by one" $count "$(measured plain/said.txt)"
cp plain/store.db verified.db
python3 -c 'import sqlite3
store = sqlite3.connect("verified.db")
store.executescript("DELETE FROM winner; DELETE FROM result; DELETE FROM sample; DELETE FROM measurement; UPDATE trial SET us = 0, ratio = 0, rounds = 0")
store.commit()' || fail "python3 has no sqlite3"
"$program" db seal verified.db > /dev/null || fail "the changed store"
for kind in "" --quick; do
    both=both$kind
    begin "$both"
    tune "$both" --devices emu:h200,emu:h200 $kind > "$both/said.txt" || fail "two devices $kind"
    expect "measured by two $kind" $count "$(measured "$both/said.txt")"
    expect "each once $kind" $count "$(sed 's/.*"problem":"\([^"]*\)".*/\1/' "$both/said.txt" | sort -u | wc -l)"
    expect "rows of two $kind" $count "$(rows "$both" | wc -l)"
    expect "the same table $kind" "$(without_date plain)" "$(without_date "$both")"
    rows "$both" > before.txt
    tune "$both" --devices emu:h200,emu:h200 $kind > "$both/again.txt" || fail "again $kind"
    expect "measured again $kind" 0 "$(measured "$both/again.txt")"
    expect "the table again $kind" "$(cat before.txt)" "$(rows "$both")"
done

# ---- killed ----
# kill_one RUN KIND: starts, kills the parent or a child at some moment, goes on until the end
kill_one() {
    begin "$1"
    how=exec
    tune "$1" --devices emu:h200,emu:h200 $2 > "$1/said.txt" 2> "$1/errors.txt" &
    parent=$! how=
    moment=$((moments / 3 + $(random $((moments * 2 / 3 + 1)))))   # before that nobody has anything
    sleep "$((moment / 1000)).$(printf %03d $((moment % 1000)))"
    victim=$parent
    children=$(children_of "$parent")
    case $(random 3) in
    0) ;;
    1) for child in $children; do victim=$child; break; done ;;
    2) for child in $children; do victim=$child; done ;;
    esac
    reported=$(wc -l < "$1/said.txt")
    kill -KILL "$victim" 2> /dev/null
    who=parent
    if [ "$victim" != "$parent" ]; then
        who=child
        wait "$parent" || fail "$1: a child was killed, and the others did not go on"
    else
        wait "$parent" 2> /dev/null
    fi
    grep '"resumed":false' "$1/said.txt" | sed 's/.*"problem":"\([^"]*\)".*/\1/' > "$1/finished.txt"
    rows "$1" > "$1/left.txt" 2> /dev/null
    tune "$1" --devices emu:h200,emu:h200 $2 > "$1/rest.txt" 2>> "$1/errors.txt" || fail "$1: the rest: $(tail -n 1 "$1/errors.txt")"
    for child in $children; do   # those of a killed parent end by themselves
        turns=0
        while lives "$child" && [ $turns -lt 100 ]; do sleep 0.1; turns=$((turns + 1)); done
        [ $turns -lt 100 ] || fail "$1: $child goes on without its parent"
    done
    expect "$1, $who: rows" $count "$(rows "$1" | wc -l)"
    expect "$1, $who: the table" "$(without_date plain)" "$(without_date "$1")"
    expect "$1, $who: measured twice" "" "$(cat "$1/said.txt" "$1/rest.txt" | grep '"resumed":false' | sed 's/.*"problem":"\([^"]*\)".*/\1/' | sort | uniq -d)"
    while read -r problem; do   # with its date: nobody measured it anew
        row=$(grep "^$problem " "$1/left.txt")
        [ -n "$row" ] || fail "$1, $who: $problem was reported and is not in the table"
        expect "$1, $who: $problem" "$row" "$(rows "$1" | grep "^$problem ")"
    done < "$1/finished.txt"
    [ "$reported" -gt 0 ] && [ "$reported" -lt $count ] && midway=$((midway + 1))
    rm -rf "$1"
}
midway=0 done=0
begin timed
began=$(date +%s%N)
tune timed --devices emu:h200,emu:h200 > /dev/null || fail "timed"
moments=$((($(date +%s%N) - began) / 1000000))   # how long it takes with all kernels in the cache
while [ $done -lt "$kills" ] && [ $failed = 0 ]; do
    kill_one "killed.$done" ""
    kill_one "killed.quick.$done" --quick
    done=$((done + 1))
done

# ---- stopped ----
begin stopped
how=exec
tune stopped --devices emu:h200,emu:h200 > stopped/said.txt 2> stopped/errors.txt &
parent=$! how=
sleep 0.2
children=$(children_of $parent)
kill -TERM $parent
wait $parent
code=$?
for child in $children; do lives "$child" && fail "stopped: $child goes on"; done
[ $code = 143 ] || [ $code = 0 ] || fail "stopped: exit code $code"
tune stopped --devices emu:h200,emu:h200 > stopped/rest.txt || fail "after a stop"
expect "after a stop" "$(without_date plain)" "$(without_date stopped)"
[ $failed = 0 ] && echo "ok: $((2 * done)) killed, $midway of them midway, within $moments ms"
exit $failed

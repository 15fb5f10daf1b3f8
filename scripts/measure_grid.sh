#!/bin/sh
# SPDX-License-Identifier: MIT
# Measures a list of problems in pieces: searches a schedule for each, confirms what was found beside cublaslt-autotuning in a fresh process,
# and makes the tables. Everything that is known stands in OUT, and the same command goes on from there.
#
#     measure_grid.sh BUILD OUT LIST [options] [-- OPTIONS OF TUNE AND EVAL]
#
#     --seconds N      end after about so many seconds; exit code 75 says that there is more to do
#     --gpus N         so many GPUs, each with its share of the list and of the cores; default 1
#     --device NAME    another device than cuda:0 (one alone)
#     --layouts L      nn,tn (default) or one of them
#     --candidates N   schedules that are raced per problem and layout; default 16
#     --refine N       then so many more, near what was found for the same and for neighbouring problems (tune --policy refine); default 0
#     --own FILE       no search: schedules from FILE (eval --own)
#     --again          confirm anew, with rows in rows.again.*; nothing is searched
#     --call           call time too
#     --server         single requests at random gaps instead, in rows.server.*; nothing is searched
#     --layers FILE    layers of models, for the tables
#     --tune WORDS, --eval WORDS   options of one of the two programs
#
# OUT gets, per share I: store.I.db, tune.I.jsonl, found.I.tuned, rows.I.csv, log.I.txt; and of all: info.txt, found.tuned, report.md, best.csv.
# Exit codes: those of the program; 75: there is more to do.
set -u
usage() { sed -n '/^#     measure_grid/,/^# OUT/p' "$0" | sed 's/^# \{0,1\}//' >&2; exit 2; }
[ $# -ge 3 ] || usage
build=$1 out=$2 list=$3
shift 3
seconds=0 gpus=1 device= layouts=nn,tn candidates=16 refine=0 own= kind= call= layers= search=1 tune= eval=
while [ $# -gt 0 ]; do
    case $1 in
    --seconds) seconds=$2 ;;
    --gpus) gpus=$2 ;;
    --device) device=$2 ;;
    --layouts) layouts=$2 ;;
    --candidates) candidates=$2 ;;
    --refine) refine=$2 ;;
    --own) own=$2 search=0 ;;
    --layers) layers=$2 ;;
    --tune) tune=$2 ;;
    --eval) eval=$2 ;;
    --again) kind=.again search=0; shift; continue ;;
    --call) call="--call_time yes"; shift; continue ;;
    --server) kind=.server search=0; shift; continue ;;
    --) shift; break ;;
    *) echo "measure_grid.sh: no option $1" >&2; usage ;;
    esac
    [ $# -ge 2 ] || usage
    shift 2
done
# what is left are options of tune and eval
for number in "$seconds" "$gpus" "$candidates" "$refine"; do
    case $number in '' | *[!0-9]*) echo "measure_grid.sh: $number is no number" >&2; usage ;; esac
done
[ "$gpus" -ge 1 ] || usage
[ -r "$list" ] || { echo "measure_grid.sh: $list cannot be read" >&2; exit 2; }
[ ! -r build/deps/env ] || . build/deps/env
here=$(dirname "$0")
program=$build/gemmsmith
mkdir -p "$out"
began=$(date +%s)
MORE=75
left() { if [ "$seconds" -gt 0 ]; then echo $((began + seconds - $(date +%s))); else echo 1000000; fi; }

"$program" info 2>&1 | grep -Ev '^(store|cache|tuned) ' > "$out/info.txt"   # what it says of the machine; its paths are the user's
command -v nvidia-smi > /dev/null && nvidia-smi --query-gpu=name,driver_version,power.limit,clocks.max.sm,clocks.mem --format=csv >> "$out/info.txt"
jobs=$(($(nproc) / gpus - 1))
[ "$jobs" -ge 1 ] || jobs=1

# One share of the list on one device: a step of it. The budgets end it between two problems; a worker that hangs is ended by its own
# watchdog. Nobody begins a step before all shares have ended the one before: found schedules are exchanged, and compilers in the background
# would disturb eval.
step() {
    step=$1 share=$2 name=$3
    shift 3
    set -- --file "$list" --shard "$share/$gpus" --store "$out/store.$share.db" --device "$name" --layouts "$layouts" "$@"
    time=$(left)
    [ "$time" -ge 5 ] || return $MORE
    case $step in
    search) set -- "$@" $tune --candidates "$candidates" ;;
    refine) set -- "$@" $tune --candidates "$refine" --policy refine ;;
    eval)
        if [ "$kind" = .server ]; then set -- "$@" --mode server --rounds 50; else set -- "$@" --quick $call; fi
        if [ -z "$kind" ]; then set -- "$@" --record --tuned "$out/found.$share.tuned"; fi
        if [ "$kind" = .again ]; then set -- "$@" --seed 2; fi   # other data; results of the first seed are not taken for these
        if [ -n "$own" ]; then set -- "$@" --own "$own"; fi
        "$program" eval "$@" $eval --contenders own,cublaslt-autotuning --rows "$out/rows$kind.$share.csv" --budget "$time" --quiet \
            > /dev/null 2>> "$out/log.$share.txt"
        return
        ;;
    esac
    "$program" tune "$@" --quick --unconfirmed --jobs "$jobs" --budget "$time" --json --quiet >> "$out/tune.$share.jsonl" 2>> "$out/log.$share.txt"
}

# A step of all shares at once; 1: it goes on, some problems failed.
all_shares() {
    name=$1
    shift
    share=0
    while [ $share -lt "$gpus" ]; do
        (step "$name" $share "${device:-cuda:$share}" "$@"; echo $? > "$out/code.$share") &
        share=$((share + 1))
    done
    wait
    worst=0 share=0
    while [ $share -lt "$gpus" ]; do
        code=$(cat "$out/code.$share")
        rm -f "$out/code.$share"
        [ "$code" = 0 ] || echo "$name, share $share: exit code $code; $(tail -n 1 "$out/log.$share.txt")" >&2
        case $code in
        0) ;;
        75) [ $worst -gt 1 ] || worst=75 ;;
        1) [ $worst -ne 0 ] || worst=1 ;;
        *) worst=$code ;;
        esac
        share=$((share + 1))
    done
    [ $worst -le 1 ]
}

# Every share learns what the others found.
exchange() {
    share=0
    while [ $share -lt "$gpus" ]; do
        other=0
        while [ $other -lt "$gpus" ]; do
            [ $other = $share ] || "$program" db merge "$out/store.$other.db" --store "$out/store.$share.db" > /dev/null || return 1
            other=$((other + 1))
        done
        share=$((share + 1))
    done
}

on=1
if [ "$search" = 1 ]; then
    all_shares search "$@" || on=0
    if [ $on = 1 ] && [ "$refine" -gt 0 ] && [ ! -e "$out/refined" ]; then
        { [ "$gpus" = 1 ] || exchange; } && all_shares refine "$@" && : > "$out/refined" || on=0
    fi
fi
[ $on = 0 ] || all_shares eval "$@"

# One table of all shares: the first with the rows of the others.
if [ -z "$kind" ] && ls "$out"/found.[0-9]*.tuned > /dev/null 2>&1; then
    awk '/^# checksum / || (NR > FNR && (FNR == 1 || /^#/)) {next} {print}' "$out"/found.[0-9]*.tuned > "$out/found.tuned"
fi
if ls "$out"/rows$kind.[0-9]*.csv > /dev/null 2>&1; then
    python3 "$here/report_grid.py" "$out"/rows$kind.[0-9]*.csv --list "$list" ${layers:+--layers "$layers"} --csv "$out/best$kind.csv" > "$out/report$kind.md" ||
        echo "no tables yet" >&2
fi
[ $worst -ne 75 ] || echo "there is more to do: run the same command again" >&2
exit $worst

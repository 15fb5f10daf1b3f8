#!/bin/sh
# SPDX-License-Identifier: MIT
# One model for schedule mode, trained from nothing: a command for each stage, which goes on where it was stopped. From the root of the source tree:
#
#     run.sh data | imitate | reinforce | rounds | evaluate | ship ARM SEED | endpoint
#     run.sh edits-data | edits-imitate | edits-reinforce | edits-evaluate
#
# The second line: edit mode (edits.py), in OUT too. Its stages take WITHIN, of reinforcement, SEEDS, TRAIN, MEASURE and MORE (options of edits.py) alone.
# In the environment: OUT (trained.out), TEST (a list of problems; needed by data), TIMES (files of rows; those of docs/performance), BUILD (build/release), PYTHON (python3, with torch, transformers, TRL), SEEDS ("1 2 3"),
# ARMS (all; for evaluate also the starts of those with questions of their own, imitation-rl-no-examples and imitation-rl-no-metrics), TRAIN (0: the GPU that trains), MEASURE ("cuda:1,cuda:2,cuda:3": those that measure; where $GEMMSMITH_SERVE names a service, none is started),
# JUDGES ("0": the GPUs that time proposals, "0 1" for two), WITHIN (seconds of reinforcement in rounds: 360), VALID (1: models are asked again until all proposals are schedules of their problems),
# DRAWS (answers among which a proposal is the most probable: 32), UNTIL (when the last timing of an evaluation ends, in seconds as date +%s has them; what was timed by then is judged),
# STEPS (of imitation: 6000) and ROLLOUTS (steps of reinforcement: 120), SECONDS_EACH (of one training; then the same command again), ROUNDS (of evaluation: "1 4 8 16" proposals), LAST (rounds of its last timing: 25), MORE (options of imitate.py, reinforce.py and rounds.py)
set -eu
here=$(dirname "$0")
out=${OUT:-trained.out} build=${BUILD:-build/release} python=${PYTHON:-python3} seeds=${SEEDS:-1 2 3} steps=${STEPS:-6000} rollouts=${ROLLOUTS:-120}
rounds=${ROUNDS:-1 4 8 16}
arms=${ARMS:-imitation rl rl-no-examples rl-no-metrics rl-surrogate}
limit=${SECONDS_EACH:+--seconds $SECONDS_EACH}
export PYTHONPATH="$here/.." TOKENIZERS_PARALLELISM=true
export PYTORCH_CUDA_ALLOC_CONF=${PYTORCH_CUDA_ALLOC_CONF:-expandable_segments:True}   # questions differ in length: half the time of a step
serve=

start_of() { case $1 in rl-rounds-no-*) start_of "rl-${1#rl-rounds-}" "$2" ;; rl-no-*) echo "$out/imitation-$1.$2" ;; *) echo "$out/imitation.$2" ;; esac; }   # each arm begins from a model that has seen such questions

imitate() {   # ARM SEED
    [ ! -e "$2/done" ] || return 0
    CUDA_VISIBLE_DEVICES=${TRAIN-0} "$python" "$here/imitate.py" "$out/data" "$2" --arm "$1" --seed "$3" --steps "$steps" $limit ${MORE:-}
    if "$python" -c 'import sys, torch; sys.exit(torch.load(sys.argv[1], map_location="cpu")["step"] < int(sys.argv[2]))' "$2/state.pt" "$steps"; then touch "$2/done"; fi
}

service() {   # [STORE [OPTIONS]]: on the GPUs that measure, until it is stopped or this script ends
    [ -z "${GEMMSMITH_SERVE:-}" ] || return 0
    store=${1:-rewards.db}
    [ $# -eq 0 ] || shift
    "$build/gemmsmith" serve --devices "${MEASURE:-cuda:1,cuda:2,cuda:3}" --port 7811 --store "$out/$store" --connections 1024 --deadline 15m "$@" >"$out/serve.log" 2>&1 &
    serve=$!
    trap 'kill $serve 2>/dev/null; wait $serve || true' EXIT
    export GEMMSMITH_SERVE=http://127.0.0.1:7811
    until "$python" -c 'import urllib.request as u, sys; u.urlopen(sys.argv[1] + "/v1/health", timeout=5)' "$GEMMSMITH_SERVE" 2>/dev/null; do
        kill -0 $serve || { cat "$out/serve.log" >&2; exit 1; }
        sleep 1
    done
}

stop() {
    [ -n "$serve" ] || return 0
    kill "$serve" 2>/dev/null; wait "$serve" || true
    serve= GEMMSMITH_SERVE=
}

valid() {   # PAIRS: those that are schedules of their problems
    "$build/tools/predict_pairs" <"$1" | paste -d, "$1" - | grep -av ',0,0$' | cut -d, -f1,2 || true
}

together() {   # PAIRS...: each once, those of a problem together, problems in their order, so that a timing that must end has seen any of them
    awk -F, '!($0 in seen) { seen[$0]; if (!($1 in own)) order[++count] = $1; own[$1] = own[$1] $0 "\n" } END { for (i = 1; i <= count; i++) printf "%s", own[order[i]] }' "$@"
}

timed() {   # PAIRS ROUNDS: rows problem,schedule,us,...; $TIMER in place of time_pairs for tests without a GPU. Each GPU has some of the problems
    valid "$1" >"$1.valid"
    if [ -n "${TIMER:-}" ]; then $TIMER time "$1.valid" 0 "$2"; return; fi
    cores=$(nproc)
    for core in $(seq 0 $((cores - 1))); do "$build/tools/time_pairs" compile "$1.valid" "$core" "$cores" >&2 & done
    wait
    left=100000
    if [ -n "${UNTIL:-}" ]; then left=$((UNTIL - $(date +%s))); fi
    gpus=${JUDGES:-0} count=0 all=$(echo $gpus | wc -w) waiting=
    for gpu in $gpus; do
        awk -F, -v at="$count" -v all="$all" '!($1 in own) { own[$1] = n++ % all } own[$1] == at' "$1.valid" >"$1.$gpu"
        CUDA_VISIBLE_DEVICES=$gpu "$build/tools/time_pairs" time "$1.$gpu" "$left" "$2" >"$1.$gpu.times" &
        waiting="$waiting $!" count=$((count + 1))
    done
    for one in $waiting; do wait "$one"; done
    for gpu in $gpus; do cat "$1.$gpu.times"; done
}

case ${1:-} in
data)
    shift
    "$python" "$here/data.py" "$out/data" --program "$build/gemmsmith" --test "${TEST:?TEST: a list of problems}" \
        --times ${TIMES:-docs/performance/learned/times.csv.gz docs/performance/sizes/times.csv.gz} "$@"
    ;;
imitate)
    for seed in $seeds; do
        imitate imitation "$out/imitation.$seed" "$seed"
        for arm in $arms; do case $arm in rl-no-* | rl-rounds-no-*) imitate "$arm" "$(start_of "$arm" "$seed")" "$seed" ;; esac; done
    done
    ;;
reinforce)
    service
    for seed in $seeds; do
        for arm in $arms; do
            case $arm in imitation | rl-rounds*) continue ;; esac
            [ ! -e "$out/$arm.$seed/done" ] || continue
            CUDA_VISIBLE_DEVICES=${TRAIN-0} "$python" "$here/reinforce.py" "$out/data" "$(start_of "$arm" "$seed")" "$out/$arm.$seed" --arm "$arm" --seed "$seed" --steps "$rollouts" \
                --predict "$build/tools/predict_pairs tuned/nvidia-h200.weights" $limit ${MORE:-}
            if grep -q "\"global_step\": $rollouts," "$out/$arm.$seed/trainer_state.json"; then touch "$out/$arm.$seed/done"; fi
        done
    done
    ;;
rounds)   # one GPU trains and measures in turn. Of ARMS those that begin with rl-rounds; none: rl-rounds
    mine=$(for arm in $arms; do case $arm in rl-rounds*) echo "$arm" ;; esac; done)
    for seed in $seeds; do
        for arm in ${mine:-rl-rounds}; do
            [ ! -e "$out/$arm.$seed/done" ] || continue
            timer=${TIMER:-$build/tools/time_pairs}
            [ "$arm" != rl-rounds-surrogate ] || timer="env BUILD=$build sh $here/surrogate.sh"
            CUDA_VISIBLE_DEVICES=${TRAIN-0} "$python" "$here/rounds.py" "$out/data" "$(start_of "$arm" "$seed")" "$out/$arm.$seed" --arm "$arm" --seed "$seed" --seconds "${WITHIN:-360}" \
                --predict "$build/tools/predict_pairs" --timer "$timer" ${MORE:-}
            touch "$out/$arm.$seed/done"
        done
    done
    ;;
evaluate)
    mkdir -p "$out/proposals" "$out/times"
    for count in $rounds; do   # each round is told what the ones before have measured
        waiting=
        for seed in $seeds; do
            for arm in $arms; do   # at the same time; nothing is timed meanwhile
                CUDA_VISIBLE_DEVICES=${TRAIN-0} "$python" "$here/propose.py" "$out/data" "$out/$arm.$seed" "$out/proposals/$arm.$seed.csv" "$count" --arm "${arm#imitation-}" --seed "$seed" --times "$out/times/known.csv" \
                    --draws "${DRAWS:-32}" ${VALID:+--valid "$build/tools/predict_pairs"} &
                waiting="$waiting $!"
            done
        done
        for one in $waiting; do wait "$one"; done
        if [ "$count" != "${rounds##* }" ]; then   # those of all arms in the same rounds; the last ones are timed below
            together "$out"/proposals/*.csv >"$out/times/round.csv"
            timed "$out/times/round.csv" 7 >"$out/times/new.csv"
            mv "$out/times/new.csv" "$out/times/known.csv"
        fi
    done
    together "$out"/proposals/*.csv >"$out/all.csv"
    timed "$out/all.csv" "${LAST:-25}" >"$out/times.csv"
    "$python" "$here/judge.py" "$out/times.csv" "$out"/proposals/*.csv --at "$(echo $rounds | tr ' ' ,)" --rows "$out/shares.csv" | tee "$out/table.md"
    ;;
edits-data)
    mkdir -p "$out"
    service
    "$python" "$here/edits.py" gather "$out/edits" ${MORE:-}
    "$python" "$here/edits.py" form "$out/edits"
    ;;
edits-imitate)   # first how edits are written, then those that were measured to gain
    for seed in $seeds; do
        CUDA_VISIBLE_DEVICES=${TRAIN-0} "$python" "$here/imitate.py" "$out/edits/form" "$out/edits-form.$seed" --seed "$seed" --steps 100000 --within 90 --rate 1.5e-3 --batch 64 --every 25
        CUDA_VISIBLE_DEVICES=${TRAIN-0} "$python" "$here/imitate.py" "$out/edits" "$out/edits-imitation.$seed" --start "$out/edits-form.$seed" --seed "$seed" --steps 100000 --within 14 --rate 4e-4 --batch 32 \
            --every 5
    done
    ;;
edits-reinforce)
    service rewards.db --rounds 15
    for seed in $seeds; do
        CUDA_VISIBLE_DEVICES=${TRAIN-0} "$python" "$here/edits.py" reinforce "$out/edits" "$out/edits-imitation.$seed" "$out/edits-rl.$seed" --seed "$seed" --seconds "${WITHIN:-300}" ${MORE:-}
    done
    ;;
edits-evaluate)
    mkdir -p "$out/edited"
    service rewards.db --rounds 15
    "$python" "$here/edits.py" propose "$out/edits" random "$out/edited/random.1.jsonl"
    for seed in $seeds; do
        for arm in imitation rl; do
            CUDA_VISIBLE_DEVICES=${TRAIN-0} "$python" "$here/edits.py" propose "$out/edits" "$out/edits-$arm.$seed" "$out/edited/$arm.$seed.jsonl" --seed "$seed"
        done
    done
    [ -n "$serve" ] || { echo "what was fastest is to be measured anew: edits.py confirm and judge, with a service that has another store" >&2; exit 1; }
    stop
    service again.db   # what was fastest is measured anew: answers are kept by store
    "$python" "$here/edits.py" confirm "$out/edits" "$out"/edited/*.jsonl >"$out/confirmed.csv"
    for kernel in all seen unseen; do
        echo "$kernel:"
        "$python" "$here/edits.py" judge "$out/edits" "$out/confirmed.csv" "$out"/edited/*.jsonl --kernel "$kernel"
    done | tee "$out/edits.md"
    ;;
ship)
    "$python" "$here/ship.py" "$out/${2:?ARM}.${3:?SEED}" "$out/shipped"
    ;;
endpoint)
    shift
    exec "$python" "$here/endpoint.py" "$out/shipped" "$@"
    ;;
*)
    sed -n '/^#     run/p' "$0" | sed 's/^# *//' >&2
    exit 2
    ;;
esac

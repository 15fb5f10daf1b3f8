#!/bin/sh
# SPDX-License-Identifier: MIT
# Source mode for every problem that a folder of answers is for: searches the families first, so that there is something to beat, has scripts/play_answers.py
# play the model, scores what came out of it once more beside the best schedule, each in a fresh process, and keeps everything. The same command goes on.
# Usage: write_kernels.sh ANSWERS OUT [BUILD]. ANSWERS has list.csv (docs/performance/written/answers.tar.gz); GEMMSMITH_DEVICE says where.
# OUT gets found.jsonl (schedules), turns.jsonl (verdict and figures of every turn), trajectories.jsonl.gz (prompts, answers, scores), kept/ (the archive),
# again.jsonl (second scores), scores.jsonl (both, with the answers' files, for report_search.py written), info.txt and store.db.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
answers=$1 out=$2 build=${3:-build/release}
[ ! -r build/deps/env ] || . build/deps/env
program=$build/gemmsmith
mkdir -p "$out"
export GEMMSMITH_STORE="$out/store.db"
unset GEMMSMITH_LLM_BUDGET GEMMSMITH_LLM_LEDGER GEMMSMITH_LLM_HEADERS GEMMSMITH_LLM_CA
"$program" info | grep -Ev '^(store|cache|tuned) ' > "$out/info.txt"   # without the user's paths

tail -n +2 "$answers/list.csv" | cut -d, -f2 | awk '!count[$0]++ { order[++n] = $0 } END { for (i = 1; i <= n; i++) print order[i], count[order[i]] }' > "$out/problems.txt"
cut -d' ' -f1 "$out/problems.txt" > "$out/problems.list"
"$program" tune --file "$out/problems.list" --quick --tuned "$out/found.tuned" --json > "$out/found.jsonl"

python3 "$here/play_answers.py" "$answers" --port 0 > "$out/port" &
player=$!
trap 'kill $player; rm -f "$out/port" "$out/problems.list"' EXIT
while [ ! -s "$out/port" ]; do kill -0 $player; sleep 0.1; done
while read -r problem turns; do
    "$program" tune "$problem" --policy llm --mode source --islands 1 --turns "$turns" --keep "$out/kept" --llm_url "http://127.0.0.1:$(cat "$out/port")" --llm_model files \
        --json < /dev/null >> "$out/turns.jsonl"
done < "$out/problems.txt"
"$program" export trajectories --modes source --held_out 0 --predicted | gzip -9n > "$out/trajectories.jsonl.gz"

touch "$out/again.jsonl"
python3 -c '
import json, sys
best = {row["problem"]: row["best_own"] for row in map(json.loads, open(sys.argv[1] + "/found.jsonl"))}
for row in map(json.loads, open(sys.argv[1] + "/kept/elites.jsonl")):
    print(row["problem"], sys.argv[1] + "/kept/" + row["candidate"].removeprefix("source:"), best.get(row["problem"], ""))' "$out" > "$out/elites.list"
while read -r problem folder best; do
    ! grep -F "\"problem\":\"$problem\"" "$out/again.jsonl" | grep -qF "\"source:${folder##*/}\"" || continue
    "$program" score "$problem" --no_emulator --source "$folder/kernel.cu" --manifest "$folder/manifest" ${best:+--schedule "$best"} --confirm --json < /dev/null >> "$out/again.jsonl" ||
        [ $? -eq 4 ]   # a verdict, too
done < "$out/elites.list"
rm -f "$out/elites.list"
python3 -c '
import csv, json, sys
answers, out = sys.argv[1:]
files, of = {}, {}
for row in csv.DictReader(open(answers + "/list.csv")):
    files.setdefault(row["problem"], []).append(row["file"])
rows = [row for name in ("turns", "again") for row in map(json.loads, open(f"{out}/{name}.jsonl")) if "candidate" in row]
for row in rows:
    if "turn" in row:   # the player answers in the order of the list
        of[row["problem"], row["candidate"]] = files[row["problem"]][row["turn"] - 1]
    print(json.dumps({"run": 1, "file": of.get((row["problem"], row["candidate"]), ""), **row}))' "$answers" "$out" > "$out/scores.jsonl"

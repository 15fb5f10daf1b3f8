# A page of nothing, of a table's winners, of the predicted rows of an evaluation, to a file and to standard output; what is refused.
try() { gemmsmith "$@"; echo "exit $?"; }
try report --store absent.db
try report
ls data 2>/dev/null   # nothing was made
echo gemmsmith-tuned 1 >none.tuned
gemmsmith db import none.tuned
try report
grep -o '"sets":\[\]' gemmsmith-report.html
cat >in.tuned <<'TABLE'
gemmsmith-tuned 1
f16:4096x4096x4096:tn  ws/128x256x64/s4/c2x1/coop/g8  196.20  199.10  1.0150  1.0120  1.0170  1755  nvidia-h200  90  132  130100  2026-11-20T12:00:00Z  tune-0.1.0
bf16:64x4096x64:nn     library                        2.50    2.50    1.0000  1.0000  1.0000  1980  nvidia-a100  80  108  130100  2026-11-20T12:00:01Z  tune-0.1.0
TABLE
gemmsmith db import in.tuned
try report -o all.html
try report --gpu nvidia-a100 --out one.html
try report --gpu nvidia-h100 --out none.html
gemmsmith report -o - | sed 's/"made":"[^"]*"//' >again.html   # but for when
sed 's/"made":"[^"]*"//' all.html | cmp - again.html
for page in all one none; do
    echo "$page:"
    sed -n 's,.*id="data">,,p' $page.html | grep -o '"gpu":"[^"]*"\|\["[a-z0-9]*:[0-9x]*:[^"]*","[^"]*",[0-9,]*"[^"]*",[a-z]*'   # sets and their problems
done
echo none >rows.csv
try report rows.csv
printf 'problem,mode\n"f16:64x64x64:nn",offline\n' >rows.csv
try report rows.csv
try report absent.csv
try report all.html
printf '{"problem":1}\nnonsense\n' >rows.jsonl
try report rows.jsonl --out rows.html
mkdir -p out/rl.1/checkpoint-2
printf '{"log_history":[{"step":1,"reward":-0.5,"kl":0.01,"gemmsmith/passed":0.25},{"step":2,"reward":0.5,"loss":NaN}]}' >out/rl.1/checkpoint-2/trainer_state.json
printf '{"step":1,"data":{"critic/rewards/mean":0.5,"actor/entropy":0.9}}\nbroken\n' >rloo.jsonl
try report out/rl.1/checkpoint-2/trainer_state.json rloo.jsonl --out runs.html
sed -n 's,.*id="data">,,p' runs.html | grep -o '"series":"[^}]*'
try report rloo.jsonl --store "$XDG_DATA_HOME/gemmsmith/store.db" --json --out runs.html
printf '{"log_history":[{}]}' >empty.json
try report empty.json
touch file
try report --out file/x.html

# Data for training: tasks of problems, pairs of an imported table's winners, and what is refused.
try() { gemmsmith "$@"; echo "exit $?"; }
columns() { sed 's,\([0-9]\.[0-9]\{5\}\)[0-9]*,\1,g; s/"prompt":\[.*\],"completion"/"prompt":[...],"completion"/; s/"prompt":\[{.*\]}$/"prompt":[...]}/'; }
cat >in.tuned <<'TABLE'
gemmsmith-tuned 1
f16:4096x4096x4096:tn  ws/128x256x64/s4/c2x1/coop/g8  196.20  199.10  1.0150  1.0120  1.0170  1755  nvidia-h200  90  132  130100  2026-11-20T12:00:00Z  tune-0.1.0
f16:512x512x512:tn     ws/64x64x64/s2/c1x1/coop/g1    4.20    4.20    1.0000  0.9980  1.0010  1755  nvidia-h200  90  132  130100  2026-11-20T12:00:00Z  tune-0.1.0
bf16:64x4096x64:nn     library                        2.50    2.50    1.0000  1.0000  1.0000  1980  nvidia-h200  90  132  130100  2026-11-20T12:00:01Z  tune-0.1.0
TABLE
gemmsmith db import in.tuned --store s.db
try export tasks f16:4096x4096x4096:tn --mnk 64_64_64 --modes schedule --store s.db | columns
gemmsmith export tasks f16:4096x4096x4096:tn --layouts nn,tn --modes schedule --split held_out --store s.db
gemmsmith export tasks f16:256x264x64:tn --layouts nn,tn --modes schedule --split train --store s.db | wc -l
try export pairs --store s.db | columns
try export pairs --store s.db --least 0.5 --store s.db | wc -l
try export pairs --kinds repairs --store s.db
try export pairs f16:512x512x512:tn --store s.db
try export trajectories --store s.db
(echo group,problem,schedule,us; for s in s2 s3 s4; do for g in g1 g2 g4; do echo "1,f16:512x512x512:tn,ws/64x64x64/$s/c1x1/coop/$g,${s#s}.${g#g}"; done; done) >times.csv
try export lessons --store times.csv --each 2 | columns
try export lessons bf16:512x512x512:tn --store times.csv
try export lessons
GEMMSMITH_STORE=s.db gemmsmith export lessons; echo "exit $?"
try export
try export weights
gemmsmith export corpus >corpus.jsonl 2>rows; echo "exit $?"
sed 's/[0-9][0-9]* rows/N rows/' rows
grep -h '"path":"share/prompts/schedules-repair.md"' corpus.jsonl
sed 's/.*"license":"MIT","kind":"\([a-z]*\)"}$/\1/' corpus.jsonl | sort -u
try export corpus f16:64x64x64:tn
try export corpus --store s.db
try export corpus --split held_out
gemmsmith export corpus > /dev/full; echo "exit $?"
try export tasks --store s.db
try export tasks f16:64x64x64:tn --profile a1000 --store s.db
try export tasks f16:64x64x64:tn --prompts nowhere --store s.db
try export pairs --gpu emu-h200 --store s.db
try export pairs --store nothing.db
echo none > none.db
try export pairs --store none.db
gemmsmith export pairs --store s.db > /dev/full; echo "exit $?"
ls

# A page of nothing, of a table's winners, of the predicted rows of an evaluation, to a file and to standard output; what is refused.
try() { gemmsmith "$@"; echo "exit $?"; }
try report --store absent.db
try report
ls data 2>/dev/null   # nothing was made
echo gemmsmith-tuned 1 >none.tuned
gemmsmith db import none.tuned
try report
grep -c 'Nothing was measured' gemmsmith-report.html
cat >in.tuned <<'TABLE'
gemmsmith-tuned 1
f16:4096x4096x4096:tn  ws/128x256x64/s4/c2x1/coop/g8  196.20  199.10  1.0150  1.0120  1.0170  1755  nvidia-h200  90  132  130100  2026-11-20T12:00:00Z  tune-0.1.0
bf16:64x4096x64:nn     library                        2.50    2.50    1.0000  1.0000  1.0000  1980  nvidia-a100  80  108  130100  2026-11-20T12:00:01Z  tune-0.1.0
TABLE
gemmsmith db import in.tuned
try report -o all.html
try report --gpu nvidia-a100 --out one.html
try report --gpu nvidia-h100 --out none.html
gemmsmith report -o - | sed 's/Made [^ ]* by//' >again.html   # but for when
sed 's/Made [^ ]* by//' all.html | cmp - again.html
grep -c '<canvas' all.html one.html none.html
sed -n 's,.*<h2 id="set[0-9]*">\([^<]*\)</h2>.*,\1,p' all.html one.html
echo none >rows.csv
try report rows.csv
printf 'problem,mode\n"f16:64x64x64:nn",offline\n' >rows.csv
try report rows.csv
try report absent.csv
try report all.html
printf '{"problem":1}\nnonsense\n' >rows.jsonl
try report rows.jsonl --out rows.html
touch file
try report --out file/x.html

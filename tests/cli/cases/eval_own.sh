# eval of the contender own: our schedule by layout from a file, beside the library in one run; rows of medians and ratios, behind what is
# there; --record: who wins goes into store and table.
. "$CASES/../replies.sh"
cat >replies/bench.sh <<'SH'
. "$CASES/../entries.sh"
case $line in
*f16:64x64x64:*) reply offline "$(entry mma/64x32x64/w4x1/s2/g1 nn 2.0 5)" "$(entry cublaslt-autotuning nn 2.5 5)" "$(entry simple tn 4.4 5)" "$(entry cublaslt-autotuning tn 2.2 5)" ;;
*f16:128x64x64:*) reply offline "$(entry cublaslt-autotuning nn 2.5 5)" "$(entry mma/64x32x64/w4x1/s2/g1 tn 2.2 5)" "$(entry cublaslt-autotuning tn 2.4 5)" ;;
*) echo "CUDA error: illegal address" >&2; exit 9 ;;
esac
SH
cat >own.txt <<'TXT'
gemmsmith-tuned 1
# problem schedule
f16:64x64x64:nn   mma/32x32x64/w2x2/s2/g1   # replaced
f16:64x64x64:nn   mma/64x32x64/w4x1/s2/g1   2.0  2.5
{"problem":"f16:64x64x64:tn","best_own":"simple","best_own_us":4.4}
f16:128x64x64:nn  library/3
f16:128x64x64:tn  mma/64x32x64/w4x1/s2/g1
{"problem":"f16:256x64x64:tn","best_own":""}
TXT
lines() { sed -n '/^f16/p; /best of both:/p; /^exit/p'; }
ask="eval 64_64_64 128_64_64 256_64_64 --contenders own,cublaslt-autotuning --own own.txt --quick --record --tuned my.tuned --rows rows.csv --seed 3"
(gemmsmith $ask; echo "exit $?") | lines
echo "---- asked"
grep bench replies/requests
echo "---- rows"
sed -e '1,2s/^# .*/# .../' -e 's/2[0-9-]*T[0-9:]*Z$/DATE/' rows.csv
echo "---- won"
cut -c1-100 my.tuned | sed "s,^# checksum.*,# checksum SUM,"
gemmsmith db list --gpu nvidia-h200 | cut -c1-110
echo "---- the same again: what is there stays"
(gemmsmith $ask --quiet; echo "exit $?") | lines
grep -c bench replies/requests
grep -c '^"' rows.csv
echo "---- half a line is none"
printf '"f16:512x64x64:nn",offline,co' >>rows.csv
gemmsmith $ask --quiet 2>/dev/null | lines
grep -c '^"' rows.csv
tail -n 3 rows.csv | cut -c1-30
echo "---- one layout, call time, percentiles"
gemmsmith eval 64_64_64 --contenders own,cublaslt-autotuning --own own.txt --quick --call_time yes --layouts tn --rows tn.csv --quiet | sed -n '/^f16/p'
sed -n '$p' replies/requests | grep -o '"call_time":[a-z]*'
echo "---- wrong usage"
gemmsmith eval 64_64_64 --own own.txt
gemmsmith eval 64_64_64 --record
gemmsmith eval 64_64_64 --contenders own --record
gemmsmith eval 64_64_64 --contenders own,cublaslt-autotuning --record --mode server
gemmsmith eval 64_64_64 --contenders plan --tuned x.tuned
echo 'f16:64x64x64:tn' >bad.txt
gemmsmith eval 64_64_64 --contenders own --own bad.txt
echo 'f16:64x64x64:tn  no/such' >bad.txt
gemmsmith eval 64_64_64 --contenders own --own bad.txt
gemmsmith eval 64_64_64 --contenders own --own nowhere.txt
echo "---- nothing known"
gemmsmith eval 96_64_64 --contenders own --quiet >/dev/null

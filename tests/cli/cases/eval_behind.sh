# An element-wise kernel before each call: told to the worker, shown and kept with the result. "@plain", "@dependent": how one contender is launched.
. "$CASES/../replies.sh"
reply offline "$(entry plan tn 190 194)" "$(entry cublaslt-autotuning tn 205 209)" >plain.json
sed 's/"mode"/"behind":true,"mode"/' plain.json >replies/bench.json
ask="eval f16:4096x4096x4096:tn --layouts tn --contenders plan,cublaslt-autotuning"
gemmsmith $ask --behind --csv rows.csv --rows rows --quiet | sed -n '/^f16/p'
sed -n 2p rows.csv
grep -c 'offline+behind' rows
grep -o '"behind":true' replies/requests
gemmsmith report rows --out report.html >/dev/null; echo "report $?"
cp plain.json replies/bench.json
gemmsmith $ask --quiet | sed -n '/^f16/p'
gemmsmith $ask --behind --mode server
echo "exit $?"
gemmsmith eval f16:64x64x64:tn --contenders simple@early
echo "exit $?"
echo 'f16:64x64x64:tn simple' >own
reply offline "$(entry simple@plain tn 2 2)" "$(entry simple@dependent tn 1 1)" >replies/bench.json
gemmsmith eval f16:64x64x64:tn --layouts tn --own own --contenders own@plain,own@dependent --quiet | sed -n '/^  simple/p'
tail -1 replies/requests | grep -o '"contenders":[^]]*]'

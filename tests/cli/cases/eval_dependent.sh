# Dependent launches: told to the worker, shown and kept with the result, never mixed with results of launches that wait.
. "$CASES/../replies.sh"
reply offline "$(entry plan tn 190 194)" "$(entry cublaslt-autotuning tn 205 209)" >plain.json
sed 's/"mode"/"dependent":true,"mode"/' plain.json >replies/bench.json
ask="eval f16:4096x4096x4096:tn --layouts tn --contenders plan,cublaslt-autotuning"
gemmsmith $ask --dependent --csv rows.csv --base_dir results --quiet | sed -n '/^f16/p'
sed -n 2p rows.csv
ls results
GEMMSMITH_DEPENDENT=1 gemmsmith $ask --quiet | sed -n '/^f16/p'
gemmsmith $ask --json --dependent --quiet | grep -c '"dependent":true'
cp plain.json replies/bench.json
GEMMSMITH_DEPENDENT=0 gemmsmith $ask --quiet | sed -n '/^f16/p'
grep -o '"op":"bench"\|"dependent":true' replies/requests
GEMMSMITH_DEPENDENT=perhaps gemmsmith $ask
echo "exit $?"

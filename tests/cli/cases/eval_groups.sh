# A problem with groups: NVIDIA's calls that take them stand in for the names that were given, ours is compared with the fastest; the routing is
# told to the worker, shown, and rows of one are not taken for those of the other.
. "$CASES/../replies.sh"
not_run='{"name":"cublaslt-heuristic","layout":"tn","status":"GS_ERROR_UNSUPPORTED","message":"cuBLASLt takes no groups whose sizes are on the device","detail":"","wrong":false,"mismatches":0}'
reply offline "$(entry plan tn 100 104)" "$(entry cublas-groups tn 110 114)" "$not_run" "$(entry cublaslt-groups tn 205 209)" | sed 's/"mode"/"routing":"random","mode"/' >replies/bench.json
ask="eval bf16:4096x14336x4096:tn:g=8 --layouts tn --rows rows.csv --call_time no"
gemmsmith $ask --quiet | sed '1,/^ratio/d'
grep -o '"contenders":\[[^]]*\]' replies/requests
grep -c routing replies/requests
echo "---- skewed"
sed -i 's/"routing":"random"/"routing":"skewed"/' replies/bench.json
gemmsmith $ask --quiet | sed '1,/^ratio/d'
gemmsmith $ask --routing skewed --json --quiet | grep -o '"routing":"skewed"\|"reference":true'
gemmsmith $ask --routing skewed 2>&1 | sed '1,/^ratio/d'
grep -o '"routing":"skewed"' replies/requests
sed -n 's/^"\([^"]*\)",\([^,]*\),[^,]*,[^,]*,\([^,]*\),.*/\1 \2 \3/p' rows.csv
echo "---- of a problem without groups nothing changes"
reply offline "$(entry plan tn 100 104)" "$(entry cublaslt-autotuning tn 205 209)" >replies/bench.json
gemmsmith eval f16:64x64x64:tn --layouts tn --rows rows.csv --routing skewed --contenders plan,cublaslt-autotuning --quiet | sed '1,/^ratio/d'
sed -n '$p' rows.csv | cut -d, -f2
gemmsmith eval f16:64x64x64:tn --routing any 2>&1

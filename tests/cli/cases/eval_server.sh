# Server mode: ratios are of call time; a wrong result of ours ends with 4.
. "$CASES/../replies.sh"
reply server "$(entry plan tn 190 250)" "$(entry cublaslt-autotuning tn 180 280)" >replies/bench.json
gemmsmith eval f16:64x4096x4096:tn --layouts tn --mode server --target_qps 50 --benchmark_seconds 2 --warmup_seconds 1s --contenders plan,cublaslt-autotuning
grep bench replies/requests
reply server '{"name":"plan","layout":"tn","status":"GS_OK","message":"","detail":"","wrong":true,"mismatches":9}' "$(entry cublaslt-autotuning tn 180 280)" >replies/bench.json
gemmsmith eval f16:65x4096x4096:tn --layouts tn --mode server --contenders plan,cublaslt-autotuning

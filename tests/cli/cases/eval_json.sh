# Rows as JSON: what was measured, on what, and our ratios instead of the worker's.
. "$CASES/../replies.sh"
reply offline "$(entry plan tn 190 194)" "$(entry cublaslt-autotuning tn 205 209)" >replies/bench.json
gemmsmith eval --mnk 4096_4096_4096 --layouts tn --acc_precise fp16 --contenders plan,cublaslt-autotuning --cache warm --rounds 5 --json

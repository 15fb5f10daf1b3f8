# torch.matmul beside our plan: what the script says, or why there is nothing; a wrong result of the script is no usage of ours.
. "$CASES/../replies.sh"
export GEMMSMITH_LIBRARY=/mine/libgemmsmith.so
reply offline "$(entry plan tn 190 194)" "$(entry cublaslt-autotuning tn 205 209)" >replies/bench.json
ask="eval --mnk 4096_4096_4096 --layouts tn --contenders plan,cublaslt-autotuning --torch --again --rounds 7"
gemmsmith $ask | grep torch
mkdir -p python/gemmsmith bin
touch python/gemmsmith/torch_contender.py
cat >bin/python3 <<'SH'
#!/bin/sh
echo "$GEMMSMITH_DEVICE $*" >arguments
cat <<'JSON'
{"contenders":{"torch-nn":{"us":210.5,"wrong":false},"torch-tn":{"us":211,"wrong":true},"gemmsmith-nn":{"us":200,"wrong":false},"gemmsmith-tn":{"us":190,"wrong":false}},"ratio":{"nn":{"median":1.05,"low":1.04,"high":1.06},"tn":{"median":1.11,"low":1.1,"high":1.12}}}
JSON
SH
chmod +x bin/python3
PATH=$PWD/bin:$PATH
gemmsmith $ask | grep torch
cat arguments
printf '#!/bin/sh\necho "starting" >&2\necho "skipped: PyTorch is not installed (pip install torch)" >&2\nexit 77\n' >bin/python3
gemmsmith $ask | grep torch
gemmsmith $ask --cache warm | grep torch
gemmsmith $ask --json | grep -c '"torch":{"message":"skipped'

# SPDX-License-Identifier: MIT
# Sourced by cases: the replies of worker.sh for one GPU and one measurement.
mkdir replies
export GEMMSMITH_WORKER="$CASES/../worker.sh"

cat >replies/hello.json <<'JSON'
{"ok":true,"device":"cuda:0","cublaslt":130100,"nvrtc":13000,"caps":{"name":"NVIDIA H200","slug":"nvidia-h200","uuid":"","target":"sm_90a","cc":90,"sms":132,"smem_block":232448,"smem_sm":233472,"registers_sm":65536,"threads_sm":2048,"l2_bytes":52428800,"driver":13000,"clock_mhz":1980,"tensor_flops":8192,"memory_gbs":4300,"l2_gbs":10000,"launch_us":2,"memory_bytes":150000000000}}
JSON

. "$CASES/../entries.sh"

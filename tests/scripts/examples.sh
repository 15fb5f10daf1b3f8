#!/bin/sh
# SPDX-License-Identifier: MIT
# The Python examples against torch, on the emulated device: examples.sh SOURCE BUILD. $GS_TORCH_PYTHON: a Python that has torch; default python3.
# Skipped (77) where there is none, or no compiler of CUDA.
set -u
python=${GS_TORCH_PYTHON:-python3}
"$python" -c 'import torch' 2>/dev/null || { echo "skipped: $python has no torch; name one that has with GS_TORCH_PYTHON"; exit 77; }
export GEMMSMITH_LIBRARY="$2/libgemmsmith.so" GEMMSMITH_PROGRAM="$2/gemmsmith"
said=$("$GEMMSMITH_PROGRAM" gemm f16:16x16x16:tn --device emu:h200 --quiet 2>&1) || {
    case $said in *NVRTC*) echo "skipped: $said"; exit 77 ;; esac
    echo "not ok: $said"
    exit 1
}
failed=0
for example in llama_mlp mixtral_experts training_step torch_mlp; do
    if ! "$python" "$1/examples/python/$example.py" emu:h200; then
        echo "not ok: $example"
        failed=1
    fi
done
exit $failed

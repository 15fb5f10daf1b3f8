#!/bin/sh
# SPDX-License-Identifier: MIT
# run.sh SCRIPT SOURCE BUILD: a test of gemmsmith.torch with $GS_TORCH_PYTHON, a Python that has torch, else python3. 77: it has none.
set -u
python=${GS_TORCH_PYTHON:-python3}
"$python" -c 'import torch' 2>/dev/null || { echo "skipped: $python has no torch; name one that has with GS_TORCH_PYTHON"; exit 77; }
exec "$python" "$@"

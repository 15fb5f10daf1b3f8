#!/bin/sh
# SPDX-License-Identifier: MIT
# In place of tools/time_pairs: times that the weights predict, nothing is measured. Called as it is: surrogate.sh compile PAIRS SHARD SHARDS, surrogate.sh time PAIRS SECONDS ROUNDS. In the environment: BUILD (build/release),
# WEIGHTS (tuned/nvidia-h200.weights).
set -eu
[ "$1" = time ] || exit 0
"${BUILD:-build/release}/tools/predict_pairs" "${WEIGHTS:-tuned/nvidia-h200.weights}" <"$2" | cut -d, -f1 | paste -d, "$2" -

#!/bin/sh
# SPDX-License-Identifier: MIT
# Run on every node: ray-node.sh HEAD_ADDRESS|head. The last GPU measures and is not given to Ray; each reward worker of verl calls the service of its own node.
set -eu
last=$(($(nvidia-smi -L | wc -l) - 1))
[ "$last" -ge 1 ] || { echo "needs two GPUs" >&2; exit 1; }
gemmsmith serve --device cuda:$last --store "$HOME/rewards.db" --connections 1024 --deadline 15m > serve.log 2>&1 &
serve=$!
trap 'kill $serve' EXIT
until curl -fs http://127.0.0.1:7811/v1/health > /dev/null; do kill -0 $serve || { cat serve.log >&2; exit 1; }; sleep 1; done
CUDA_VISIBLE_DEVICES=$(seq -s, 0 $((last - 1)))
GEMMSMITH_SERVE=http://127.0.0.1:7811
export CUDA_VISIBLE_DEVICES GEMMSMITH_SERVE
if [ "$1" = head ]; then
    ray start --head --port 6379 --num-gpus $last --block
else
    ray start --address "$1:6379" --num-gpus $last --block
fi

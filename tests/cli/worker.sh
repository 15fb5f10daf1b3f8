#!/bin/sh
# SPDX-License-Identifier: MIT
# A worker whose replies are files of replies/ in the working directory: <op>.json, or <op>.sh, which is run with the request
# in $line. Without either the request goes to the simulating worker $GEMMSMITH_FAKE_WORKER. Every request is noted in
# replies/requests.
while IFS= read -r line; do
    op=${line#*\"op\":\"}
    op=${op%%\"*}
    printf '%s\n' "$line" >>replies/requests
    if [ -f "replies/$op.sh" ]; then
        . "replies/$op.sh"
    elif [ -f "replies/$op.json" ]; then
        cat "replies/$op.json"
    else
        printf '%s\n' "$line" | "$GEMMSMITH_FAKE_WORKER" worker --device cuda:0
    fi
done

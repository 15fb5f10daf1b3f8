#!/bin/sh
# SPDX-License-Identifier: MIT
# The main job: find, prove and time a kernel for one problem, then evaluate it. Usage: run.sh PROBLEM
# Without a GPU both work on an emulated one, and times are predicted.
set -eu
cd "$(dirname "$0")/.."
. build/deps/env
program=build/release/gemmsmith
"$program" tune "$1" --layouts nn,tn --budget "${BUDGET:-5m}"
"$program" eval "$1" --mode offline
cat <<END

Done. Every kernel named above passed all 7 parts of the verification before its time counted, and the tuned table now names the best for each layout.
A time marked "predicted" comes from the time model, because there was no GPU: it was not measured.
Next: docs/howto/first-kernel.md; $program tune --help; on a GPU: BUDGET=30m make run PROBLEM=4096_4096_4096
END

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

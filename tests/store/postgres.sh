#!/bin/sh
# SPDX-License-Identifier: MIT
# The tests of the store once more, with stores in a PostgreSQL server instead of files.
#   postgres.sh PROGRAM...
set -u
. "$(dirname "$0")/../support/postgres.sh"
postgres_start || exit 77
trap postgres_stop EXIT INT TERM
GS_TEST_POSTGRES=$(postgres_connection)
export GS_TEST_POSTGRES
failed=0
for program; do
    "$program" || failed=1
done
exit $failed

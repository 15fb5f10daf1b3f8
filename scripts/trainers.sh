#!/bin/sh
# SPDX-License-Identifier: MIT
# Trainers' own code, from their packages, gets rewards from a live gemmsmith serve on the emulated device and reads docs/howto/recipes
# (tests/service/packages.py). The packages are installed from PyPI into build/trainers: 3 GB to fetch, 5.5 GB on disk; not again as long as
# tests/service/trainers/packages.txt is the same.
# The Python examples are compared with torch.
#   trainers.sh BUILD [CLASS[.test]... | Verifiers | Examples]
set -eu
cd "$(dirname "$0")/.."
build=${1:?trainers.sh BUILD [CLASS[.test]...]}
shift
[ ! -e build/deps/env ] || . build/deps/env
list=tests/service/trainers/packages.txt
home=build/trainers

python=
for candidate in python3.11 python3.12 python3; do
    if [ -z "$python" ] && "$candidate" -c 'import sys, venv; sys.exit(sys.version_info[:2] not in ((3, 11), (3, 12)))' 2>/dev/null; then python=$candidate; fi
done
[ -n "$python" ] || { echo "trainers: Python 3.11 or 3.12 with venv is needed: verl takes nothing newer, TRL nothing older" >&2; exit 1; }
stamp=$(cksum < "$list")-$($python --version)
if [ "$*" != Verifiers ] && [ "$(cat $home/stamp 2>/dev/null)" != "$stamp" ]; then
    began=$(date +%s)
    rm -rf $home/venv
    mkdir -p $home
    echo "trainers: installing $(grep -c == $list) packages into $home" >&2
    "$python" -m venv $home/venv
    $home/venv/bin/pip install --quiet --disable-pip-version-check --no-deps -r $list
    echo "$stamp" > $home/stamp
    echo "trainers: installed in $(($(date +%s) - began)) s, $(du -sm $home | cut -f1) MB" >&2
fi

# verifiers asks for other versions of what the others need, and 0.4 has another interface than the releases before it: an installation for each.
verifiers() {
    for list in tests/service/trainers/verifiers-*.txt; do
        own=$home/$(basename "$list" .txt)
        stamp=$(cksum < "$list")-$($python --version)
        if [ "$(cat "$own/stamp" 2>/dev/null)" != "$stamp" ]; then
            rm -rf "$own"
            echo "trainers: installing $(grep -c == "$list") packages into $own" >&2
            "$python" -m venv "$own"
            "$own/bin/pip" install --quiet --disable-pip-version-check --no-deps -r "$list"
            echo "$stamp" > "$own/stamp"
        fi
        "$own/bin/python" tests/service/packages_verifiers.py "$build/gemmsmith" "$build/tests/fake/fake_worker"
    done
}

# the installation has torch
examples() {
    GS_TORCH_PYTHON=$home/venv/bin/python sh tests/scripts/examples.sh "$PWD" "$(cd "$build" && pwd)" || return 1
    for name in adapter fusions attention; do "$home/venv/bin/python" "tests/torch/$name.py" . "$build" || return 1; done
}

case "$*" in
Examples)  examples ;;
"")        verifiers; examples; exec $home/venv/bin/python tests/service/packages.py "$build/gemmsmith" - ;;
Verifiers) verifiers ;;
*)         exec $home/venv/bin/python tests/service/packages.py "$build/gemmsmith" - "$@" ;;
esac

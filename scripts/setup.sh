#!/bin/sh
# SPDX-License-Identifier: MIT
# Brings a Debian or Ubuntu machine to the point where gemmsmith builds and runs: compiler, build tools and libraries with
# apt-get; NVRTC (and, where there is a GPU, cuBLAS) from PyPI into build/deps if the machine has no CUDA toolkit.
# Does nothing where everything is there. Writes build/deps/env, which the other scripts read.
#   setup.sh          what building and running need
#   setup.sh tests    and openssl, which makes certificates for tests, postgresql, in which they keep stores, abigail-tools, which compare the ABI, and a browser, in which they open the page of gemmsmith report
#   setup.sh release   and lintian and mmdebstrap, by which packages of a release are tried
set -eu
cd "$(dirname "$0")/.."

missing=
need() { # need PACKAGE TEST...
    package=$1
    shift
    "$@" >/dev/null 2>&1 || missing="$missing $package"
}
header() { echo "#include <$1>" | ${CC:-cc} -E -x c - ; }
need build-essential   sh -c 'command -v cc && command -v c++ && command -v make'
need cmake             cmake --version
need ninja-build       ninja --version
need python3           python3 --version
need libsqlite3-dev    header sqlite3.h
need libpq-dev         sh -c "pg_config --version || test -e /usr/include/postgresql/libpq-fe.h"
need libjansson-dev    header jansson.h
need libcurl4-openssl-dev header curl/curl.h
need libmicrohttpd-dev header microhttpd.h
need libseccomp-dev    header seccomp.h
need libxxhash-dev     header xxhash.h
need libjs-chart.js    sh -c 'test -e /usr/share/javascript/chart.js/chart.min.js || test -e /usr/share/javascript/chart.js/chart.umd.js'
need libcmocka-dev     sh -c "printf '#include <stdarg.h>\n#include <stddef.h>\n#include <setjmp.h>\n#include <stdint.h>\n#include <cmocka.h>\n' | ${CC:-cc} -E -x c -"
[ "${1:-}" != tests ] || need openssl openssl version
[ "${1:-}" != tests ] || need postgresql sh -c 'command -v initdb || ls /usr/lib/postgresql/*/bin/initdb'
[ "${1:-}" != tests ] || need abigail-tools abidiff --version
[ "${1:-}" != release ] || need lintian lintian --version
[ "${1:-}" != release ] || need mmdebstrap mmdebstrap --version
if [ -n "$missing" ]; then
    command -v apt-get >/dev/null || { echo "setup: please install:$missing" >&2; exit 1; }
    root=
    [ "$(id -u)" = 0 ] || root=sudo
    echo "setup: installing$missing" >&2
    $root apt-get update -qq
    # shellcheck disable=SC2086
    DEBIAN_FRONTEND=noninteractive $root apt-get install -y -qq --no-install-recommends $missing >/dev/null
fi

# notes for language models are found by full-text search; cmake checks the library that is linked, this says it earlier
python3 -c 'import sqlite3; sqlite3.connect(":memory:").execute("create virtual table t using fts5(x)")' 2>/dev/null ||
    echo "setup: the SQLite that Python finds has no full-text search (FTS5); if cmake says the same of its own, install libsqlite3 of Debian or Ubuntu" >&2

browser() { command -v chromium || command -v chromium-browser || command -v google-chrome; }
if [ "${1:-}" = tests ] && ! browser >/dev/null 2>&1 && command -v apt-get >/dev/null; then
    root=
    [ "$(id -u)" = 0 ] || root=sudo
    echo "setup: installing chromium for the tests" >&2
    { $root apt-get update -qq && DEBIAN_FRONTEND=noninteractive $root apt-get install -y -qq --no-install-recommends chromium; } >/dev/null 2>&1 ||
        echo "setup: chromium could not be installed; the test that opens the page of gemmsmith report will be skipped" >&2
fi

mkdir -p build/deps
: > build/deps/env.new
library() { # library NAME: path of a shared library the loader or a CUDA toolkit has
    { ldconfig -p 2>/dev/null || /sbin/ldconfig -p; } | awk -v name="$1" '$1 ~ "^" name "\\.so" {print $NF; exit}'
    for directory in "${CUDA_HOME:-/usr/local/cuda}/lib64" /usr/local/cuda/lib64; do
        ls "$directory/$1".so* 2>/dev/null
    done
}
from_pypi() { # from_pypi NAME PACKAGE VARIABLE
    [ -z "$(library "$1" | head -n 1)" ] || return 0
    found=$(find build/deps -name "$1.so.*" | head -n 1)
    if [ -z "$found" ]; then
        echo "setup: no $1 on this machine, fetching $2 from PyPI into build/deps" >&2
        python3 -m pip --version >/dev/null 2>&1 || {
            root=
            [ "$(id -u)" = 0 ] || root=sudo
            $root apt-get update -qq && DEBIAN_FRONTEND=noninteractive $root apt-get install -y -qq --no-install-recommends python3-pip >/dev/null
        } || true
        python3 -m pip install -q --no-deps --target build/deps/python --upgrade "$2" 2>/dev/null || {
            echo "setup: $2 could not be fetched; what needs $1 will be skipped or say so" >&2
            return 0
        }
        found=$(find build/deps -name "$1.so.*" | head -n 1)
    fi
    [ -n "$found" ] || return 0
    echo "export $3=$PWD/$found" >> build/deps/env.new
    # its companions lie beside it; under a sanitizer the library's own search path is not heeded
    echo "export LD_LIBRARY_PATH=$PWD/$(dirname "$found")\${LD_LIBRARY_PATH:+:\$LD_LIBRARY_PATH}" >> build/deps/env.new
}
from_pypi libnvrtc nvidia-cuda-nvrtc GEMMSMITH_NVRTC
if [ -e /dev/nvidiactl ] || [ -e /dev/dxg ]; then
    from_pypi libcublasLt nvidia-cublas GEMMSMITH_CUBLASLT
    from_pypi libcublas   nvidia-cublas GEMMSMITH_CUBLAS
fi
mv build/deps/env.new build/deps/env

#!/bin/sh
# SPDX-License-Identifier: MIT
# Inside a root that nobody will miss: installs the packages of /try/debs, uses them, removes them.
# For clean_root.sh. Usage: clean_root_inside.sh apt|dpkg [WORD]: what brings them in, and how the system is called
set -eu
export LC_ALL=C HOME=/try/home DEBIAN_FRONTEND=noninteractive PATH=/usr/sbin:/usr/bin:/sbin:/bin
unset GEMMSMITH_TUNED GEMMSMITH_WEIGHTS GEMMSMITH_EMULATOR GEMMSMITH_DEVICE GEMMSMITH_LIBRARY LD_LIBRARY_PATH PKG_CONFIG_PATH PYTHONPATH CC CFLAGS LDFLAGS \
    CMAKE_C_COMPILER_LAUNCHER CMAKE_GENERATOR CMAKE_PREFIX_PATH 2>/dev/null || :
fail() { echo "not ok: $*"; exit 1; }
mkdir -p /try/home /try/work
cd /try/work
names=$(for file in /try/debs/*.deb; do dpkg-deb -f "$file" Package; done)
if [ "$1" = apt ]; then
    apt-get install -y -qq --no-install-recommends /try/debs/*.deb > log 2>&1 || { cat log; fail "apt-get install"; }
else
    dpkg -i /try/debs/*.deb > log 2>&1 || { cat log; fail "dpkg -i"; }
fi
[ -z "$(dpkg --audit)" ] || fail "$(dpkg --audit)"
# shellcheck disable=SC2086
[ -z "$(dpkg -V $names | grep -v '^??5?????? *c\? */usr/share/\(doc\|man\)')" ] || fail "installed files: $(dpkg -V $names)"
version=$(dpkg-query -W -f '${Version}' libgemmsmith1)

# programs in C: by pkg-config, by CMake, linked statically
[ "$(pkg-config --modversion gemmsmith)" = "$version" ] || fail "pkg-config says $(pkg-config --modversion gemmsmith)"
# shellcheck disable=SC2046
cc /try/source/tests/scripts/consumer/program.c -o plain $(pkg-config --cflags --libs gemmsmith) || fail "a program by pkg-config"
./plain || fail "a program by pkg-config does not run"
cmake -S /try/source/tests/scripts/consumer -B cmake -DWANTED="${version%.*}" > log 2>&1 && cmake --build cmake >> log 2>&1 || { cat log; fail "a program by CMake"; }
for program in cmake/shared cmake/static; do "$program" || fail "$program does not run"; done
ldd cmake/shared | grep -q "libgemmsmith.so.1 => /" || fail "the shared library is not the installed one"
ldd cmake/static | grep "libgemmsmith" && fail "the static library is not static"

# the program, its pages and completions
gemmsmith --version | grep -q "$version" || fail "gemmsmith --version"
gemmsmith help > /dev/null || fail "gemmsmith help"
for page in man1/gemmsmith.1.gz man1/gemmsmith-tune.1.gz man3/gs_open.3.gz; do
    [ -e "/usr/share/man/$page" ] || grep -qs 'path-exclude=/usr/share/man' /etc/dpkg/dpkg.cfg.d/* || fail "no page $page"
done
[ -s /usr/share/bash-completion/completions/gemmsmith ] || fail "no completion"

# computed on the emulated device, by the compiler that /try/nvrtc has
if [ -n "$(ls /try/nvrtc 2>/dev/null)" ]; then
    GEMMSMITH_NVRTC=$(ls /try/nvrtc/libnvrtc.so.* | head -n 1) LD_LIBRARY_PATH=/try/nvrtc
    export GEMMSMITH_NVRTC LD_LIBRARY_PATH
    # shellcheck disable=SC2046
    cc /try/source/examples/c/matmul.c -o matmul $(pkg-config --cflags --libs gemmsmith) || fail "an example by pkg-config"
    GEMMSMITH_DEVICE=emu:h200 ./matmul || fail "an example does not run"
    # the binding, by the Python that the package brings
    (cd / && python3 -c 'import gemmsmith
with gemmsmith.open("emu:h200") as context:
    print(context.plan("f16:64x96x64:tn").why)') || fail "the binding of Python"
    gemmsmith gemm f16:64x96x64:tn --device emu:h200 --quiet || fail "gemmsmith gemm"
    echo "ok: a product on the emulated device"
fi

# nothing stays
# shellcheck disable=SC2086
dpkg --purge $names > log 2>&1 || { cat log; fail "dpkg --purge"; }
[ -z "$(find /usr /etc /var/lib -name '*gemmsmith*' -not -path '/usr/local/*' | grep -v '^/var/lib/apt\|^/var/lib/dpkg')" ] || fail "left behind: $(find /usr /etc -name '*gemmsmith*')"
echo "ok: packages on a ${2:-clean} system"

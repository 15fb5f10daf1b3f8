#!/bin/sh
# SPDX-License-Identifier: MIT
# What is installed can be used, from where it was installed and from where that was moved: a program built by CMake and by pkg-config, man pages,
# completions, tables found. No network. Usage: install.sh SOURCE BUILD
set -eu
source=$1
build=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
unset GEMMSMITH_DATA GEMMSMITH_TUNED GEMMSMITH_WEIGHTS GEMMSMITH_EMULATOR GEMMSMITH_DEVICE LD_LIBRARY_PATH PKG_CONFIG_PATH 2>/dev/null || :
export HOME="$work/home" XDG_DATA_HOME="$work/home/data" XDG_CACHE_HOME="$work/home/cache"
fail() { echo "not ok: $*"; exit 1; }
DESTDIR='' cmake --install "$build" --prefix "$work/first" > "$work/log" || { cat "$work/log"; exit 1; }
mv "$work/first" "$work/moved"
prefix=$work/moved
version=$(sed -n 's/^#define GS_VERSION_TEXT *"\(.*\)"/\1/p' "$prefix/include/gemmsmith/gemmsmith.h")

# nothing says where it was built or installed
for file in $(find "$prefix" -name '*.pc' -o -name '*.cmake'); do
    if grep -e "$work/first" -e "$build" -e "$source" "$file"; then fail "$file names a path of one machine"; fi
done
lib=$(dirname "$(find "$prefix" -name libgemmsmith.so)")

consume() {   # consume NAME PROGRAM: it runs, with good tables and with a bad one
    LD_LIBRARY_PATH=$lib "$2" || fail "$1 does not run"
    echo 'no table' > "$prefix/share/gemmsmith/tuned/bad.tuned"
    LD_LIBRARY_PATH=$lib "$2" "$3" || fail "$1 does not read the installed tables"
    rm "$prefix/share/gemmsmith/tuned/bad.tuned"
    echo "ok: $1"
}

[ -e "$lib/libgemmsmith_torch.so" ] || fail "the adapter for PyTorch is missing"
[ -s "$prefix/share/gemmsmith/python/gemmsmith/torch.py" ] || fail "its module is missing"

# CMake
cmake -S "$source/tests/scripts/consumer" -B "$work/cmake" -DCMAKE_PREFIX_PATH="$prefix" -DWANTED="${version%.*}" > "$work/log" 2>&1 || { cat "$work/log"; fail "find_package"; }
cmake --build "$work/cmake" > "$work/log" 2>&1 || { cat "$work/log"; fail "a program by CMake"; }
consume "shared library by CMake" "$work/cmake/shared" "$prefix"
if [ -e "$lib/libgemmsmith.a" ]; then
    # its own folder of tables is the one that was configured
    LD_LIBRARY_PATH=$lib "$work/cmake/static" || fail "the static library does not run"
    echo "ok: static library by CMake"
fi
if cmake -S "$source/tests/scripts/consumer" -B "$work/wrong" -DCMAKE_PREFIX_PATH="$prefix" -DWANTED=77.0 > "$work/log" 2>&1; then fail "version 77 was found"; fi

# pkg-config
if command -v pkg-config >/dev/null; then
    flags=$(PKG_CONFIG_PATH="$lib/pkgconfig" pkg-config --cflags --libs gemmsmith) || fail "pkg-config"
    # shellcheck disable=SC2086
    ${CC:-cc} "$source/tests/scripts/consumer/program.c" -o "$work/plain" $flags || fail "a program by pkg-config"
    consume "shared library by pkg-config" "$work/plain" "$prefix"
    [ "$(PKG_CONFIG_PATH="$lib/pkgconfig" pkg-config --modversion gemmsmith)" = "$version" ] || fail "the version that pkg-config says"
else
    echo "left out: there is no pkg-config"
fi

# the program, its pages and completions
"$prefix/bin/gemmsmith" help > /dev/null || fail "the program"
for command in $("$prefix/bin/gemmsmith" help | sed -n '/^commands:/,/^$/s/^  \([a-z]*\)  .*/\1/p'); do
    [ -s "$prefix/share/man/man1/gemmsmith-$command.1" ] || fail "gemmsmith $command has no page"
done
for call in $(sed -n 's/^ *\(gs_[a-z_]*\);$/\1/p' "$source/cmake/gemmsmith.map"); do
    [ -s "$prefix/share/man/man3/$call.3" ] || fail "$call has no page"
done
for file in libgemmsmith_blas.so libgemmsmith_blas_audit.so; do [ -s "$lib/$file" ] || fail "$file is missing"; done
if "$prefix/bin/gemmsmith" record --out "$work/recorded" -- true 2>&1 | grep "not beside"; then fail "record does not find libgemmsmith_blas.so"; fi
for file in bash-completion/completions/gemmsmith zsh/site-functions/_gemmsmith fish/vendor_completions.d/gemmsmith.fish \
    gemmsmith/tuned/nvidia-h200.tuned gemmsmith/tuned/nvidia-h200.weights gemmsmith/prompts/schedules-ask.md; do
    [ -s "$prefix/share/$file" ] || fail "share/$file is missing"
done

#!/bin/sh
# SPDX-License-Identifier: MIT
# Debian packages of a build: the same bytes twice, each installed file in one of them, fields, modes, links, man pages, changelog. That they
# install and serve programs on a clean system is what `make check-release` tests. Usage: deb.sh SOURCE BUILD
set -eu
source=$1
build=$2
export LC_ALL=C GS_DEB_LEVEL=0
for tool in dpkg-deb dpkg-shlibdeps dpkg-architecture strip; do
    command -v $tool >/dev/null || { echo "skipped: there is no $tool"; exit 77; }
done
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
fail() { echo "not ok: $*"; exit 1; }
version=$(sed -n 's/^#define GS_VERSION_TEXT *"\(.*\)"/\1/p' "$source/include/gemmsmith/gemmsmith.h")
libdir=$(sed -n 's/^CMAKE_INSTALL_LIBDIR:[A-Z]*=//p' "$build/CMakeCache.txt")

# twice, the second time by someone with other habits
sh "$source/scripts/make_deb.sh" --build "$build" --out "$work/one" > "$work/log" 2>&1 || { cat "$work/log"; fail "make_deb.sh"; }
(umask 077; cd /; TZ=Asia/Tokyo sh "$source/scripts/make_deb.sh" --build "$build" --out "$work/two") > /dev/null || fail "make_deb.sh again"
diff -r "$work/one" "$work/two" || fail "the same build gives other bytes"
cd "$work/one"
[ "$(echo *.deb | tr ' ' '\n' | sed 's/_.*//' | tr '\n' ' ')" = "gemmsmith-tuned gemmsmith libgemmsmith-dev libgemmsmith1 python3-gemmsmith " ] || fail "packages: $(echo *.deb)"

# every installed file is in one package, and nothing else but documents
DESTDIR=$work/all cmake --install "$build" --prefix /usr > /dev/null
(cd "$work/all" && find . ! -type d) | sed 's#\(.*/man/.*\)#\1.gz#' | sort > "$work/installed"
for package in *.deb; do dpkg-deb -c "$package" | grep -v '^d' | awk '{print $6}'; done | grep -v '^\./usr/share/doc/\|^\./usr/lib/python3/' | sort > "$work/packed"
diff "$work/installed" "$work/packed" || fail "what is installed is not what is packed"

field() { dpkg-deb -f "$(echo "$1"_*.deb)" "$2"; }
for package in libgemmsmith1 libgemmsmith-dev gemmsmith python3-gemmsmith gemmsmith-tuned; do
    file=$(echo ${package}_*.deb)
    [ "$(field $package Version)" = "$version" ] || fail "$package: version"
    dpkg-deb -c "$file" | awk '$2 != "root/root" {print; bad = 1}
        $1 !~ /^(drwxr-xr-x|-rw-r--r--|lrwxrwxrwx)$/ && !($1 == "-rwxr-xr-x" && $6 ~ /^\.\/usr\/bin\//) {print; bad = 1} END {exit bad}' || fail "$package: owner or mode"
    mkdir "$work/$package"
    dpkg-deb -R "$file" "$work/$package"
    (cd "$work/$package" && md5sum --quiet -c DEBIAN/md5sums && [ "$(wc -l < DEBIAN/md5sums)" = "$(find usr -type f | wc -l)" ]) || fail "$package: sums"
    for document in copyright changelog.gz; do [ -s "$work/$package/usr/share/doc/$package/$document" ] || fail "$package: no $document"; done
    gzip -dc "$work/$package/usr/share/doc/$package/changelog.gz" > "$work/changelog"
    dpkg-parsechangelog -l "$work/changelog" -S Version 2>/dev/null | grep -qx "$version" || [ "$(sed -n '1s/.*(\(.*\)).*/\1/p' "$work/changelog")" = "$version" ] || fail "$package: changelog"
    if grep -r -l -F -e "$source/" -e "$build/" "$work/$package"; then fail "$package names a path of one machine"; fi
done

# who needs whom
case $(field libgemmsmith1 Depends) in "libc6 (>= "*) ;; *) fail "libgemmsmith1 needs $(field libgemmsmith1 Depends)" ;; esac
case $(field libgemmsmith1 Depends) in *,*) fail "libgemmsmith1 needs more than the C library: $(field libgemmsmith1 Depends)" ;; esac
[ "$(field libgemmsmith-dev Depends)" = "libgemmsmith1 (= $version)" ] || fail "libgemmsmith-dev needs $(field libgemmsmith-dev Depends)"
for library in libc6 libsqlite3 libjansson libcurl libmicrohttpd libseccomp; do
    case $(field gemmsmith Depends) in *"$library"*) ;; *) fail "gemmsmith needs $library" ;; esac
done
[ "$(field gemmsmith-tuned Architecture)" = all ] || fail "the tables are for every machine"
[ "$(cat "$work/libgemmsmith1/DEBIAN/triggers")" = "activate-noawait ldconfig" ] || fail "no trigger of ldconfig"
grep -qx "libgemmsmith 1 libgemmsmith1 (>= $version)" "$work/libgemmsmith1/DEBIAN/shlibs" || fail "shlibs"

# what belongs where
[ "$(readlink "$work/libgemmsmith1/usr/$libdir/libgemmsmith.so.1")" = "libgemmsmith.so.$version" ] || fail "the link of the soname"
[ -L "$work/libgemmsmith-dev/usr/$libdir/libgemmsmith.so" ] || fail "the link for the linker"
[ -s "$work/libgemmsmith-dev/usr/share/man/man3/gs_open.3.gz" ] || fail "manual pages of calls"
[ -s "$work/gemmsmith/usr/share/man/man1/gemmsmith.1.gz" ] || fail "manual pages of commands"
[ -x "$work/gemmsmith/usr/bin/gemmsmith" ] || fail "the program"
"$work/gemmsmith/usr/bin/gemmsmith" --version | grep -q "$version" || fail "the program does not run"
for module in gemmsmith/__init__.py gemmsmith/torch.py gemmsmith_taskset.py; do
    [ -s "$work/python3-gemmsmith/usr/lib/python3/dist-packages/$module" ] || fail "Python does not find $module"
done
[ -s "$work/gemmsmith-tuned/usr/share/gemmsmith/tuned/nvidia-h200.tuned" ] || fail "tables"

# a version without an entry is not packed
mkdir -p "$work/tree/include/gemmsmith" "$work/tree/cmake"
cp -r "$source/scripts" "$source/CHANGELOG.md" "$work/tree"
cp -r "$source/cmake/debian" "$work/tree/cmake"
sed "s/\"$version\"/\"77.0.0\"/" "$source/include/gemmsmith/gemmsmith.h" > "$work/tree/include/gemmsmith/gemmsmith.h"
if sh "$work/tree/scripts/make_deb.sh" --build "$build" --out "$work/three" 2> "$work/log"; then fail "a version without an entry was packed"; fi
grep -q "no entry of 77.0.0" "$work/log" || { cat "$work/log"; fail "a version without an entry"; }

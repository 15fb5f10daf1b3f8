#!/bin/sh
# SPDX-License-Identifier: MIT
# Makes a release of the commit that is checked out, in dist/VERSION: the source as a tarball, Debian packages, wheels where
# scripts/make_wheel.py makes them, and their checksums. All is built from a clean clone, and the same commit gives the same bytes.
#   release.sh VERSION [OUT]
# Refused: a tree with changes, a version that is not that of include/gemmsmith/gemmsmith.h, one without an entry in CHANGELOG.md.
set -eu
umask 022
export LC_ALL=C.UTF-8 TZ=UTC
[ $# -ge 1 ] && [ $# -le 2 ] || { echo "usage: release.sh VERSION [OUT]" >&2; exit 2; }
cd "$(dirname "$0")/.."
version=$1
out=${2:-dist/$version}
refuse() { echo "release: $*" >&2; exit 1; }
git rev-parse --is-inside-work-tree > /dev/null 2>&1 || refuse "this is no checkout"
changed=$(git status --porcelain | head -n 5)
[ -z "$changed" ] || refuse "the tree has changes that are not committed:
$changed"
written=$(sed -n 's/^#define GS_VERSION_TEXT *"\(.*\)"/\1/p' include/gemmsmith/gemmsmith.h)
[ "$written" = "$version" ] || refuse "include/gemmsmith/gemmsmith.h says $written, not $version"
python3 scripts/changelog.py "$version" > /dev/null || refuse "write what $version brings into CHANGELOG.md, with its day"
mkdir -p "$out"
[ -z "$(ls -A "$out")" ] || refuse "$out is not empty"
out=$(cd "$out" && pwd)
SOURCE_DATE_EPOCH=$(git log -1 --format=%ct)
export SOURCE_DATE_EPOCH

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
git clone --quiet --no-hardlinks "file://$PWD" "$work/gemmsmith"
git -C "$work/gemmsmith" checkout --quiet --detach "$(git rev-parse HEAD)"
cd "$work/gemmsmith"
git archive --format=tar --prefix="gemmsmith-$version/" HEAD | gzip -9n > "$out/gemmsmith-$version.tar.gz"
sh scripts/make_deb.sh --out "$out"
[ ! -e scripts/make_wheel.py ] || python3 scripts/make_wheel.py --out "$out"
(cd "$out" && find . -type f ! -name SHA256SUMS -printf '%P\n' | sort | xargs sha256sum > SHA256SUMS)
echo "$out: $(wc -l < "$out/SHA256SUMS") files"

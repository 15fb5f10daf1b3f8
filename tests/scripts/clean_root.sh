#!/bin/sh
# SPDX-License-Identifier: MIT
# Debian packages as their users meet them: installed, used and removed in a root of their own (clean_root_inside.sh). Needs root. Skipped (77) where
# that cannot be had.
#   clean_root.sh SOURCE DEBS          a fresh Debian or Ubuntu of this release, by mmdebstrap from the mirrors of this machine: some 100 MB
#   clean_root.sh --host SOURCE DEBS   over this machine's own files, which stay as they are: nothing is fetched
set -eu
host=
[ "$1" != --host ] || { host=1; shift; }
source=$(cd "$1" && pwd)
debs=$(cd "$2" && pwd)
skip() { echo "skipped: $*"; exit 77; }
[ "$(id -u)" = 0 ] || skip "a root of its own needs root"
ls "$debs"/*.deb > /dev/null
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# what inside.sh finds in /try
try=$work/try
mkdir -p "$try/source/tests/scripts" "$try/source/examples" "$try/nvrtc" "$try/debs"
cp "$debs"/*.deb "$try/debs"
cp -r "$source/tests/scripts/consumer" "$try/source/tests/scripts"
cp -r "$source/examples/c" "$try/source/examples"
cp "$source/tests/scripts/clean_root_inside.sh" "$try/inside.sh"
[ ! -e "$source/build/deps/env" ] || . "$source/build/deps/env"
nvrtc=${GEMMSMITH_NVRTC:-$({ ldconfig -p 2>/dev/null || /sbin/ldconfig -p; } | awk '$1 ~ /^libnvrtc\.so\./ {print $NF; exit}')}
[ -z "$nvrtc" ] || cp -L "$(dirname "$nvrtc")"/libnvrtc* "$try/nvrtc"

if [ -n "$host" ]; then
    command -v unshare > /dev/null || skip "there is no unshare"
    mkdir "$work/layer" "$work/root"
    # in a file system of its own: what stands on an overlay cannot be its upper layer
    cat > "$work/run.sh" <<'END'
mount -t tmpfs -o size=1g none "$1/layer" && mkdir "$1/layer/upper" "$1/layer/work" &&
    mount -t overlay -o "lowerdir=/,upperdir=$1/layer/upper,workdir=$1/layer/work" none "$1/root" || exit 77
cp -r "$1/try" "$1/root/try" && mount --rbind /dev "$1/root/dev" && mount -t proc none "$1/root/proc" || exit 77
exec chroot "$1/root" sh /try/inside.sh dpkg "layered"
END
    code=0
    unshare --mount --pid --fork sh "$work/run.sh" "$work" || code=$?
    [ $code != 77 ] || skip "file systems cannot be layered here"
    exit $code
fi

command -v mmdebstrap > /dev/null || skip "there is no mmdebstrap (apt-get install mmdebstrap)"
. /etc/os-release
sources=
for file in /etc/apt/sources.list /etc/apt/sources.list.d/*.sources /etc/apt/sources.list.d/*.list; do
    [ ! -s "$file" ] || sources="$sources $file"
done
# shellcheck disable=SC2086
mmdebstrap --quiet --variant=apt --format=null --include=gcc,libc6-dev,cmake,make,pkg-config --customize-hook="copy-in $try /" \
    --customize-hook='chroot "$1" sh /try/inside.sh apt fresh' "$VERSION_CODENAME" /dev/null $sources

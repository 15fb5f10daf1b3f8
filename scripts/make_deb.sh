#!/bin/sh
# SPDX-License-Identifier: MIT
# Debian packages of the installed components, for the system that this runs on: libgemmsmith1, libgemmsmith-dev, gemmsmith,
# python3-gemmsmith, gemmsmith-tuned (cmake/debian/control). The same tree and compiler give the same bytes; SOURCE_DATE_EPOCH is the day of CHANGELOG.md where it is not set.
#   make_deb.sh [--build FOLDER] [--out FOLDER]
# --build: a build that exists is packed as it was configured. Default: build/deb is configured for /usr and built, with Debian's options of
# the compiler. --out: default is dist. GS_DEB_LEVEL: how much xz compresses, 0 to 9; default 6.
set -eu
umask 022
export LC_ALL=C.UTF-8 TZ=UTC
build= out=dist
while [ $# -gt 0 ]; do
    case $1 in
    --build) build=$2; shift 2 ;;
    --out)   out=$2; shift 2 ;;
    *) echo "usage: make_deb.sh [--build FOLDER] [--out FOLDER]" >&2; exit 2 ;;
    esac
done
mkdir -p "$out"
out=$(cd "$out" && pwd)
[ -z "$build" ] || build=$(cd "$build" && pwd)
cd "$(dirname "$0")/.."
for tool in dpkg-deb dpkg-shlibdeps dpkg-architecture cmake python3 strip readelf; do
    command -v "$tool" >/dev/null || { echo "make_deb: $tool is missing (apt-get install dpkg-dev cmake python3 binutils)" >&2; exit 1; }
done
version=$(sed -n 's/^#define GS_VERSION_TEXT *"\(.*\)"/\1/p' include/gemmsmith/gemmsmith.h)
date=$(python3 scripts/changelog.py --date "$version")
: "${SOURCE_DATE_EPOCH:=$(date -u -d "$date" +%s)}"
export SOURCE_DATE_EPOCH DPKG_DEB_THREADS_MAX=1   # threads would change what xz writes
machine=$(dpkg-architecture -qDEB_HOST_ARCH)
maintainer=$(sed -n 's/^Maintainer: //p' cmake/debian/control)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

if [ -z "$build" ]; then
    build=$PWD/build/deb
    CFLAGS="$(dpkg-buildflags --get CFLAGS) $(dpkg-buildflags --get CPPFLAGS) -g0 -ffile-prefix-map=$PWD=." LDFLAGS="$(dpkg-buildflags --get LDFLAGS) -Wl,-z,now" \
        cmake -S . -B "$build" -G Ninja -DCMAKE_BUILD_TYPE=Release -DCMAKE_INSTALL_PREFIX=/usr -DCMAKE_INSTALL_LIBDIR="lib/$(dpkg-architecture -qDEB_HOST_MULTIARCH)" \
        -DGS_ZSH_DIR=share/zsh/vendor-completions -DGS_TESTS=OFF >&2
    cmake --build "$build" -- ${GS_JOBS:+-j$GS_JOBS} >&2
fi
libdir=usr/$(sed -n 's/^CMAKE_INSTALL_LIBDIR:[A-Z]*=//p' "$build/CMakeCache.txt")

stanza() { awk -v RS= -v name="$1" 'index($0, "Package: " name "\n") == 1' cmake/debian/control; }

# what dpkg-shlibdeps wants to see around it
mkdir -p "$work/source/debian"
sed '/^Component:/d' cmake/debian/control > "$work/source/debian/control"
needs() { # needs STAGE: Debian's packages with the libraries that its programs need
    objects=$(find "$1" -type f \( -path '*/bin/*' -o -name '*.so*' \) | sort)
    [ -n "$objects" ] || return 0
    # shellcheck disable=SC2086
    (cd "$work/source" && dpkg-shlibdeps -O $objects 2>"$work/shlibdeps") > "$work/needed" || { cat "$work/shlibdeps" >&2; exit 1; }
    sed -n 's/^shlibs:Depends=//p' "$work/needed"
}

pack() { # pack PACKAGE
    package=$1 stage=$work/$1
    component=$(stanza "$package" | sed -n 's/^Component: //p')
    DESTDIR=$stage cmake --install "$build" --prefix /usr --component "$component" > "$work/log" || { cat "$work/log" >&2; exit 1; }
    [ -d "$stage/usr" ] || { echo "make_deb: the component $component is empty" >&2; exit 1; }
    find "$stage" -name '*.so*' -type f -exec strip --strip-unneeded --remove-section=.comment --remove-section=.note {} +
    find "$stage" -path '*/usr/bin/*' -type f -exec strip --remove-section=.comment --remove-section=.note {} +
    find "$stage" -name '*.a' -exec strip --strip-debug --enable-deterministic-archives {} +
    for object in $(find "$stage" -type f \( -path '*/bin/*' -o -name '*.so*' \)); do
        if readelf -d "$object" | grep -E 'R(UN)?PATH'; then echo "make_deb: $object looks for libraries in the build" >&2; exit 1; fi
    done
    if [ "$component" = python ]; then   # where Python looks; the program finds its scripts where they are
        mkdir -p "$stage/usr/lib/python3/dist-packages"
        for module in "$stage"/usr/share/gemmsmith/python/*; do
            ln -s "../../../share/gemmsmith/python/$(basename "$module")" "$stage/usr/lib/python3/dist-packages"
        done
    fi
    find "$stage" -path '*/share/man/*' -type f -exec gzip -9n {} +
    documents=$stage/usr/share/doc/$package
    mkdir -p "$documents"
    cp cmake/debian/copyright "$documents/copyright"
    python3 scripts/changelog.py --debian "$maintainer" | gzip -9n > "$documents/changelog.gz"
    find "$stage" -type d -exec chmod 755 {} +
    find "$stage" -type f -exec chmod 644 {} +
    find "$stage" -path '*/usr/bin/*' -type f -exec chmod 755 {} +

    arch=$(stanza "$package" | sed -n 's/^Architecture: //p')
    [ "$arch" = all ] || arch=$machine
    needed=$(needs "$stage")
    size=$(find "$stage" -mindepth 1 -printf '%y %s\n' | awk '{k += $1 == "f" ? int(($2 + 1023) / 1024) : 1} END {print k}')
    mkdir "$stage/DEBIAN"
    {
        echo "Package: $package"
        [ "$package" = gemmsmith ] || echo "Source: gemmsmith"
        echo "Version: $version"
        echo "Architecture: $arch"
        echo "Maintainer: $maintainer"
        echo "Installed-Size: $size"
        stanza "$package" | sed -e '/^Package:/d; /^Component:/d; /^Architecture:/d' -e "s/\${Version}/$version/g" -e "s/\${shlibs:Depends}/$needed/" |
            if [ "$libdir" = usr/lib ] || [ "$libdir" = usr/lib64 ]; then sed '/^Multi-Arch: same/d'; else cat; fi |
            sed '/^Section:/i\
Priority: optional'
    } > "$stage/DEBIAN/control"
    if [ "$component" = python ]; then   # what Python compiled goes with it
        printf '#!/bin/sh\nset -e\nfind /usr/share/gemmsmith/python -name __pycache__ -prune -exec rm -rf {} +\n' > "$stage/DEBIAN/prerm"
    fi
    (cd "$stage" && find usr -type f | sort | xargs md5sum) > "$stage/DEBIAN/md5sums"
    for object in $(find "$stage/$libdir" -maxdepth 1 -name '*.so.*' -type f 2>/dev/null | sort); do
        soname=$(readelf -d "$object" | sed -n 's/.*SONAME.*\[\(.*\)\.so\.\(.*\)\]/\1 \2/p')
        [ "${soname#* }" = "${package#libgemmsmith}" ] || { echo "make_deb: $soname in a package $package" >&2; exit 1; }
        echo "$soname $package (>= $version)" >> "$stage/DEBIAN/shlibs"
    done
    [ ! -e "$stage/DEBIAN/shlibs" ] || echo "activate-noawait ldconfig" > "$stage/DEBIAN/triggers"
    find "$stage/DEBIAN" -type f -exec chmod 644 {} +
    [ ! -e "$stage/DEBIAN/prerm" ] || chmod 755 "$stage/DEBIAN/prerm"
    find "$stage" -exec touch -h -d "@$SOURCE_DATE_EPOCH" {} +
    dpkg-deb --root-owner-group -Zxz -z"${GS_DEB_LEVEL:-6}" --build "$stage" "$out/${package}_${version}_$arch.deb" > /dev/null
    echo "$out/${package}_${version}_$arch.deb"
}

for package in $(sed -n 's/^Package: //p' cmake/debian/control); do pack "$package"; done

#!/bin/sh
# SPDX-License-Identifier: MIT
# scripts/release.sh in a small checkout whose packages are pretended: what is refused, what is made, the same bytes twice.
# The real thing is made by `make check-release`. Usage: release.sh SOURCE
set -eu
source=$1
command -v git > /dev/null || { echo "skipped: there is no git"; exit 77; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
fail() { echo "not ok: $*"; exit 1; }
export HOME="$work" GIT_CONFIG_NOSYSTEM=1 GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a@example.org GIT_COMMITTER_NAME=a GIT_COMMITTER_EMAIL=a@example.org
mkdir -p "$work/tree/scripts" "$work/tree/include/gemmsmith"
cd "$work/tree"
git init --quiet .
cp "$source/scripts/release.sh" "$source/scripts/changelog.py" scripts
printf '#define GS_VERSION_TEXT  "7.1.0"\n' > include/gemmsmith/gemmsmith.h
printf '# Changelog\n\n## [7.1.0] - 2031-05-06\n\n### Added\n\n- A thing that is\n  long.\n\n## [7.0.0] - 2030-01-02\n\n- More.\n\n## [6.0.0] - 2029-01-02\n' > CHANGELOG.md
printf 'while [ "$1" != --out ]; do shift; done\n[ "$(git status --porcelain)" = "" ] || exit 1\necho "$SOURCE_DATE_EPOCH" > "$2/gemmsmith_7.1.0_pretended.deb"\n' > scripts/make_deb.sh
echo build > .gitignore
git add . && git commit --quiet -m first
release() { sh scripts/release.sh "$@" > "$work/log" 2>&1; }
refused() { # refused TEXT ARGUMENTS
    text=$1
    shift
    if release "$@"; then fail "not refused: $text"; fi
    grep -q "$text" "$work/log" || { cat "$work/log"; fail "the reason '$text'"; }
}

refused "usage" 7.1.0 "$work/out" more
refused "says 7.1.0, not 7.2.0" 7.2.0 "$work/out"
echo more >> CHANGELOG.md
refused "not committed" 7.1.0 "$work/out"
git checkout --quiet CHANGELOG.md
touch new.c
refused "not committed" 7.1.0 "$work/out"
rm new.c
for version in 6.0.0 8.0.0; do   # an entry without text, none
    sed -i "s/\".*\"/\"$version\"/" include/gemmsmith/gemmsmith.h
    git commit --quiet -am "$version"
    refused "CHANGELOG.md has no entry of $version" $version "$work/out"
    git reset --quiet --hard HEAD~
done
[ ! -e "$work/out" ] || fail "something was made"

mkdir build && touch build/left   # ignored, and not part of a release
release 7.1.0 "$work/out" || { cat "$work/log"; fail "a release"; }
(cd "$work/out" && sha256sum --quiet -c SHA256SUMS) || fail "checksums"
[ "$(ls "$work/out" | tr '\n' ' ')" = "SHA256SUMS gemmsmith-7.1.0.tar.gz gemmsmith_7.1.0_pretended.deb " ] || fail "made: $(ls "$work/out")"
[ "$(wc -l < "$work/out/SHA256SUMS")" = 2 ] || fail "what is summed"
[ "$(cat "$work/out"/*.deb)" = "$(git log -1 --format=%ct)" ] || fail "the time of a release is its commit's"
tar -tzf "$work/out/gemmsmith-7.1.0.tar.gz" > "$work/listed"
grep -qx gemmsmith-7.1.0/CHANGELOG.md "$work/listed" || fail "the tarball"
if grep -q build/left "$work/listed"; then fail "the tarball has what is not committed"; fi
refused "is not empty" 7.1.0 "$work/out"
sleep 1
release 7.1.0 || { cat "$work/log"; fail "a release in its usual place"; }
diff -r "$work/out" dist/7.1.0 || fail "other bytes the second time"
rm -r dist

# a wheel, where it can be made; what fails ends the release
printf 'import sys, pathlib\npathlib.Path(sys.argv[2], "gemmsmith-7.1.0.whl").write_text("wheel")\n' > scripts/make_wheel.py
git add . && git commit --quiet -m wheel
release 7.1.0 "$work/wheel" || { cat "$work/log"; fail "with a wheel"; }
grep -q gemmsmith-7.1.0.whl "$work/wheel/SHA256SUMS" || fail "the wheel has no sum"
echo 'raise SystemExit("broken")' > scripts/make_wheel.py
git commit --quiet -am broken
if release 7.1.0 "$work/broken"; then fail "a wheel that cannot be made was passed over"; fi
[ ! -e "$work/broken/SHA256SUMS" ] || fail "sums of half a release"

# what Debian reads
python3 scripts/changelog.py --debian 'A <a@example.org>' > "$work/debian"
printf 'gemmsmith (7.1.0) unstable; urgency=medium\n\n  * A thing that is long.\n\n -- A <a@example.org>  Tue, 06 May 2031 00:00:00 +0000\n' > "$work/wanted"
head -n 5 "$work/debian" | diff "$work/wanted" - || fail "Debian's changelog"
[ "$(python3 scripts/changelog.py --date 7.0.0)" = 2030-01-02 ] || fail "the day of a version"

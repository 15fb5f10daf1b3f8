#!/bin/sh
# SPDX-License-Identifier: MIT
# What a release needs beyond `make check`: release.sh makes the same bytes twice, lintian finds no error, and the packages install, work and
# leave on a fresh system. Builds twice, and fetches some 100 MB of Debian. The tree must have no changes. Ends as check.sh does.
set -u
cd "$(dirname "$0")/.."
version=$(sed -n 's/^#define GS_VERSION_TEXT *"\(.*\)"/\1/p' include/gemmsmith/gemmsmith.h)
passed=0 failed=0 skipped=0
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
one() { # one NAME COMMAND...
    name=$1 code=0
    shift
    "$@" > "$work/log" 2>&1 || code=$?
    case $code in
    0)  passed=$((passed + 1)); echo "ok       $name" ;;
    77) skipped=$((skipped + 1)); echo "skipped  $name: $(tail -n 1 "$work/log")" ;;
    *)  failed=$((failed + 1)); echo "FAILED   $name"; tail -n 60 "$work/log" ;;
    esac
}
lint() {
    command -v lintian > /dev/null || { echo "there is no lintian (apt-get install lintian)"; return 77; }
    lintian --no-tag-display-limit --fail-on error "$work"/one/*.deb
}
one "a release" sh scripts/release.sh "$version" "$work/one"
[ "$failed" -gt 0 ] || one "the same bytes again" sh -c "sh scripts/release.sh $version '$work/two' && diff -r '$work/one' '$work/two'"
if [ -e "$work/one/SHA256SUMS" ]; then
    one "lintian" lint
    one "packages on a fresh system" sh tests/scripts/clean_root.sh . "$work/one"
    one "packages on a layered system" sh tests/scripts/clean_root.sh --host . "$work/one"
fi
echo "$passed passed, $failed failed, $skipped skipped"
[ "$failed" -eq 0 ] && [ "$passed" -gt 0 ]

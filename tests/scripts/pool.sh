#!/bin/sh
# SPDX-License-Identifier: MIT
# tools/pick_pairs and tools/replay on rows that are made up: what is chosen to be measured, which rows count, and what a policy would have found.
# Usage: pool.sh SOURCE BUILD
set -u
source=$1 build=$2
. "$source/tests/scripts/folder.sh"
unset GEMMSMITH_WEIGHTS
pick=$build/tools/pick_pairs replay=$build/tools/replay
problem=f16:512x512x512:tn

# problems: as many as asked for, each kept from training or not, the same for a seed
"$pick" held_out 3 8 10 200 > held || fail "problems"
"$pick" others 3 8 10 200 > learned || fail "others"
expect "problems" "8 8" "$(wc -l < held | tr -d ' ') $(wc -l < learned | tr -d ' ')"
"$pick" held_out 3 8 10 200 | cmp -s - held || fail "the same seed chooses others"
"$pick" held_out 4 8 10 200 | cmp -s - held && fail "another seed chooses the same"
grep -qxFf held learned && fail "held out and not"

# pairs: without model and chance, the first of learned and what is a word away; each once
echo $problem | "$pick" pool 1 0 1 0 > near || fail "pairs"
[ "$(wc -l < near)" -gt 10 ] || fail "few neighbours"
awk -F , '
    { words = split($2, word, "/") }
    NR == 1 { count = words; for (i = 1; i <= words; i++) first[i] = word[i]; next }
    { changed = 0; for (i = 1; i <= words; i++) changed += word[i] != first[i] }
    words != count || changed != 1 { print; bad = 1 }
    END { exit bad }' near || fail "these are not a word away"
echo $problem | "$pick" pool 1 5 1 7 > more || fail "pairs"
head -n "$(wc -l < near)" more | cmp -s - near || fail "the same begin otherwise"
added=$(($(wc -l < more) - $(wc -l < near)))
{ [ $added -ge 7 ] && [ $added -le 12 ]; } || fail "$added more"
expect "pairs twice" 0 "$(sort more | uniq -d | wc -l | tr -d ' ')"
printf 'nonsense\n%s\n' "$problem" | "$pick" pool 1 0 1 0 | cmp -s - near || fail "what is no problem is left out"

# rows: later ones in place of earlier ones, whatever they say; what was not timed does not count
cat > a.csv <<END
problem,schedule,us
$problem,mma/64x64x64/w2x2/s2/g2,20
$problem,mma/64x64x64/w2x2/s3/g2,10
$problem,mma/64x64x64/w2x2/s4/g2,0
f16:64x64x64:tn,simple,7
END
cat > b.csv <<END
$problem,mma/64x64x64/w2x2/s3/g2,16
$problem,mma/64x64x64/w2x2/s5/g2,12.5
f16:128x64x64:tn,gone/away,3
END
cat > expected <<END
group,problem,schedule,us
1,f16:128x64x64:tn,gone/away,3
2,$problem,mma/64x64x64/w2x2/s5/g2,12.5
2,$problem,mma/64x64x64/w2x2/s3/g2,16
2,$problem,mma/64x64x64/w2x2/s2/g2,20
3,f16:64x64x64:tn,simple,7
END
"$pick" truth a.csv b.csv > truth.csv || fail "truth"
cmp -s truth.csv expected || { fail "truth:"; diff expected truth.csv; }
"$pick" best 2 a.csv b.csv > best || fail "best"
grep -v '^group\|s2/g2' expected | cut -d , -f 2,3 | cmp -s - best || { fail "best:"; cat best; }
"$pick" truth a.csv nothing.csv > said 2>&1 && fail "a file that is not there"
"$pick" truth > said 2>&1
expect "usage" 2 $?

# what policies would have found: of all there is, in the end, the best; a group of other grammars is left out
for policy in enumerate random evolve learned; do
    "$replay" $policy 2 truth.csv 3 > curve.csv || fail "replay $policy"
    expect "$policy: head" "policy,seed,problem,measured,said,share" "$(head -n 1 curve.csv)"
    # learned has a list of its own, which need not have any of these
    [ $policy = learned ] || expect "$policy: problems" "$problem 3 f16:64x64x64:tn 3" "$(tail -n +2 curve.csv | cut -d , -f 3 | uniq -c | awk '{ printf "%s%s %s", space, $2, $1; space = " " }')"
    awk -F , -v name=$policy '
        NR == 1 { next }
        $1 != name || $2 != 2 || $4 != ($3 == last ? before + 1 : 1) || $5 + 0 < $4 && $3 != "f16:64x64x64:tn" && $4 < 3 || $6 + 0 > 1 || ($3 == last && $6 + 0 < share) { print; bad = 1 }
        { last = $3; before = $4; share = $6 + 0 }
        END { exit bad }' curve.csv || fail "$policy: these rows"
done
"$replay" enumerate 1 truth.csv 3 > curve.csv
"$replay" random 1 truth.csv 3 > random.csv
for curve in curve.csv random.csv; do expect "$curve: all of a group" "1.00000" "$(grep "$problem,3," $curve | cut -d , -f 6)"; done
first=$(grep "$problem,1," curve.csv | cut -d , -f 6)   # 12.5 over the time of whichever it says first
case $first in 1.00000 | 0.78125 | 0.62500) ;; *) fail "the first has $first" ;; esac
"$replay" enumerate 1 truth.csv 3 | cmp -s - curve.csv || fail "another curve"
"$replay" oracle 1 truth.csv 3 > said 2>&1 && fail "a policy that is not there"
printf 'group,problem,schedule,us\n1,nonsense,simple,3\n' > bad.csv
"$replay" random 1 bad.csv 3 > said 2>&1 && fail "a problem that is none"
"$replay" random 1 truth.csv > said 2>&1
expect "usage" 2 $?
[ $failed = 0 ] && echo "ok"
exit $failed

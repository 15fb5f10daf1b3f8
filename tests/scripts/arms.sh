#!/bin/sh
# SPDX-License-Identifier: MIT
# tools/time_arms on an emulated device: each arm's proposals are counted in its order, what is not valid is lost, a longer search goes on, and the best of
# all is the measure.
# Usage: arms.sh SOURCE BUILD
set -u
source=$1 build=$2
"$build/gemmsmith" info | grep -q '^NVRTC *none' && { echo "no NVRTC"; exit 77; }
. "$source/tests/scripts/folder.sh"
unset GEMMSMITH_WEIGHTS
arms=$build/tools/time_arms problem=f16:64x64x64:tn
printf '# none\n\n%s # a small one\nf16:16x64x64:nn\n' $problem > problems.txt
cat > list.csv <<END
f16:64x64x64:nn,mma/64x64x64/w2x2/s3/g2
$problem,mma/128x256x64/w9x9/s3/g2
$problem,nonsense
$problem,mma/64x64x64/w2x2/s4/g2
$problem,mma/64x64x64/w2x2/s3/g2
END
"$arms" emu:h200 problems.txt 100 4 given=list:list.csv order=enumerate:1 more=enumerate:1:$source/tuned/nvidia-h200.weights:8 \
    plan=plan:$source/tuned/nvidia-h200.weights > rows.csv 2> said || { fail "time_arms:"; cat said; }
expect "head" "policy,seed,problem,measured,said,share" "$(head -n 1 rows.csv)"
expect "a list's valid proposals" "given,1,$problem,1,1 given,1,$problem,4,2" "$(grep '^given' rows.csv | cut -d , -f 1-5 | tr '\n' ' ' | sed 's/ $//')"
expect "a search of its own length" "1 4 8 1 4 8" "$(grep '^more' rows.csv | cut -d , -f 4 | tr '\n' ' ' | sed 's/ $//')"
expect "both problems" "2" "$(grep -c '^order,1,.*,4,4,' rows.csv)"
# the same search is the same as far as it goes; the best of a problem is 1; more proposals are no worse as they were timed first
expect "the same policy" "$(grep '^order' rows.csv | cut -d , -f 3-)" "$(grep '^more' rows.csv | grep -v ',8,8,' | cut -d , -f 3-)"
awk -F , 'NR > 1 { if ($6 > 1 || $6 <= 0) bad = 1; if ($6 > best[$3]) best[$3] = $6 } END { for (p in best) if (best[p] < 0.9) bad = 1; exit bad }' rows.csv || { fail "shares:"; cat rows.csv; }
"$arms" emu:h200 problems.txt 0 4 order=enumerate:1 > none.csv || fail "no time"
expect "no time left" "1" "$(wc -l < none.csv | tr -d ' ')"
for wrong in "order" "order=" "order=enumerate" "plan=plan" "x=list" "x=enumerate:1:w:0" "x=enumerate:1:w:129" "x=enumerate:1:w:3:4"; do
    "$arms" emu:h200 problems.txt 1 4 "$wrong" > said 2>&1
    expect "$wrong" 2 $?
done
"$arms" emu:h200 problems.txt 9 4 x=oracle:1 > said 2>&1 && fail "a policy that is not there"
"$arms" emu:h200 problems.txt 9 4 x=plan:none.weights > said 2>&1 && fail "weights that are not there"
[ $failed = 0 ] && echo "ok"
exit $failed

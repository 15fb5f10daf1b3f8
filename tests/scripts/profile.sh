#!/bin/sh
# SPDX-License-Identifier: MIT
# scripts/profile.sh with an ncu that is a script: what it is asked, what stands in the folder afterwards, and what happens when it fails.
# Usage: profile.sh SOURCE
set -u
source=$1
command -v python3 > /dev/null || { echo "no python3"; exit 77; }
. "$source/tests/scripts/folder.sh"

mkdir bin build
cat > bin/ncu << 'END'
#!/bin/sh
[ "$1" != --version ] || { echo "Version 1"; exit; }
echo "$*" >> asked.txt
case "$*" in
*gs_ws*) echo "==ERROR== no permission" >&2; exit 1 ;;
*gs_gemv*) echo "pass"; exit 0 ;;
esac
echo '==PROF== Connected to process 1'
echo '"ID","Kernel Name","gpu__time_duration.sum","sm__inst_executed_pipe_tensor_op_dmma.avg.pct_of_peak_sustained_elapsed","sm__pipe_tensor_cycles_active.avg.pct_of_peak_sustained_elapsed","lts__throughput.avg.pct_of_peak_sustained_elapsed","gpu__dram_throughput.avg.pct_of_peak_sustained_elapsed","smsp__average_warps_issue_stalled_barrier_per_issue_active.ratio","smsp__average_warps_issue_stalled_long_scoreboard_per_issue_active.ratio","smsp__average_warps_issue_stalled_barrier_not_issued_per_issue_active.ratio","launch__registers_per_thread"'
echo '"","","ns","%","%","%","%","inst","inst","inst","register/thread"'
echo '"0","gs_splitk","5,730.5","0","41.6","30.2","12.4","1.0","3.0","0.9","168"'
echo 'pass  f16:64x64x64:tn'
END
printf '#!/bin/sh\necho "gemmsmith $*"\n' > build/gemmsmith
chmod +x bin/ncu build/gemmsmith
PATH=$work/bin:$PATH
export PATH

printf '# head\nf16:64x64x64:tn splitk/a/b   # why\n\nf16:1x64x64:tn splitk/c\n' > list.txt
sh "$source/scripts/profile.sh" build out list.txt > said.txt 2>&1
expect "two kernels" 0 $?
expect "runs" 2 "$(wc -l < asked.txt)"
expect "the clocks stay" 2 "$(grep -c -- '--clock-control none' asked.txt)"
expect "one kernel of the family" 2 "$(grep -c -- '--kernel-name regex:^gs_splitk --launch-count 1' asked.txt)"
expect "the candidate" 1 "$(grep -c -- 'build/gemmsmith verify f16:1x64x64:tn --schedule splitk/c --parts normal' asked.txt)"
expect "the machine" 1 "$(grep -c '^gemmsmith info' out/info.txt)"
expect "a row" '| f16:64x64x64:tn | splitk/a/b | 5.73 | 42 |  |  | 30 | 12 | 168 | long scoreboard 75%, barrier 25% |' "$(grep '64x64x64' out/report.md)"
expect "rows" 2 "$(grep -c '^| f16' out/report.md)"
expect "messages" 0 "$(find out -name '*.err' | wc -l)"

for family in ws gemv; do
    printf 'f16:64x64x64:tn %s/a\n' $family > list.txt
    rm -rf out
    sh "$source/scripts/profile.sh" build out list.txt > said.txt 2>&1
    expect "$family: failure" 1 $?
    expect "$family: said" 1 "$(grep -c "$family/a: exit code" said.txt)"
done
expect "no report of nothing" 0 "$(find out -name 'report.md' | wc -l)"
expect "the reason" 1 "$(grep -c 'no kernel was profiled' said.txt)"
# one that fails leaves the others their rows, and an earlier longer list leaves none
printf 'f16:64x64x64:tn ws/a\nf16:64x64x64:tn splitk/a\n' > list.txt
rm -rf out
mkdir out
cp list.txt out/3.csv
sh "$source/scripts/profile.sh" build out list.txt > said.txt 2>&1
expect "one of two" 1 $?
expect "the other one's row" 1 "$(grep -c '^| f16' out/report.md)"
expect "what is kept of the failure" 1 "$(grep -c 'no permission' out/1.err)"
printf 'f16:64x64x64:tn\n' > list.txt
sh "$source/scripts/profile.sh" build out list.txt > said.txt 2>&1
expect "no schedule" 2 $?
echo "# nothing" > list.txt
sh "$source/scripts/profile.sh" build out list.txt > said.txt 2>&1
expect "an empty list" 2 $?
if [ ! -x /usr/local/cuda/bin/ncu ] && [ ! -x /usr/bin/ncu ]; then
    PATH=/usr/bin:/bin sh "$source/scripts/profile.sh" build out list.txt > said.txt 2>&1
    expect "no ncu" 77 $?
fi
[ "$failed" = 0 ] && echo "ok"
exit "$failed"

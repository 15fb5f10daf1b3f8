# Several problems: figures over all of them and by band; one whose worker dies is named, the others go on, and the exit code is 1.
. "$CASES/../replies.sh"
cat >replies/bench.sh <<'SH'
. "$CASES/../entries.sh"
case $line in
*f16:64x64x64:*) reply offline "$(entry plan nn 2.0 5)" "$(entry cublaslt-autotuning nn 2.5 5)" "$(entry plan tn 2.2 5)" "$(entry cublaslt-autotuning tn 2.2 5)" ;;
*f16:4096x4096x4096:*) reply offline "$(entry plan nn 200 204)" "$(entry cublaslt-autotuning nn 199 203)" "$(entry plan tn 190 194)" "$(entry cublaslt-autotuning tn 205 209)" ;;
*) echo "CUDA error: illegal address" >&2; exit 9 ;;
esac
SH

printf '64_64_64\n4096_4096_4096   # large\n128_128_128\n' >shapes.txt
gemmsmith eval --file shapes.txt --contenders plan,cublaslt-autotuning

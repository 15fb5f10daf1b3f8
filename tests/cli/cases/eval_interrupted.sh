# SIGINT while a problem is measured: the sample is finished and kept, the next run takes it from the store; exit code 130.
. "$CASES/../replies.sh"
reply offline "$(entry plan tn 190 194)" "$(entry cublaslt-autotuning tn 205 209)" >replies/answer.json
cat >replies/bench.sh <<'SH'
touch replies/busy
while [ ! -f replies/go ]; do sleep 0.05; done
cat replies/answer.json
SH
ask="eval f16:4096x4096x4096:tn f16:2048x2048x2048:tn --layouts tn --contenders plan,cublaslt-autotuning"
gemmsmith $ask >out.txt 2>err.txt &
pid=$!
while [ ! -f replies/busy ]; do sleep 0.05; done
kill -INT $pid
touch replies/go
wait $pid
echo "exit $?"
sed -n '/^f16/p' out.txt
cat err.txt
gemmsmith $ask 2>&1 | sed -n '/^f16/p; /store/p'

# Verdicts of a scripted worker: one line each, a summary, exit code 4; a worker that dies is a failure of its candidate.
. "$CASES/../replies.sh"
cat >replies/verify.sh <<'SH'
case $line in
*'"candidate":"simple"'*) echo '{"ok":true,"verdict":"pass","part":0,"problem":"f16:64x64x64:tn","reason":""}' ;;
*s2/g1*) echo '{"ok":true,"verdict":"edge","part":5,"problem":"f16:63x64x64:tn","mismatches":3,"reason":"row 62 was never written"}' ;;
*s3/g1*) echo '{"ok":true,"verdict":"unsupported","part":0,"problem":"f16:64x64x64:tn","reason":"takes no such problem"}' ;;
*) echo "CUDA error: illegal instruction" >&2; exit 9 ;;
esac
SH
ask="verify f16:64x64x64:tn --schedule simple"
gemmsmith $ask
echo "exit $?"
gemmsmith $ask --schedule mma/64x64x64/w2x2/s2/g1 --schedule mma/64x64x64/w2x2/s3/g1 --schedule mma/64x64x64/w2x2/s4/g1
echo "exit $?"
gemmsmith $ask --schedule mma/64x64x64/w2x2/s2/g1 --parts exact,edges --seed 5 --json
echo "exit $?"
gemmsmith verify f16:64x64x64:tn --schedule mma/64x64x64/w2x2/s3/g1
echo "exit $?"
grep -c '"parts":17,"seed":5' replies/requests

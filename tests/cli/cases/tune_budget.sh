# A budget ends inside a request: the worker is killed, the whole budget is named, what was measured is said, exit code 75.
[ -n "${GEMMSMITH_FAKE_WORKER:-}" ] || { echo "no GEMMSMITH_FAKE_WORKER"; exit 77; }
gemmsmith info | grep -q '^NVRTC *none' && { echo "no NVRTC"; exit 77; }
GEMMSMITH_WORKER=$GEMMSMITH_FAKE_WORKER FAKE_WORKER=delay=100000
export GEMMSMITH_WORKER FAKE_WORKER
before=$(date +%s)
gemmsmith tune f16:512x512x512:tn f16:64x64x64:nn --candidates 1 --families simple --budget 4s
echo "exit code $?"
[ $(($(date +%s) - before)) -le 10 ] && echo "in time"
gemmsmith tune f16:512x512x512:tn --candidates 1 --families simple --budget 2s --quiet
echo "exit code $?"
gemmsmith eval f16:64x64x64:nn --contenders simple --budget 2s >eval.out
echo "exit code $?"

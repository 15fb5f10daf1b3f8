# tune where cuBLASLt computes nothing right: ours is verified, timed alone and kept, with one plain line; the table and the store have no
# ratio then; what is resumed says so too. A machine without cuBLASLt is refused.
[ -n "${GEMMSMITH_FAKE_WORKER:-}" ] || { echo "no GEMMSMITH_FAKE_WORKER"; exit 77; }
gemmsmith info | grep -q '^NVRTC *none' && { echo "no NVRTC"; exit 77; }
GEMMSMITH_CACHE=${GS_TEST_CACHE:-}; export GEMMSMITH_CACHE   # kernels that other tests of the run compiled
GEMMSMITH_WORKER=$GEMMSMITH_FAKE_WORKER FAKE_WORKER=reference=wrong; export GEMMSMITH_WORKER FAKE_WORKER
ask="tune f16:67x129x65:tn --candidates 2 --families simple"
columns() { awk '!/#/ && NF > 2 {print $1, $4, $5, $6, $7}' "$1"; }
gemmsmith $ask || exit 1
columns data/gemmsmith/tuned/nvidia-h200.tuned
gemmsmith $ask || exit 1
gemmsmith $ask --json --quiet || exit 1
gemmsmith db list --gpu nvidia-h200
gemmsmith db export exported.tuned --gpu nvidia-h200
cmp exported.tuned data/gemmsmith/tuned/nvidia-h200.tuned && echo "the exported table is the tuned one"
FAKE_WORKER=reference=GS_ERROR_UNSUPPORTED gemmsmith tune 67_129_65 --quick --candidates 2 --families simple --layouts nn --tuned quick.tuned
columns quick.tuned
FAKE_WORKER=reference=GS_ERROR_NO_LIBRARY gemmsmith tune f16:35x129x65:tn --candidates 1 --families simple
echo "exit $?"

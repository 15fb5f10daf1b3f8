# The policy hybrid on the emulated device with an endpoint of the test: a schedule by weights, then the model's; both are in the store, train learns from both.
[ -n "${GEMMSMITH_FAKE_WORKER:-}" ] || { echo "no GEMMSMITH_FAKE_WORKER"; exit 77; }
GEMMSMITH_CACHE=${GS_TEST_CACHE:-}; export GEMMSMITH_CACHE   # kernels that other tests of the run compiled
[ -n "$GEMMSMITH_CACHE" ] || unset GEMMSMITH_CACHE
gemmsmith info | grep -q '^NVRTC *none' && { echo "no NVRTC"; exit 77; }
"$(dirname "$GEMMSMITH_FAKE_WORKER")/fake_endpoint" url '["simple"]' >/dev/null 2>&1 &
endpoint=$!
trap 'kill $endpoint' EXIT
until_true() { for i in 1 2 3 4 5 6 7 8 9 10; do for k in 1 2 3 4 5 6 7 8 9 10; do "$@" && return; sleep 0.1; done; done; }
until_true test -f url
GEMMSMITH_DEVICE=emu:h200; export GEMMSMITH_DEVICE
ask="tune f16:16x16x32:tn --candidates 2 --families simple,mma --policy hybrid --llm_model tiny --json --quiet"
gemmsmith $ask --llm_url "$(cat url)" --learn kept.weights --store s.db | tr ',{' '\n\n' | grep -E '"(proposed|rejected)"' | tr '\n' ' '
ls kept.weights
gemmsmith train more.weights s.db --gpu emu-h200 --from kept.weights --rows rows.csv --epochs 1 --quiet | sed 's/^[^:]*: //'
cut -d, -f2,3 rows.csv | sed 's,mma/.*,mma/...,'
gemmsmith $ask --again
gemmsmith $ask --llm_url "$(cat url)" --quick --again
gemmsmith $ask --llm_url "$(cat url)" --devices emu:h200,emu:a100

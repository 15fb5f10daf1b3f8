# The policy llm on the emulated device with an endpoint of the test: what it answers is tuned; a dead endpoint ends nothing; what is refused.
[ -n "${GEMMSMITH_FAKE_WORKER:-}" ] || { echo "no GEMMSMITH_FAKE_WORKER"; exit 77; }
GEMMSMITH_CACHE=${GS_TEST_CACHE:-}; export GEMMSMITH_CACHE   # kernels that other tests of the run compiled
[ -n "$GEMMSMITH_CACHE" ] || unset GEMMSMITH_CACHE
gemmsmith info | grep -q '^NVRTC *none' && { echo "no NVRTC"; exit 77; }
OPENAI_API_KEY=sk-of-the-test; export OPENAI_API_KEY
"$(dirname "$GEMMSMITH_FAKE_WORKER")/fake_endpoint" url '["mma/what", "simple"]' 404 >/dev/null 2>&1 &
endpoint=$!
trap 'kill $endpoint' EXIT
until_true() { for i in 1 2 3 4 5 6 7 8 9 10; do for k in 1 2 3 4 5 6 7 8 9 10; do "$@" && return; sleep 0.1; done; done; }
until_true test -f url
GEMMSMITH_DEVICE=emu:h200; export GEMMSMITH_DEVICE
ask="tune f16:16x16x32:tn --candidates 2 --families simple,mma --policy llm --llm_model tiny --json --again"
tune() { gemmsmith $ask --quiet "$@" | tr ',{' '\n\n' | grep -E '"(proposed|rejected)"' | tr '\n' ' '; echo; }
gemmsmith $ask --llm_url "$(cat url)" --llm_budget requests=5,tokens=100000 --llm_ledger spent 2>said | tr ',{' '\n\n' | grep -E '"(proposed|rejected)"' | tr '\n' ' '; echo
sed -n '/^language model/p; s/^\(its fastest: .*\) [0-9.]* us/\1/p' said
gemmsmith $ask --quiet --llm-url http://127.0.0.1:9/v1 --llm-retries 0 >unanswered 2>&1
echo "exit $?"; grep 'no question' unanswered
gemmsmith db show f16:16x16x32:tn --gpu emu-h200 | grep -ow simple | head -n 1
gemmsmith tune f16:16x16x32:tn --policy llm --llm_model tiny --llm_url "$(cat url)" --quiet | grep -o '(.*)'
gemmsmith $ask --llm_url "$(cat url)" --llm_budget requests=5,tokens=100000 --llm_ledger spent -v 2>&1 | grep -o 'no more questions.*'
both() { [ "$(grep -c Bearer url.log)" -ge 2 ]; }
until_true both
echo "$(grep -c '"ask"' spent) asked, $(grep -c 'Bearer sk-of-the-test' url.log) with the key, $(grep -c 'sk-of-the-test' spent) times in the ledger"
tune
tune --llm_url "$(cat url)" --quick
tune --llm_url "$(cat url)" --llm_budget euros=3
tune --llm_url "$(cat url)" --llm_key_env sk-secret
tune --llm_url "$(cat url)" --devices emu:h200,emu:a100

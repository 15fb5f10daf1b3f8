# An endpoint over TLS with a certificate of a private authority: it is not believed without --llm_ca; headers come from a file, and from nothing else.
[ -n "${GEMMSMITH_FAKE_WORKER:-}" ] || { echo "no GEMMSMITH_FAKE_WORKER"; exit 77; }
command -v openssl >/dev/null && command -v python3 >/dev/null || { echo "no openssl or python3"; exit 77; }
GEMMSMITH_CACHE=${GS_TEST_CACHE:-}; export GEMMSMITH_CACHE   # kernels that other tests of the run compiled
[ -n "$GEMMSMITH_CACHE" ] || unset GEMMSMITH_CACHE
gemmsmith info | grep -q '^NVRTC *none' && { echo "no NVRTC"; exit 77; }
OPENAI_API_KEY=sk-of-the-test; export OPENAI_API_KEY
python3 "$CASES/../../fake/tls.py" . '["simple"]' >/dev/null 2>&1 &
endpoint=$!
trap 'kill $endpoint' EXIT
until_true() { for i in 1 2 3 4 5 6 7 8 9 10; do for k in 1 2 3 4 5 6 7 8 9 10; do "$@" && return; sleep 0.1; done; done; }
until_true test -f url
GEMMSMITH_DEVICE=emu:h200; export GEMMSMITH_DEVICE
tune() { gemmsmith tune f16:16x16x32:tn --candidates 2 --families simple,mma --policy llm --llm_model tiny --json --again --quiet --llm_url "$(cat url)" --llm_budget requests=1,tokens=100000 "$@" |
    tr ',{' '\n\n' | grep -E '"proposed"' | tr '\n' ' '; echo; }
echo "not believed:"
tune --llm_retries 0
tune --llm_ca url
test -f requests.log || echo "nobody was asked"
echo "believed:"
tune --llm_ca ca.pem --llm_timeout 20s
printf '# who asks\nAuthorization: Basic abc=\nX-Title: gemmsmith\n' > headers
GEMMSMITH_LLM_CA=ca.pem GEMMSMITH_LLM_HEADERS=headers tune --llm_stream
sed 's/ Accept=[^ ]* [^ ]*//' requests.log
echo "refused:"
tune --llm_headers nowhere
tune --llm_headers ca.pem
tune --llm_ca nowhere

# tune --run: tuners that know the name alone share leases and marks in one store, one after the other and at once.
GEMMSMITH_CACHE=${GS_TEST_CACHE:-}; export GEMMSMITH_CACHE   # kernels that other tests of the run compiled
[ -n "${GEMMSMITH_FAKE_WORKER:-}" ] || { echo "no GEMMSMITH_FAKE_WORKER"; exit 77; }
gemmsmith info | grep -q '^NVRTC *none' && { echo "no NVRTC"; exit 77; }
. "$CASES/../replies.sh"
list="64_64_64 128_64_64 f16:96x64x64:tn f16:96x96x64:tn"
ask="tune $list --candidates 2 --families mma --store run.db --again --quiet --json"
problems() { sed 's/.*"problem":"\([^"]*\)".*/\1/' "$@" | sort; }
# two at once divide the list: each problem once
gemmsmith $ask --run march --tuned a.tuned >a.said &
gemmsmith $ask --run march --tuned b.tuned --device cuda:1 >b.said
wait
problems a.said b.said
echo "at once: $(cat a.said b.said | wc -l) of 4, $(problems a.said b.said | uniq | wc -l) different"
# what the run has done stays done, for whoever comes later; another run begins anew, and so does a tuner without one
gemmsmith $ask --run march
echo "later: exit $?"
gemmsmith $ask --run april | wc -l
gemmsmith $ask | wc -l
# a problem has the mark of the run that did it last
gemmsmith $ask --run april --quick | wc -l
gemmsmith tune 64_64_64 --candidates 2 --families mma --store run.db --again --quiet --json --run march | wc -l
# a tuner without the name finds all in the store
gemmsmith tune $list --candidates 2 --families mma --store run.db --tuned c.tuned | grep -c 'from the store'
for name in "" "no blanks" "$(printf %033d 0)" a/b; do gemmsmith $ask --run "$name"; done
gemmsmith $ask --run one --device cuda:0 --devices cuda:1
gemmsmith tune 64_64_64 --run llm --policy llm --llm-url http://127.0.0.1:1/v1 --llm-model none
echo "exit $?"
# without --quiet it says why it does nothing
gemmsmith $ask --run april | wc -l
gemmsmith tune $list --candidates 2 --families mma --store run.db --run april

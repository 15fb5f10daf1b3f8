# Policies that draw or learn, on the emulated device: what they propose is tuned, and weights are kept, taken up again and refused where they are none.
GEMMSMITH_CACHE=${GS_TEST_CACHE:-}; export GEMMSMITH_CACHE   # kernels that other tests of the run compiled
[ -n "$GEMMSMITH_CACHE" ] || unset GEMMSMITH_CACHE
gemmsmith info | grep -q '^NVRTC *none' && { echo "no NVRTC"; exit 77; }
ask="tune f16:16x16x32:tn --candidates 1 --families simple --device emu:h200 --again --json --quiet"
gemmsmith $ask --learn kept.weights --policy random; echo "exit $?"
for policy in "--policy random" "--policy evolve" "--learn kept.weights" "--learn kept.weights --policy learned"; do
    gemmsmith $ask $policy | tr ',{' '\n\n' | grep -E '"(best_own|proposed|measured|rejected)"' | tr '\n' ' '
    echo "$policy: $(ls kept.weights 2>/dev/null)"
done
gemmsmith train more.weights --from kept.weights --problems 1 --quiet && echo "train goes on from them"
echo mine > kept.weights
gemmsmith $ask --learn kept.weights
echo "exit $?"
cat kept.weights

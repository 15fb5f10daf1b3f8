# The main job on the emulated device: a winner of predicted time, in a table and a store of its own name, that eval then chooses.
GEMMSMITH_CACHE=${GS_TEST_CACHE:-}; export GEMMSMITH_CACHE   # kernels that other tests of the run compiled
gemmsmith info | grep -q '^NVRTC *none' && { echo "no NVRTC"; exit 77; }
ask="tune f16:16x16x32:tn --candidates 1 --families simple"
gemmsmith $ask || exit 1
gemmsmith $ask --json --quiet
gemmsmith eval f16:16x16x32:tn --layouts tn --csv rows.csv --base_dir results
gemmsmith eval f16:16x16x32:tn --layouts tn --contenders plan,cublas --json --device emu:h200
gemmsmith eval f16:16x16x32:tn --mode server --device emu:h200
echo "exit $?"
gemmsmith eval f16:16x24x32:tn --layouts tn --contenders own,simple --device emu:h200 --quiet | grep 'own not'
cut -d, -f1-6 rows.csv
ls results
gemmsmith db list --gpu emu-h200
gemmsmith db list --json --quiet
gemmsmith db export exported.tuned --gpu emu-h200
cmp exported.tuned data/gemmsmith/tuned/emu-h200.tuned && echo "the exported table is the tuned one"
cat exported.tuned
# a run that has a name takes the same device
gemmsmith $ask --run first --quiet
gemmsmith $ask --run first
gemmsmith $ask --run second --json --quiet

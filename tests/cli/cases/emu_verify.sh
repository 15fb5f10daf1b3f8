# Verification on the emulated device: every part on a small problem, and a library, which cannot run there.
GEMMSMITH_CACHE=${GS_TEST_CACHE:-}; export GEMMSMITH_CACHE   # kernels that other tests of the run compiled
gemmsmith info | grep -q '^NVRTC *none' && { echo "no NVRTC"; exit 77; }
gemmsmith verify f16:16x16x16:tn --schedule simple --parts exact,index,normal,memory,repeat --device emu:h200
echo "exit $?"
gemmsmith verify f16:16x16x16:tn --schedule cublas --device emu:h200
echo "exit $?"
gemmsmith verify --quiet f16:24x40x16:nn --schedule mma/64x64x64/w2x2/s2/g1 --parts exact
echo "exit $?"

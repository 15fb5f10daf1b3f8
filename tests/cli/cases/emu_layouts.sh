# A stored K x M (nt, tt): verified and multiplied on the emulated device; a family that does not take it says so.
GEMMSMITH_CACHE=${GS_TEST_CACHE:-}; export GEMMSMITH_CACHE   # kernels that other tests of the run compiled
gemmsmith info | grep -q '^NVRTC *none' && { echo "no NVRTC"; exit 77; }
gemmsmith verify f16:24x40x16:nt --schedule mma/64x64x64/w2x2/s2/g1 --parts exact,index,memory --device emu:h200 --quiet
gemmsmith verify bf16:17x16x33:tt:beta=0.5 --schedule simple --parts exact,index,memory --device emu:h200 --quiet
gemmsmith verify f16:136x72x64:nt --schedule ws/128x64x64/s4/c1x1/coop/g8 --parts exact,index,memory --device emu:h200 --quiet
gemmsmith verify f16:64x64x64:nt --schedule slicek/32x32/w1x1x8/d4/k16/fixed/f128 --parts exact --device emu:h200
echo "exit $?"
gemmsmith gemm f16:24x40x16:tt --device emu:h200 --quiet && echo right

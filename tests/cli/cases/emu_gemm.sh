# One multiplication on the emulated device: the default where there is no GPU, the one that is named, its files.
GEMMSMITH_CACHE=${GS_TEST_CACHE:-}; export GEMMSMITH_CACHE   # kernels that other tests of the run compiled
gemmsmith info | grep -q '^NVRTC *none' && { echo "no NVRTC"; exit 77; }
gemmsmith gemm f16:32x24x40:tn --out d.npy || exit 1
gemmsmith gemm bf16:20x16x8:nn:beta=1 --device emu:a100,seed=3 --json
gemmsmith gemm f16:16x16x16:tn --device emu:h200,seeds=3
echo "exit $?"
wc -c <d.npy
gemmsmith gemm f16:64x64x64:nn --device emu:h200 --no-check --counters | grep -E '^gs_|matrix_flops|device_load|device_store|predicted_us'
# what the weights expect of a GPU is not said of an emulated one
GEMMSMITH_WEIGHTS=$CASES/../../../tuned/nvidia-h200.weights gemmsmith gemm f16:72x64x64:tn --device emu:h200 --no-check

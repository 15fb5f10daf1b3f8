# Without the GPU that it is asked for doctor names it and ends with 3; a broken store and a broken table are named too. The emulated device
# needs no cuBLAS.
gemmsmith doctor --device cuda:0
echo "exit $?"
gemmsmith doctor --device emu:a100 | grep -E "device|cuBLAS|NVML"
gemmsmith doctor | grep device
mkdir -p data/gemmsmith
printf 'this is no database, whatever its name says, and long enough to be looked at\n' >data/gemmsmith/store.db
mkdir -p data/gemmsmith/tuned
printf 'gemmsmith-tuned 1\nf16:64x64x64:tn simple 2.5 0 1 1 1 0 emu-a100 80 108 0 2026-11-24T00:00:00Z predict-1.0.0\n' >data/gemmsmith/tuned/emu-a100.tuned
gemmsmith doctor --device emu:a100 | grep tuned
# a table that was edited is used, and named
printf 'gemmsmith-tuned 1\n# checksum 0123456789abcdef\nf16:64x64x64:tn simple 2.5 0 1 1 1 0 emu-h200 90 132 0 2026-11-24T00:00:00Z predict-1.0.0\n' >my.tuned
GEMMSMITH_TUNED=my.tuned gemmsmith doctor --device emu:h200 | grep tuned
rm data/gemmsmith/tuned/emu-a100.tuned
printf 'gemmsmith-tuned 1\nnonsense\n' >data/gemmsmith/tuned/nvidia-h200.tuned
gemmsmith doctor --device cuda:0
echo "exit $?"
gemmsmith doctor --json --device cuda:0

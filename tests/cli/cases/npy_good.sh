# Files that fit are multiplied: .npy and raw elements, on the emulated device. A holds 1 and 2, B ones: rows of 4 and of 8.
gemmsmith info | grep -q '^NVRTC *none' && { echo "no NVRTC"; exit 77; }
npy() { printf '\223NUMPY\001\000\166\000%-117s\n' "$1"; }
{ npy "{'descr': '<f2', 'fortran_order': False, 'shape': (2, 4), }"; printf '\0\074\0\074\0\074\0\074\0\100\0\100\0\100\0\100'; } >a.npy
for i in 1 2 3 4 5 6 7 8 9 10 11 12; do printf '\0\074'; done >b.bin
gemmsmith gemm f16:2x3x4:nn --a a.npy --b b.bin --out d.npy --device emu:h200
gemmsmith gemm f16:2x3x4:nn --a a.npy --b b.bin --out d.bin --no-check --device emu:a100
tail -c 12 d.npy | od -An -tx1
od -An -tx1 d.bin
# a bias without an axis of rows, as NumPy has it, and a batch of them
{ npy "{'descr': '<f2', 'fortran_order': False, 'shape': (3,), }"; printf '\0\074\0\074\0\074'; } >bias.npy
gemmsmith gemm f16:2x3x4:nn:ep=bias --a a.npy --b b.bin --bias bias.npy --out e.bin --no-check --device emu:h200
od -An -tx1 e.bin
{ npy "{'descr': '<f2', 'fortran_order': False, 'shape': (2, 3), }"; printf '\0\074\0\074\0\074\0\074\0\074\0\074'; } >biases.npy
gemmsmith gemm f16:2x3x4:nn:b=2:ep=bias:se=3 --bias biases.npy --device emu:h200
gemmsmith gemm f16:2x3x4:nn:ep=bias --bias biases.npy --device emu:h200; echo "exit $?"
gemmsmith gemm f16:2x3x4:nn --a bias.npy --device emu:h200; echo "exit $?"

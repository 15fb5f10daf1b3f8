# Files that fit get as far as the device: .npy, and raw elements.
npy() { printf '\223NUMPY\001\000\166\000%-117s\n' "$1"; }
{ npy "{'descr': '<f2', 'fortran_order': False, 'shape': (2, 4), }"; head -c 16 /dev/zero; } >a.npy
head -c 24 /dev/zero >b.bin
gemmsmith gemm f16:2x3x4:nn --a a.npy --b b.bin --out d.npy

# Matrices that cannot be read, or are not the problem's: the field is named, before any device is needed.
try() { gemmsmith gemm f16:2x3x4:nn "$@"; echo "exit $?"; }
npy() { printf '\223NUMPY\001\000\166\000%-117s\n' "$1"; }   # header of 118 bytes, data at 128
zeros() { head -c "$1" /dev/zero; }
npy "{'descr': '<f2', 'fortran_order': False, 'shape': (2, 4), }" >good.npy; zeros 16 >>good.npy
try --a absent.npy
printf 'short' >raw.bin;                                                             try --a raw.bin
printf '\223NUMPY' >a.npy;                                                           try --a a.npy
printf '\223NUMPY\011\000\000\000' >a.npy;                                           try --a a.npy
printf '\223NUMPY\001\000\377\377{' >a.npy;                                          try --a a.npy
npy "[]" >a.npy;                                                                     try --a a.npy
npy "{'descr': '<f2', 'fortran_order': False, }" >a.npy;                             try --a a.npy
npy "{'descr': '>f2', 'fortran_order': False, 'shape': (2, 4), }" >a.npy;            try --a a.npy
npy "{'descr': [('x', '<f2')], 'fortran_order': False, 'shape': (2, 4), }" >a.npy;   try --a a.npy
npy "{'descr': '<f2', 'fortran_order': True, 'shape': (2, 4), }" >a.npy;             try --a a.npy
npy "{'descr': '<f2', 'fortran_order': False, 'shape': (2, -4), }" >a.npy;           try --a a.npy
npy "{'descr': '<f2', 'fortran_order': False, 'shape': (), }" >a.npy;                try --a a.npy
npy "{'descr': '<f2', 'fortran_order': False, 'shape': (1, 1, 2, 4), }" >a.npy;      try --a a.npy
npy "{'descr': '<f2', 'fortran_order': False, 'shape': (9223372036854775807, 9223372036854775807), }" >a.npy; try --a a.npy
npy "{'descr': '<f2', 'fortran_order': False, 'shape': (2, 4), 'colour': 'red', }" >a.npy; try --a a.npy
npy "{'descr': '<f2', 'fortran_order': False, 'shape': (2, 4), }" >a.npy;            try --a a.npy
npy "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 4), }" >a.npy; zeros 32 >>a.npy; try --a a.npy
try --b good.npy

# Two tables side by side, as files and as stores; rows that only one has, cannot be read or are of another device; what does not compare.
try() { gemmsmith "$@"; echo "exit $?"; }
ws=ws/128x256x64/s4/c2x1/coop/g8
h200="1755 nvidia-h200 90 132 130100 2026-11-20T12:00:00Z tune-0.1.0"
cat >a.tuned <<TABLE
gemmsmith-tuned 1
f16:4096x4096x4096:tn  $ws      196.20  199.10  1.0150  1.0120  1.0170  $h200
bf16:64x4096x64:nn     library    2.50    2.50  1.0000  1.0000  1.0000  $h200
f16:512x512x512:tn     simple   100.00   90.00  0.9000  0.8900  0.9100  $h200
f16:64x64x64:tn        simple     1.00    1.50  1.5000  1.4000  1.6000  $h200
f16:64x64x128:tn       simple     0.00    1.50  1.5000  1.4000  1.6000  $h200
this line is nonsense
f16:64x64x192:tn       simple     1.00    1.50  1.5000  1.4000  1.6000  1755 nvidia-h200 90 66 130100 2026-11-20T12:00:00Z tune-0.1.0
TABLE
cat >b.tuned <<TABLE
gemmsmith-tuned 1
f16:4096x4096x4096:tn:alpha=2  $ws  196.90  199.80  1.0147  1.0120  1.0170  $h200
bf16:64x4096x64:nn     simple     2.00    2.48  1.2400  1.2300  1.2500  $h200
f16:512x512x512:tn     $ws      150.00   90.50  0.6033  0.6000  0.6100  $h200
f16:64x64x128:tn       simple     2.00    1.50  1.5000  1.4000  1.6000  $h200
f16:64x64x256:tn       simple     1.00    1.50  1.5000  1.4000  1.6000  1755 nvidia-h200 90 132 130200 2026-11-20T12:00:00Z tune+dependent-0.1.0
TABLE
try db compare a.tuned b.tuned
try db compare a.tuned b.tuned --json
try db compare a.tuned a.tuned --quiet | tail -n 4

# a store is compared by its winners, is not made where there is none, and the user's own is left alone
gemmsmith db import b.tuned --store b.db
try db compare a.tuned b.db --json | tail -n 2
try db compare b.db b.tuned --gpu nvidia-h200+dependent
try db compare a.tuned absent.db
[ -e absent.db ] || [ -e data ] || echo "no store was made"

# devices
sed 's/nvidia-h200/nvidia-h100/' a.tuned >h100.tuned
sed 's/nvidia-h200/emu-h200/' a.tuned >emu.tuned
mkdir both && cp a.tuned h100.tuned both
printf 'gemmsmith-tuned 1\n' >empty.tuned
try db compare both b.tuned
try db compare both b.tuned --gpu nvidia-h200 --json | tail -n 2
try db compare h100.tuned b.tuned --json | tail -n 2
try db compare emu.tuned b.tuned
try db compare emu.tuned emu.tuned | head -n 1
try db compare emu.tuned emu.tuned --json | head -n 1
try db compare empty.tuned b.tuned --gpu nvidia-h200 | tail -n 5
printf 'something else\n' >other.tuned
try db compare other.tuned b.tuned
try db compare a.tuned

# No store yet, a tuned table imported, listed, exported again, and merged into another store.
try() { gemmsmith "$@"; echo "exit $?"; }
try db list --gpu nvidia-h200
try db show f16:64x64x64:tn --gpu nvidia-h200
try db export out.tuned --gpu nvidia-h200
ls data 2>/dev/null   # nothing was made
cat >in.tuned <<'TABLE'
gemmsmith-tuned 1
f16:4096x4096x4096:tn  ws/128x256x64/s4/c2x1/coop/g8  196.20  199.10  1.0150  1.0120  1.0170  1755  nvidia-h200  90  132  130100  2026-11-20T12:00:00Z  tune-0.1.0
bf16:64x4096x64:nn     library                        2.50    2.50    1.0000  1.0000  1.0000  1980  nvidia-h200  90  132  130100  2026-11-20T12:00:01Z  tune-0.1.0
this line is nonsense
TABLE
try db import in.tuned
try db list --gpu nvidia-h200
try db list --gpu nvidia-h200 --json
try db list --gpu nvidia-a100
try db export out.tuned --gpu nvidia-h200
cat out.tuned
gemmsmith db import out.tuned --store second.db && gemmsmith db export again.tuned --gpu nvidia-h200 --store second.db
cmp out.tuned again.tuned && echo "the round trip changes nothing"
try db merge second.db --store third.db
try db list --gpu nvidia-h200 --store third.db --quiet
try db import absent.tuned
printf 'something else\n' >other.tuned
try db import other.tuned

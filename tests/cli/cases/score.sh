# score with a simulating worker: one candidate, kinds of reward, a user kernel, bad ones, and how much it varies.
[ -n "${GEMMSMITH_FAKE_WORKER:-}" ] || { echo "no GEMMSMITH_FAKE_WORKER"; exit 77; }
. "$CASES/../replies.sh"
export GEMMSMITH_DEVICE=cuda:0
try() { gemmsmith score "$@"; echo "exit $?"; }
one="f16:512x512x512:tn --schedule mma/64x64x64/w2x2/s3/g8 --seed 3"
try $one
try $one --reward composite --json --confirm
try $one --repeat 3 --reward milestones --store kept.db
gemmsmith db show f16:512x512x512:tn --gpu nvidia-h200 --store kept.db
try $one --repeat 3 --json | tail -n 2
printf 'manifest 1\naccumulator f32\ndeterminism bitwise\nalign a=2 b=2 c=2 d=2\nentry gs_kernel\ngrid 1 1 1\nblock 16 16 1\n' >mine.manifest
printf '// fake: wrong\n' >mine.cu
try f16:512x512x512:tn --source mine.cu --manifest mine.manifest
printf '// fake: us=5\n' >mine.cu
try f16:512x512x512:tn --source mine.cu --manifest mine.manifest --schedule mma/0 --schedule mma/64x64x64/w2x2/s3/g8 --seed 3
try f16:512x512x512:tn --source mine.cu
try f16:512x512x512:tn --source mine.cu --manifest absent.manifest
{ cat mine.manifest; printf 'entry \000hidden\n'; } >nul.manifest
try f16:512x512x512:tn --source mine.cu --manifest nul.manifest
try f16:512x512x512:tn --reward applause
try

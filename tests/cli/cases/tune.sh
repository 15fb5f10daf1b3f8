# tune with a simulating worker: winners, the table, the store; a second run finds them there; an absent policy is named.
[ -n "${GEMMSMITH_FAKE_WORKER:-}" ] || { echo "no GEMMSMITH_FAKE_WORKER"; exit 77; }
gemmsmith info | grep -q '^NVRTC *none' && { echo "no NVRTC"; exit 77; }
. "$CASES/../replies.sh"
ask="tune f16:512x512x512:tn bf16:64x64x64:nn --candidates 3 --families simple,mma"
gemmsmith $ask || exit 1
requests=$(wc -l <replies/requests)
gemmsmith $ask --quiet || exit 1
gemmsmith tune f16:512x512x512:tn --json || exit 1
[ $(wc -l <replies/requests) -eq $((requests + 2)) ] && echo "the store was asked, not the worker"
gemmsmith db list --gpu nvidia-h200 | wc -l
gemmsmith db show f16:512x512x512:tn --gpu nvidia-h200
gemmsmith db export exported.tuned --gpu nvidia-h200
cmp exported.tuned data/gemmsmith/tuned/nvidia-h200.tuned && echo "the exported table is the tuned one"
mkdir here
gemmsmith tune --mnk 64_64_64 --layouts tn --candidates 2 --families mma --tuned here/my.tuned --again
head -n 1 here/my.tuned
gemmsmith tune f16:96x64x64:tn --policy telepathy

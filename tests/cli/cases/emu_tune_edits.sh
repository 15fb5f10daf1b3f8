# tune --policy llm --mode source with answers that are edits: of the kernel of the turn before; edits whose lines are not there, which are asked for again; edits that
# are not allowed, and whole kernels that are not. A list of problems on two devices with two questions under way, one ledger and one folder of kernels.
[ -n "${GEMMSMITH_FAKE_WORKER:-}" ] || { echo "no GEMMSMITH_FAKE_WORKER"; exit 77; }
GEMMSMITH_CACHE=${GS_TEST_CACHE:-}; export GEMMSMITH_CACHE   # kernels that other tests of the run compiled
[ -n "$GEMMSMITH_CACHE" ] || unset GEMMSMITH_CACHE
gemmsmith info | grep -q '^NVRTC *none' && { echo "no NVRTC"; exit 77; }
answer() { printf '# Analysis\nIt waits.\n# Plan\nIt shall not.\n# Code\n'; cat; }
whole() {
    answer <<'END'
```cuda kernel.cu
#include "common/args.h"
#include "common/convert.cuh"
// one element a thread
extern "C" __global__ void gs_kernel(const gs_kernel_args p)
{
    const long long row = (long long)blockIdx.y * 16 + threadIdx.y, col = (long long)blockIdx.x * 16 + threadIdx.x, batch = blockIdx.z;
    if (row >= p.m || col >= p.n) return;
    const unsigned short *const a = (const unsigned short *)p.a + (batch * p.m + row) * p.lda, *const b = (const unsigned short *)p.b + (batch * p.n + col) * p.ldb;
    float sum = 0;
    for (int k = 0; k < p.k; k++) sum += gs_f16_to_f32(a[k]) * gs_f16_to_f32(b[k]);   // the product
    sum *= p.alpha;
    if (p.beta != 0) sum += p.beta * gs_f16_to_f32(((const unsigned short *)p.c)[(batch * p.m + row) * p.ldc + col]);
    ((unsigned short *)p.d)[(batch * p.m + row) * p.ldd + col] = gs_f32_to_f16(sum);
}
```
```text manifest
manifest 1
accumulator f32
determinism bitwise
align a=2 b=2 c=2 d=2
entry gs_kernel
grid cdiv(n,16) cdiv(m,16) batch
block 16 16 1
```
END
}
edit() {
    answer <<END
\`\`\`cuda kernel.cu
<<<<<<< SEARCH
    float sum = 0;
    for (int k = 0; k < p.k; k++) sum += gs_f16_to_f32(a[k]) * gs_f16_to_f32($1[k]);
=======
    float sum = 0;
#pragma unroll 4
    for (int k = 0; k < p.k; k++) sum += gs_f16_to_f32(a[k]) * gs_f16_to_f32(b[k]);
>>>>>>> REPLACE
\`\`\`
END
}
endpoint() {   # NAME ANSWER...
    name=$1
    shift
    "$(dirname "$GEMMSMITH_FAKE_WORKER")/fake_endpoint" "$name" "$@" >/dev/null 2>&1 &
    endpoints="$endpoints $!"
    for i in 1 2 3 4 5 6 7 8 9 10; do for k in 1 2 3 4 5 6 7 8 9 10; do test -f "$name" && return; sleep 0.1; done; done
}
endpoints=
trap 'kill $endpoints 2>/dev/null' EXIT   # those that nobody asks end by themselves
GEMMSMITH_DEVICE=emu:h200; export GEMMSMITH_DEVICE
write() { gemmsmith tune --policy llm --mode source --from nothing --llm_model tiny "$@"; echo "exit $?"; }
told() { sed -n 's/.*"turn":\([0-9]*\),"base":"\([^"]*\)","edited":\([a-z]*\).*"verdict":"\([a-z]*\)".*/turn \1 of \2: edited \3, \4/p; s/.*"turn":\([0-9]*\),.*"fault":"\([^"]*\)".*/turn \1: \2/p'; }
endpoint one "$(whole)" "$(edit c)" "$(edit b)"
write f16:16x16x32:tn --islands 1 --turns 2 --llm_url "$(cat one)" --store s.db --json | told
grep -c 'first that differs is line 2 of SEARCH' one.log                                         # asked for again, with the reason
grep -c 'Instead of whole texts you may answer with edits' one.log
write f16:16x16x32:tn --islands 1 --turns 3 --llm_url "$(cat one)" --store s.db --json --edits no | told   # not of this prompt
endpoint two "$(whole)"
write f16:16x16x32:tn --islands 1 --turns 4 --llm_url "$(cat two)" --store s.db --json --edits only | told
write f16:16x16x32:tn f16:16x16x64:tn f16:16x32x32:tn --llm_url "$(cat two)" --store t.db --islands 2 --turns 1 --asks 2 --devices emu:h200,emu:h200 --llm_ledger spent --keep kept \
    2>/dev/null | grep -v '(turn' | cut -c 1-72 | sort
grep -c '"ask"' spent
cut -d'"' -f4 kept/elites.jsonl | sort
gemmsmith tune f16:16x16x32:tn --edits only
echo "exit $?"
lineage() { gemmsmith db lineage "$@"; echo "exit $?"; }
lineage f16:16x16x32:tn --store s.db | sed 's/predicted [0-9.]* us/predicted/'
lineage f16:16x16x32:tn --store s.db --gpu emu-h200 --json | sed 's/"us":[^,]*/"us":0/; s/"ratio":[^,]*/"ratio":0/; s/"reward":[^,]*/"reward":0/'
lineage f16:16x16x48:tn --store s.db --gpu emu-h200
lineage nonsense --store s.db --gpu emu-h200

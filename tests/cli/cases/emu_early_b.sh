# A user kernel may read a constant B before its wait where p.early_b says so: one that heeds it passes, one that always does is refused; so is one that also reads A.
gemmsmith info | grep -q '^NVRTC *none' && { echo "no NVRTC"; exit 77; }
export GEMMSMITH_DEVICE=emu:h200
printf 'manifest 1\naccumulator f32\ndeterminism bitwise\nalign a=2 b=2 c=2 d=2\nentry gs_kernel\ngrid cdiv(n,16) cdiv(m,16) batch\nblock 16 16 1\ndependent\n' >mine.manifest
kernel() {   # of whether it reads first; which number it reads
    printf '#define GS_MORE\n#define GS_EARLY_B 1\n'
    cat "$CASES/../../hacks/plain.cuh"
    cat <<END
KERNEL gs_kernel(const gs_kernel_args p)
{
    const long long batch = blockIdx.z, row = blockIdx.y * 16 + threadIdx.y, col = blockIdx.x * 16 + threadIdx.x;
    const bool inside = row < p.m && col < p.n && p.k > 0, early = $1;
    float first = 0;
    if (early && inside) first = gs_f16_to_f32($2);
    asm volatile("griddepcontrol.wait;" ::: "memory");
    if (!early && inside) first = gs_f16_to_f32($2);
    if (row >= p.m || col >= p.n) return;
    float sum = p.k > 0 ? gs_f16_to_f32(a_row(p, batch, row)[0]) * (first == 0 ? 0 : gs_f16_to_f32(b_col(p, batch, col)[0])) : 0;
    for (int k = 1; k < p.k; k++) sum += gs_f16_to_f32(a_row(p, batch, row)[k]) * gs_f16_to_f32(b_col(p, batch, col)[k]);
    put(p, batch, row, col, sum);
}
END
}
judge() {   # name, problem, options
    name=$1
    shift
    gemmsmith score "$@" --source mine.cu --manifest mine.manifest --json | python3 -c 'import json, sys; got = json.load(sys.stdin); print(sys.argv[1], got["verdict"], got["reason"].split(":")[2:3] or "")' "$name $*"
}
b='b_col(p, batch, col)[0]'
kernel p.early_b "$b" >mine.cu
judge heeds f16:16x16x16:tn:const=b --dependent
judge heeds f16:16x16x16:tn:const=b
judge heeds f16:16x16x16:tn --dependent
kernel true "$b" >mine.cu
judge always f16:16x16x16:tn:const=b --dependent
judge always f16:16x16x16:tn --dependent
kernel p.early_b 'a_row(p, batch, row)[0]' >mine.cu
judge "reads A" f16:16x16x16:tn:const=b --dependent

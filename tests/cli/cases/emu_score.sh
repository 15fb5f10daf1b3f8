# score on the emulated device: a user kernel, twice, which is the same twice; one that is refused.
gemmsmith info | grep -q '^NVRTC *none' && { echo "no NVRTC"; exit 77; }
export GEMMSMITH_DEVICE=emu:h200
printf 'manifest 1\naccumulator f32\ndeterminism bitwise\nalign a=2 b=2 c=2 d=2\nentry gs_kernel\ngrid cdiv(n,16) cdiv(m,16) batch\nblock 16 16 1\n' >mine.manifest
{
    cat "$CASES/../../hacks/plain.cuh"
    echo 'KERNEL gs_kernel(const gs_kernel_args p) { EACH_ELEMENT; put(p, batch, row, col, dot(p, batch, row, col)); }'
} >mine.cu
gemmsmith score f16:16x16x16:tn --source mine.cu --manifest mine.manifest --repeat 2
echo "exit $?"
printf '#include "common/args.h"\n__device__ int count;\nextern "C" __global__ void gs_kernel(const gs_kernel_args p) { count++; }\n' >mine.cu
gemmsmith score f16:16x16x16:tn --source mine.cu --manifest mine.manifest --json
echo "exit $?"
gemmsmith score f16:16x16x16:tn --schedule simple --repeat 2

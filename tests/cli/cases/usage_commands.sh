# What each command refuses by itself.
export GEMMSMITH_DEVICE=cuda:0   # no GPU, and no emulated device either
try() { gemmsmith "$@"; echo "exit $?"; }
try tune --budget soon f16:64x64x64:tn
try tune --budget 0 f16:64x64x64:tn
try tune --candidates 0 f16:64x64x64:tn
try tune --families cutlass f16:64x64x64:tn
try tune --jobs many f16:64x64x64:tn
try eval --contenders cublas,mkl f16:64x64x64:tn
try eval --contenders , f16:64x64x64:tn
try eval --contenders '' f16:64x64x64:tn
try eval --schedule ws/1x1x1 f16:64x64x64:tn
try eval --resume --again f16:64x64x64:tn
try eval --gpu_device_id first f16:64x64x64:tn
try eval --acc_precise fp64 f16:64x64x64:tn
try verify --parts exact,wishes f16:64x64x64:tn
try verify --random -3
try verify --seed 0 f16:64x64x64:tn
try gemm f16:64x64x64:tn f16:64x64x64:nn
try gemm f16:64x64x64:tn --c c.npy
try db
try db drop
try db list all
try db list
try db show --gpu nvidia-h200
try db export --gpu nvidia-h200
try db import
try db merge
try db curves a b
try report --gpu
try score f16:64x64x64:tn --over 1m
try verify f16:64x64x64:tn --families ws --schedule simple

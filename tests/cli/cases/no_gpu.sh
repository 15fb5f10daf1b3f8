# A GPU that was asked for and is not there: one line that says what is needed, exit code 3, and nothing is created.
try() { gemmsmith "$@"; echo "exit $?"; }
try tune f16:64x64x64:tn --device cuda:0
try eval --mnk 64_64_64 --gpu_device_id 0
try verify f16:64x64x64:tn --device cuda:0
export GEMMSMITH_DEVICE=cuda:0
try verify --random 3
try gemm f16:64x64x64:tn
try db list
ls

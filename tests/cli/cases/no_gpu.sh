# Without a GPU: one line that says what is needed, exit code 3, and nothing is created.
try() { gemmsmith "$@"; echo "exit $?"; }
try tune f16:64x64x64:tn
try eval --mnk 64_64_64
try verify f16:64x64x64:tn
try verify --random 3
try gemm f16:64x64x64:tn
ls

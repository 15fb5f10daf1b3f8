# Wrong usage of the program itself, and of what all commands share: one line, exit code 2.
try() { gemmsmith "$@"; echo "exit $?"; }
try
try frobnicate
try --frobnicate
try tunee
try eval --budgett 3 f16:64x64x64:tn
try info --device foo | tail -n 1
try tune --policy telepathy f16:64x64x64:tn
try help frobnicate
try help worker
try help tune eval
try eval --frobnicate f16:64x64x64:tn
try eval -x f16:64x64x64:tn
try eval --json=yes f16:64x64x64:tn
try eval --rounds
try eval f16:64x64x64:tn --rounds
try eval --rounds= f16:64x64x64:tn
try eval --rounds ten f16:64x64x64:tn
try eval --rounds 1 f16:64x64x64:tn
try eval --rounds 99999999999999999999 f16:64x64x64:tn
try eval --mode sometimes f16:64x64x64:tn
try eval --layouts nn,nt f16:64x64x64:tn
try eval --layouts '' f16:64x64x64:tn
try eval --warmup_seconds soon f16:64x64x64:tn
try eval --target-qps -1 f16:64x64x64:tn
try info something
try doctor something

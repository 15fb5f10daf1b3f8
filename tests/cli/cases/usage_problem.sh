# A problem that cannot be read: its column, for every command that takes one.
try() { gemmsmith "$@"; echo "exit $?"; }
for command in tune eval verify gemm; do
    try $command
    try $command f16:64x64:tn
    try $command f16:64x64xK:tn
    try $command f8:64x64x64:tn
    try $command f16:64x64x64:tn:lda=3
done
try tune --mnk 64_64
try eval --mnk 64_64_64_64
try db show f16:64x64:tn --gpu nvidia-h200
printf '# shapes\nf16:64x64x64:tn\n\n  64_64_64  # short\n  f16:64x64x:tn\n' >shapes.txt
try tune --file shapes.txt
try tune --file absent.txt
try eval --file .
# a problem that computes nothing is a fault of whoever asks, in every command
try tune f16:0x64x64:tn --device emu:h200
gemmsmith eval f16:0x64x64:tn --device emu:h200 --quiet >eval.out; echo "exit $?"
# a name of a file that is not there
try tune nothere.txt
try eval some/nothere

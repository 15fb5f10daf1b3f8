# On the emulated device: files on standard output, and a table that cannot be written is said before anything is measured.
export GEMMSMITH_STORE=store.db
gemmsmith gemm f16:64x64x64:tn --device emu:h200 --no-check --out - | wc -c | tr -d ' '
ask="eval f16:64x64x64:tn --device emu:h200 --contenders simple --rounds 5 --layouts tn"
gemmsmith $ask --rows - 2>said | grep -v '^#' | cut -d, -f1-2
grep -c "^gemmsmith\|simple" said
gemmsmith $ask --csv - 2>/dev/null | wc -l | tr -d ' '
gemmsmith $ask --rows /dev/null --csv /dev/null --quiet >/dev/null
echo "exit $?"
echo text >some.txt
gemmsmith $ask --rows some.txt --quiet
echo "exit $?"
gemmsmith $ask --rows some.txt --again --quiet
echo "exit $?"
gemmsmith tune f16:64x64x64:tn --device emu:h200 --tuned some.txt
echo "exit $?"
cat some.txt
ls

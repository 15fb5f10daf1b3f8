# A table that GEMMSMITH_TUNED names, or weights that GEMMSMITH_WEIGHTS names, and that are missing or none: nothing runs untuned without a word.
printf 'not a table\n' >garbage.tuned
for named in none.tuned garbage.tuned; do
    export GEMMSMITH_TUNED=$named
    gemmsmith doctor --device emu:h200 | grep " tuned "
    gemmsmith gemm f16:64x64x64:tn --device emu:h200 --no-check
    echo "exit $?"
done
gemmsmith eval f16:64x64x64:tn --device emu:h200 --contenders own --quiet
echo "exit $?"
unset GEMMSMITH_TUNED
for named in none.weights garbage.tuned; do
    export GEMMSMITH_WEIGHTS=$named
    gemmsmith doctor --device emu:h200 | grep " weights "
    gemmsmith gemm f16:64x64x64:tn --device emu:h200 --no-check
    echo "exit $?"
    gemmsmith eval f16:64x64x64:tn --device emu:h200 --contenders own --quiet
    echo "exit $?"
    gemmsmith tune f16:64x64x64:tn --device emu:h200 --quiet
    echo "exit $?"
done
gemmsmith train good.weights --problems 0 --quiet >/dev/null
GEMMSMITH_WEIGHTS=good.weights gemmsmith doctor --device emu:h200 | grep " weights "

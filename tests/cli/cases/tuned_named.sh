# A table that GEMMSMITH_TUNED names and that is missing or no table: nothing runs untuned without a word.
printf 'not a table\n' >garbage.tuned
for named in none.tuned garbage.tuned; do
    export GEMMSMITH_TUNED=$named
    gemmsmith doctor --device emu:h200 | grep " tuned "
    gemmsmith gemm f16:64x64x64:tn --device emu:h200 --no-check
    echo "exit $?"
done
gemmsmith eval f16:64x64x64:tn --device emu:h200 --contenders own --quiet
echo "exit $?"

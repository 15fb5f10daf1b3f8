# eval through a scripted worker: the request, the table, raw rows and files, resuming from the store and --again.
. "$CASES/../replies.sh"
not_run='{"name":"cublas","layout":"tn","status":"GS_ERROR_NO_LIBRARY","message":"libcublas.so.13 cannot be opened","detail":"","wrong":false,"mismatches":0}'
wrong='{"name":"cublas","layout":"nn","status":"GS_OK","message":"","detail":"","wrong":true,"mismatches":7}'
reply offline "$(entry plan nn 200 204)" "$wrong" "$(entry cublaslt-autotuning nn 199 203)" \
              "$(entry plan tn 190 194)" "$not_run" "$(entry cublaslt-autotuning tn 205 209)" >replies/bench.json
ask="eval f16:4096x4096x4096:tn --mnk 4096_4096_4096 --contenders plan,cublas,cublaslt-autotuning"
gemmsmith $ask --csv rows.csv --base_dir results --seed 3 || exit 1
echo "---- asked once, as one problem"
cat replies/requests
echo "---- raw rows"
sed -n '1,3p;$p' rows.csv
echo "---- files"
ls results
echo "---- again from the store"
gemmsmith $ask --seed 3 --quiet | sed -n '/^f16/p'
wc -l <replies/requests
echo "---- and anew"
gemmsmith $ask --seed 3 --again --quiet | sed -n '/^f16/p'
gemmsmith $ask --seed 4 --quiet | sed -n '/^f16/p'
grep -c bench replies/requests
echo "---- other weights, which choose where no row stands"
for weights in 1 1 2; do
    (unset GEMMSMITH_WEIGHTS && gemmsmith train weights --problems 0 --seed $weights --quiet >/dev/null)
    GEMMSMITH_WEIGHTS=weights gemmsmith $ask --seed 3 --quiet >/dev/null
    grep -c bench replies/requests
done

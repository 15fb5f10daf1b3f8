# --out - and its like: the file goes to standard output, alone; what the program says of it, to standard error. Stores are not replaced.
cat >in.tuned <<'TABLE'
gemmsmith-tuned 1
bf16:64x4096x64:nn     library                        2.50    2.50    1.0000  1.0000  1.0000  1980  nvidia-h200  90  132  130100  2026-11-20T12:00:01Z  tune-0.1.0
TABLE
GEMMSMITH_STORE=store.db
export GEMMSMITH_STORE
gemmsmith db import in.tuned 2>&1
gemmsmith db export - --gpu nvidia-h200 | cut -c1-24
gemmsmith db export file.tuned --gpu nvidia-h200 2>&1
gemmsmith db export - --gpu nvidia-h200 2>/dev/null | cmp - file.tuned && echo "the same table"
gemmsmith train - --problems 0 | head -n 1
gemmsmith train x.weights --problems 0 --rows -
gemmsmith train - --rows - --problems 0
echo "exit $?"
echo "---- what is no file of the kind stays as it is"
cp store.db before.db
try() { "$@"; echo "exit $?"; }
try gemmsmith train store.db --problems 0
try gemmsmith report --out store.db --store store.db
try gemmsmith db export store.db --gpu nvidia-h200
try gemmsmith eval f16:64x64x64:tn --csv store.db
try gemmsmith eval f16:64x64x64:tn --rows store.db --again
sum=$(cksum <store.db)
gemmsmith db list --gpu nvidia-h200 >/dev/null
gemmsmith db show bf16:64x4096x64:nn --gpu nvidia-h200 >/dev/null 2>&1
gemmsmith report --out page.html >/dev/null
gemmsmith export pairs >/dev/null 2>&1
gemmsmith train y.weights store.db --problems 0 --epochs 0 --quiet >/dev/null
[ "$(cksum <store.db)" = "$sum" ] && echo "nothing that only reads has changed it"
echo "f16:64x64x64:tn" >list.txt
printf 'group,problem,schedule,us\n' >times.csv
try gemmsmith train times.csv times.csv
try gemmsmith report list.txt --out list.txt
cat list.txt times.csv
try gemmsmith db import absent.tuned --store new.db
try gemmsmith db merge absent.db --store new.db
try gemmsmith db curves absent.csv --store new.db
cmp store.db before.db && echo "the store is as it was"
echo "---- said before anything is measured"
try gemmsmith tune f16:64x64x64:tn --device emu:h200 --tuned absent/t.tuned
try gemmsmith tune f16:64x64x64:tn --device emu:h200 --policy learned --learn absent/l.weights
try gemmsmith tune f16:64x64x64:tn --device emu:h200 --store absent/s.db
ls

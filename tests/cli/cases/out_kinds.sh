# What is written where --out and its like lead to no regular file: nothing is replaced but files.
cat >in.tuned <<'TABLE'
gemmsmith-tuned 1
bf16:64x4096x64:nn     library                        2.50    2.50    1.0000  1.0000  1.0000  1980  nvidia-h200  90  132  130100  2026-11-20T12:00:01Z  tune-0.1.0
TABLE
try() { timeout 30 "$@"; echo "exit $?"; }
kind() { if [ -L "$1" ]; then echo "$1: a link"; elif [ -p "$1" ]; then echo "$1: a pipe"; elif [ -d "$1" ]; then echo "$1: a directory"; else echo "$1: a file"; fi; }
GEMMSMITH_STORE=store.db
export GEMMSMITH_STORE
gemmsmith db import in.tuned
mkdir folder
ln -s target.tuned link
echo old >target.tuned
ln -s nowhere lost
ln -s /dev/null null
mkfifo pipe
for out in link lost null folder; do
    try gemmsmith db export $out --gpu nvidia-h200
    try gemmsmith report --out $out --store store.db
    try gemmsmith train $out --problems 0 --quiet
    try gemmsmith train x.weights --problems 0 --quiet --rows $out
    kind $out
done
head -c 9 target.tuned && rm target.tuned
timeout 30 cat pipe >read & try gemmsmith db export pipe --gpu nvidia-h200
wait
kind pipe
cmp in.tuned read >/dev/null || head -n 1 read
echo before >redirected
gemmsmith db export /dev/stdout --gpu nvidia-h200 >>redirected
cut -c1-24 redirected
for store in pipe null folder; do
    try gemmsmith db list --store $store --gpu nvidia-h200
    try gemmsmith train x.weights $store --problems 0
    kind $store
done
echo "---- a folder that is not there is named, and not made"
try gemmsmith report --out absent/x.html --store store.db
try gemmsmith db export absent/x.tuned --gpu nvidia-h200
try gemmsmith train absent/x.weights --problems 0
try gemmsmith train x.weights --problems 0 --rows absent/rows.csv
try gemmsmith gemm f16:64x64x64:tn --out absent/d.npy
try gemmsmith eval f16:64x64x64:tn --csv absent/rounds.csv
try gemmsmith eval f16:64x64x64:tn --rows pipe/rows.csv
ls

# Weights from the time model alone, the same twice; going on from them; what is refused.
gemmsmith train one.weights --problems 2 --seed 3 --quiet || exit 1
gemmsmith train two.weights --problems 2 --seed 3 --json --quiet | cut -d: -f1-4
cmp one.weights two.weights && echo "the same bytes"
sed -n 1,4p one.weights
gemmsmith train two.weights --from one.weights --problems 1 --quiet
cmp -s one.weights two.weights || echo "other bytes"
mkdir -p s
echo gemmsmith-tuned 1 > none.tuned
gemmsmith db import none.tuned --store s/empty.db > out && rm none.tuned out
gemmsmith train three.weights s/empty.db --problems 0 --held_out 10 --quiet
gemmsmith train three.weights s/empty.db --problems 0
{
    echo group,problem,schedule,us
    for us in 10 11 12 13 14 15 16 17 18 19; do echo "7,f16:64x64x${us}0:tn,simple,$us"; echo "7,f16:64x64x${us}0:tn,gone/away,1"; done
    for g in 2 4 8; do for s in 2 3 4 5 6; do echo "$g,f16:512x512x64:tn,mma/64x64x64/w2x2/s$s/g$g,$s.5"; done; done
} > rows.csv
gemmsmith train four.weights rows.csv --rows again.csv --epochs 3 --problems 0 --quiet
gemmsmith train five.weights again.csv --epochs 3 --problems 0 --quiet
cmp four.weights five.weights && echo "the same from rows as written"
wc -l < again.csv
{   # held out with one in one: every size, so that nothing is learned; cuBLASLt's time is known to the weights that learned it
    echo group,problem,schedule,us
    for n in 512 520; do
        for s in 2 3 4 5 6; do for g in 1 2 4 8; do echo "$n,f16:512x${n}x$n:tn,mma/64x64x32/w2x2/s$s/g$g,$s.5"; done; done
        echo "$n,f16:512x${n}x$n:tn,cublaslt/1,5"
    done
} > beside.csv
gemmsmith train six.weights beside.csv --epochs 3 --problems 0 --quiet
gemmsmith train seven.weights beside.csv --from six.weights --problems 0 --held_out 1 --quiet | sed 's/[0-9]\.[0-9]*/X/g; s/[0-9]* are doubted/D are doubted/'
gemmsmith train seven.weights beside.csv --from six.weights --problems 0 --held_out 1 --quiet --json | sed 's/[0-9]\.[0-9]*/X/g; s/"doubts":[0-9]*/"doubts":D/' | grep -v stage
echo "words of families, untrained: $(grep -acx "mma\|ws\|tiny" one.weights), that saw mma alone: $(grep -acx "mma\|ws\|tiny" six.weights)"
grep -a "^nets" one.weights six.weights
gemmsmith train eight.weights beside.csv --nets 2 --epochs 3 --problems 0 --quiet
grep -a "^nets" eight.weights
{   # which of cuBLASLt's suggestions is fastest: the second one always is
    echo problem,suggestion,measured_us,sm_mhz,id,tile,stages,splitk,reduction,swizzle,cluster,custom,waves,workspace
    for n in 64 128 192 256 320 384 448 512; do
        echo "f16:512x${n}x512:tn,1,10,1980,66,15,35,1,0,0,3,1,0.5,0"
        echo "f16:512x${n}x512:tn,2,5,1980,24,20,35,1,0,0,3,1,0.5,0"
    done
} > suggested.csv
gemmsmith train nine.weights suggested.csv --from eight.weights --epochs 0 --quiet
grep -a "^suggestions" eight.weights nine.weights
gemmsmith train ten.weights suggested.csv --from nine.weights --epochs 0 --held_out 3 --quiet | tail -n 2
gemmsmith train ten.weights suggested.csv --from nine.weights --epochs 0 --held_out 3 --quiet --json | tail -n 1
printf 'problem,suggestion,measured_us,sm_mhz,id,tile,stages,splitk,reduction,swizzle,cluster,custom,waves,workspace\n1\n' > worse.csv
try() { gemmsmith train "$@"; echo "exit $?"; }
try x.weights --from one.weights --nets 2
try x.weights --nets 5
try
try x.weights --profile a1000
try x.weights nothing.db
printf 'group,problem,schedule,us\n1,f16:64x64x64:tn,simple\n' > bad.csv
try x.weights bad.csv
try x.weights worse.csv
echo none > none.db
try x.weights none.db
: > empty.txt
try x.weights empty.txt
wc -c < empty.txt   # it is no store now either
try x.weights --from s/empty.db
try x.weights --epochs -1
try no/way/x.weights --problems 0 --quiet
ls

# tune --devices with a simulating worker: every problem once, by one device or the other, one store, one table, one last line.
GEMMSMITH_CACHE=${GS_TEST_CACHE:-}; export GEMMSMITH_CACHE   # kernels that other tests of the run compiled
[ -n "${GEMMSMITH_FAKE_WORKER:-}" ] || { echo "no GEMMSMITH_FAKE_WORKER"; exit 77; }
gemmsmith info | grep -q '^NVRTC *none' && { echo "no NVRTC"; exit 77; }
. "$CASES/../replies.sh"
ask="tune 512_512_512 64_64_64 bf16:256x512x512:tn 128_64_64 --candidates 3 --families simple,mma --devices cuda:0,cuda:1"
short() { sed 's/, [0-9.]* s)/, N s)/' | sort; }
gemmsmith $ask --quick | short
grep -c '"narrow":true' replies/requests
gemmsmith $ask | short
mkdir here
# from a program that ignores the ends of its children, and leaves that to them
timeout -k 1 120 env --ignore-signal=CHLD gemmsmith tune f16:96x64x64:tn f16:96x96x64:tn --candidates 2 --families mma --devices cuda:0,cuda:1,cuda:2 --tuned here/my.tuned | short
cut -d' ' -f1 here/my.tuned | sed -n '4,$p'
gemmsmith db list --gpu nvidia-h200 | wc -l
# a device that breaks leaves its problems to the other
echo 'case $* in *cuda:1) exit 1 ;; *) printf "%s\n" "$line" | "$GEMMSMITH_FAKE_WORKER" worker --device cuda:0 ;; esac' >replies/bench.sh
for quick in "" --quick; do
    gemmsmith $ask $quick --again --quiet --json >lines 2>errors
    echo "exit $?, $(wc -l <lines) problems done, $(grep -c 'died' errors) left to others"
done
rm replies/bench.sh
gemmsmith $ask --budget 1 --again --quiet --json >/dev/null
echo "time is up: exit $?"
echo nonsense >bad.weights
gemmsmith tune f16:96x96x96:tn --policy learned --learn bad.weights --devices cuda:0
echo "exit $?"
gemmsmith tune 64_64_64 --devices all
echo "exit $?"
for devices in cuda:0,cuda:0 cuda:0,,cuda:1 "" ,; do gemmsmith tune 64_64_64 --devices "$devices"; done
gemmsmith tune 64_64_64 --devices cuda:0 --device cuda:1
echo "exit $?"

# tune --quick with a simulating worker: one race per problem, one verification, one fresh worker; --unconfirmed leaves table and winners
# alone and is found again; shards are parts of the list.
GEMMSMITH_CACHE=${GS_TEST_CACHE:-}; export GEMMSMITH_CACHE   # kernels that other tests of the run compiled
[ -n "${GEMMSMITH_FAKE_WORKER:-}" ] || { echo "no GEMMSMITH_FAKE_WORKER"; exit 77; }
gemmsmith info | grep -q '^NVRTC *none' && { echo "no NVRTC"; exit 77; }
. "$CASES/../replies.sh"
printf '512_512_512\nf16:256x512x512:tn   # named\n64_64_64\n' >shapes.txt
ask="tune --file shapes.txt --quick --candidates 3 --families simple,mma"
short() { sed 's/, [0-9.]* s)/, N s)/; s/"seconds":.*/.../'; }
gemmsmith $ask --unconfirmed | short
gemmsmith db list --gpu nvidia-h200
ls data/gemmsmith
grep -c '"narrow":true' replies/requests
grep -c '"op":"verify"' replies/requests
grep -c cublaslt replies/requests
requests=$(wc -l <replies/requests)
gemmsmith $ask --unconfirmed --json | short
gemmsmith $ask --unconfirmed --shard 1/2 --quiet || exit 1
[ $(wc -l <replies/requests) -eq $((requests + 2)) ] && echo "the store was asked, not the worker"
mkdir here
gemmsmith $ask --shard 0/2 --tuned here/my.tuned | short
cut -d' ' -f1 here/my.tuned
grep -c '"narrow":true' replies/requests
gemmsmith tune 64_64_64 --unconfirmed
gemmsmith tune 64_64_64 --shard 2/2
gemmsmith tune 64_64_64 --shard two
gemmsmith tune 64_64_64 --shard 0/0

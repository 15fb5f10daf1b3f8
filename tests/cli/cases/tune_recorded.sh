# What gemmsmith record wrote is tuned where it saves most, goes on where it was stopped, and the end says what a run of the program saves.
GEMMSMITH_CACHE=${GS_TEST_CACHE:-}; export GEMMSMITH_CACHE   # kernels that other tests of the run compiled
[ -n "${GEMMSMITH_FAKE_WORKER:-}" ] || { echo "no GEMMSMITH_FAKE_WORKER"; exit 77; }
gemmsmith info | grep -q '^NVRTC *none' && { echo "no NVRTC"; exit 77; }
. "$CASES/../replies.sh"
mkdir run
printf 'gemmsmith recorded 1\n10\tgs_gemm\tf16:64x64x64:tn\n1\tgs_gemm\tf16:0x64x64:tn\n' > run/recorded-a.txt
printf 'gemmsmith recorded 1\n1000000\tcublasGemmEx\tf16:96x64x64:tn\n7\tcublasGemmEx\tf16:64x64x64:tn\n7\tcublasGemmEx\tf16:64x64x6' > run/recorded-b.txt
ask="tune run --candidates 2 --families mma --time 10m --tuned some.tuned"
FAKE_WORKER=library_us=100; export FAKE_WORKER
gemmsmith $ask > said; echo "exit $?"
sed 's/ [0-9.]* us, [0-9.]* \[[0-9., ]*\]/ TIMES/; s/best own.*(/(/; s/, [0-9]* s)/)/; s/spends [0-9.e-]* s/spends T s/; s/problems, [0-9.e-]* s/problems, T s/; s/: [0-9.e-]* s saved/: T s saved/; s/mean over all [0-9.]*/mean over all R/; s/^\(f16[^ ]*  *\)[^ ]*/\1SCHEDULE/' said
gemmsmith $ask --quiet | sed -n 's/.*(from the store)/again: from the store/p; s/spends .* saved/spends/p'
# what cannot be searched is named, and spoils nothing: one that only cuBLASLt could compute, and it computes it wrong
printf 'gemmsmith recorded 1\n1\tgs_gemm\tf16:8x64x64:tn\n1000\tgs_gemm\tf16:512x64x64:tn\n' > odd.txt
FAKE_WORKER=reference=wrong gemmsmith tune odd.txt --candidates 1 --families gemv --tuned odd.tuned > said; echo "exit $?, $(grep -c '^f16' said) tuned"
# two devices share it: each problem is reported once, and the sums are of both
gemmsmith tune run 128_64_64 --candidates 4 --families mma --devices cuda:0,cuda:1 --store two.db --tuned two.tuned --quiet > said; echo "exit $?"
echo "devices: $(grep -c '^f16' said) of 3, $(sed -n 's/^\(f16[^ ]*\).*/\1/p' said | sort -u | wc -l) different"
sed -n 's/spends .* saved/spends/p; s/won 3 of 3.*/won 3 of 3/p' said

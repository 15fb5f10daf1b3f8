# Recorded files put together, lists of TunableOp, and a program that is run; what is wrong is one line.
mkdir run
printf 'gemmsmith recorded 1\n1\tgs_gemm\tf16:16x4096x4096:tn\n63\tgs_gemm\tf16:16x4096x4096:tn\n2\tcublasGemmEx\tbf16:100x4096x4096:tn\n' > run/recorded-a.txt
printf 'gemmsmith recorded 1\n5\tcublasGemmEx\tbf16:101x4096x4096:tn\n5\tcublasGemmEx\tbf16:7x4096x40' > run/recorded-b.txt
echo "-- merge"; gemmsmith record --merge run; echo "exit $?"
echo "-- buckets"; gemmsmith record --merge run --buckets --out all.txt; echo "exit $?"; cat all.txt
echo "-- again"; gemmsmith record --merge all.txt run/recorded-a.txt; echo "exit $?"
cat > untuned.csv <<EOF
Validator,PT_VERSION,2.11.0
GemmTunableOp_Half_TN,tn_4096_16_2048_ld_2048_2048_4096
GemmTunableOp_BFloat16_NT,nt_25088_4096_64
GemmTunableOp_float_TN,tn_1_2_3_ld_3_3_1
GemmStridedBatchedTunableOp_Half_NN,nn_64_128_256_B_96_ld_64_256_64
GemmAndBiasTunableOp_Half_TN,tn_768_1024_3072_ld_3072_3072_768
EOF
echo "-- import"; gemmsmith record --import untuned.csv all.txt; echo "exit $?"
echo "-- damage"
printf 'gemmsmith recorded 1\nrubbish\n' > bad.txt
gemmsmith record --merge bad.txt; echo "exit $?"
gemmsmith record --merge untuned.csv; echo "exit $?"
gemmsmith record --import help.txt; echo "exit $?"
echo 'GemmTunableOp_Half_TN,tn_1_2' > bad.csv
gemmsmith record --import bad.csv; echo "exit $?"
mkdir empty; gemmsmith record --merge empty; echo "exit $?"
gemmsmith record --merge all.txt --out nowhere/x.txt; echo "exit $?"
gemmsmith record --merge all.txt --out /dev/full; echo "exit $?"
echo "-- usage"
gemmsmith record; echo "exit $?"
gemmsmith record --merge; echo "exit $?"
gemmsmith record --buckets -- true; echo "exit $?"
echo "-- run"
GEMMSMITH_BLAS=off; export GEMMSMITH_BLAS   # whether cuBLAS's stand-in is beside the program is another test's
gemmsmith record --quiet -- sh -c 'test -d "$GEMMSMITH_RECORD"; exit 41'; echo "exit $?"
gemmsmith record --quiet -- sh -c 'kill -9 $$'; echo "exit $?"
gemmsmith record --quiet --out none -- ./nosuch; echo "exit $?"; ls -d none recorded 2>/dev/null
: > file; gemmsmith record --quiet --out file -- true; echo "exit $?"
echo "-- as a list"
gemmsmith pack run --out x.pack --device nosuch; echo "exit $?"
gemmsmith pack bad.txt --out x.pack --device h200; echo "exit $?"

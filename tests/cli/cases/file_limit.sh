# A limit of files' size is told as a full disk is, and leaves nothing half-written; a program that is recorded has its own way with it.
GEMMSMITH_DEVICE=emu:h200
export GEMMSMITH_DEVICE
(
    ulimit -f 8
    gemmsmith export corpus >corpus.jsonl; echo "exit $?"
    gemmsmith tune f16:64x64x64:tn --store small.db; echo "exit $?"
    gemmsmith train big.weights --problems 1 --epochs 0 --quiet; echo "exit $?"
    gemmsmith record --quiet -- sh -c 'head -c 9999999 /dev/zero >zeros' 2>/dev/null; echo "exit $?"
)
gemmsmith export corpus >/dev/full; echo "exit $?"
ls big* 2>/dev/null
exit 0

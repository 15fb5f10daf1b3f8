# An emulated device that the environment names makes a pack and verifies it.
export GEMMSMITH_DEVICE=emu:h200
gemmsmith pack f16:64x64x64:tn --out x.pack >/dev/null 2>&1; echo "exit $?"
gemmsmith pack --verify x.pack 2>/dev/null | tail -n 1
unset GEMMSMITH_DEVICE
gemmsmith pack --verify x.pack 2>/dev/null | tail -n 1   # the pack says which device it is for
GEMMSMITH_DEVICE=cuda:0 gemmsmith pack --verify x.pack 2>/dev/null; echo "exit $?"

# What is wrong is one line; nothing here has a GPU.
gemmsmith pack f16:64x64x64:tn; echo "exit $?"
gemmsmith pack --device h200 --out x.pack; echo "exit $?"
gemmsmith pack --list missing.pack; echo "exit $?"
echo "no pack" > bad.pack
gemmsmith pack --list bad.pack; echo "exit $?"
head -c 400 /dev/zero > zeros.pack
gemmsmith pack --list zeros.pack; echo "exit $?"
gemmsmith pack --list zeros.pack --verify zeros.pack; echo "exit $?"
gemmsmith pack --verify zeros.pack --out x.pack f16:64x64x64:tn; echo "exit $?"
GEMMSMITH_NVRTC=$HOME/missing.so gemmsmith pack --device h200 --out x.pack f16:64x64x64:tn; echo "exit $?"
[ ! -e x.pack ]; echo "none: $?"

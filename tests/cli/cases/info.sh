# Without a GPU info says what is missing, lists the emulated devices and succeeds; --device asks for one, which must be there.
gemmsmith info || exit 1
gemmsmith info --json
gemmsmith info --device emu:a100,check=0 | sed -n 2p
gemmsmith info --device cuda:0 | sed -n 2p
gemmsmith info --device emu:v100 --json
echo "exit code $?"

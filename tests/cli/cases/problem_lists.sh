# Lists of problems: from standard input, with the mark of a text in UTF-8, with line ends of another system.
[ -n "${GEMMSMITH_FAKE_WORKER:-}" ] || { echo "no GEMMSMITH_FAKE_WORKER"; exit 77; }
GEMMSMITH_WORKER=$GEMMSMITH_FAKE_WORKER
export GEMMSMITH_WORKER
printf 'f16:64x64x64:nn\n# none\n\n64_64_128\n' | gemmsmith verify --schedule simple --file - --json
printf '\357\273\277f16:64x64x64:tn\r\n' >marked.txt
gemmsmith verify --schedule simple --file marked.txt
gemmsmith verify --schedule simple marked.txt   # a list may stand where a problem may
echo f16:64x64:tn >wrong.txt
gemmsmith verify --schedule simple wrong.txt
printf 'f16:64x64\n' | gemmsmith verify --schedule simple --file -
echo "exit code $?"
printf 'f16:64x64x64:nn\n' | gemmsmith verify --schedule simple --file /dev/stdin
# a shard of a list that is shorter has nothing to do
gemmsmith verify --schedule simple 64_64_64 --shard 1/4
echo "exit code $?"
gemmsmith verify --schedule simple 64_64_64 64_64_128 --shard 1/4

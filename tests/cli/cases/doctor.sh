# Without a GPU doctor names it and ends with 3; a broken store and a broken table are named too.
gemmsmith doctor
echo "exit $?"
printf 'this is no database, whatever its name says, and long enough to be looked at\n' >data/gemmsmith/store.db
mkdir -p data/gemmsmith/tuned
printf 'gemmsmith-tuned 1\nnonsense\n' >data/gemmsmith/tuned/nvidia-h200.tuned
gemmsmith doctor
echo "exit $?"
gemmsmith doctor --json

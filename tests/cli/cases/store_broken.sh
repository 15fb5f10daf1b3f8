# A store that is no database, one of a newer version, one that cannot be made, and an absent one to merge: exit code 5 for the store's faults.
try() { gemmsmith "$@"; echo "exit $?"; }
printf 'this is no database, whatever its name says, and long enough to be looked at\n' >broken.db
try db list --gpu nvidia-h200 --store broken.db
echo gemmsmith-tuned 1 >none.tuned
gemmsmith db import none.tuned --store newer.db
printf '\377' | dd of=newer.db bs=1 seek=62 conv=notrunc 2>dd.log
try db list --gpu nvidia-h200 --store newer.db
try db import none.tuned --store /dev/null/store.db
try db merge absent.db

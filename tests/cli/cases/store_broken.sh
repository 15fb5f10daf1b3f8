# A store that is no database, one of a newer version, one that cannot be made, and an absent one to merge: exit code 5 for the store's faults. One that was changed is told until it is sealed.
try() { gemmsmith "$@"; echo "exit $?"; }
printf 'this is no database, whatever its name says, and long enough to be looked at\n' >broken.db
try db list --gpu nvidia-h200 --store broken.db
echo gemmsmith-tuned 1 >none.tuned
gemmsmith db import none.tuned --store newer.db
printf '\377' | dd of=newer.db bs=1 seek=62 conv=notrunc 2>dd.log
try db list --gpu nvidia-h200 --store newer.db
try db seal newer.db
try db import none.tuned --store /dev/null/store.db
try db merge absent.db
gemmsmith db import none.tuned --store sound.db
try db check --store sound.db
printf '\001' | dd of=sound.db bs=1 seek=4000 conv=notrunc 2>dd.log
try db check --store sound.db
try db list --gpu nvidia-h200 --store sound.db
try db seal sound.db
try db check --store sound.db
try db seal absent.db

# A worker that ends before it says anything: its last words, exit code 1.
printf '#!/bin/sh\necho "no such thing as a GPU" >&2\nexit 3\n' >worker && chmod +x worker
GEMMSMITH_WORKER=$PWD/worker gemmsmith tune f16:64x64x64:tn
echo "exit $?"
GEMMSMITH_WORKER=$PWD/absent gemmsmith eval f16:64x64x64:tn

# Without a GPU info says what is missing and succeeds.
gemmsmith info || exit 1
gemmsmith info --json

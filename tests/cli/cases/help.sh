# The list of commands, and every command's help from both spellings.
gemmsmith help
for command in tune eval gemm verify score serve db record pack report train info doctor help; do
    gemmsmith help $command >a || exit 1
    gemmsmith $command --help >b || exit 1
    cmp a b || exit 1
    echo "--------"
    cat a
done

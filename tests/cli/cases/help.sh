# The list of commands, and every command's help from both spellings, in lines of at most 100 columns but for usage and examples.
wide() { awk 'length > 100 && !/^usage: / && !/^  (gemmsmith|curl|GEMMSMITH)/ { print "wide: " $0 }' "$1"; }
gemmsmith help | tee a
wide a
for command in tune eval gemm verify score serve db record pack report train export info doctor help; do
    gemmsmith help $command >a || exit 1
    gemmsmith $command --help >b || exit 1
    cmp a b || exit 1
    echo "--------"
    cat a
    wide a
done

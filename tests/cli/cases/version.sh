gemmsmith --version
gemmsmith --help | head -n 1

# The two commands of the README, and a few for developers. Each does its own set-up on Debian or Ubuntu.
#   make run         tune and evaluate one problem (PROBLEM=64_4096_64) on this machine's GPU
#   make check       every test that needs no GPU: release and sanitizer builds, threads, dependency law, command line, fuzzing
#   make check-quick the law, a release build and its quick tests: three to four minutes on two idle cores, the first time longer, for while one works
#   make check-gpu   every test that needs a GPU
#   make check-trainers  TRL, verl, OpenRLHF, OpenEnv and Gymnasium, installed from PyPI (4 GB), get rewards from a live service
#   make check-kill  tuners, services and a PostgreSQL server, killed 100 times each
#   make check-load  gemmsmith serve under 10,000 requests and misfortune, some minutes
#   make check-compilers  kernels of every family, compiled by every release of CUDA 12 from 12.1 on (its compilers come from PyPI, 400 MB)
#   make check-release  a release is made twice, its packages are tried on a fresh system (some 100 MB from Debian)
#   make fuzz        libFuzzer over the parsers and the emulated device (clang), FUZZ_SECONDS=60 each
PROBLEM      ?= 64_4096_64
FUZZ_SECONDS ?= 60

.PHONY: run check check-quick check-gpu check-trainers check-kill check-load check-compilers check-release fuzz build setup clean

run: setup
	@cmake --preset release >/dev/null
	@cmake --build --preset release --target gemmsmith_program gemmsmith_emu
	@sh scripts/run.sh $(PROBLEM)

check:
	@sh scripts/setup.sh tests
	@sh scripts/check.sh

check-quick: setup
	@sh scripts/check.sh quick

check-gpu: build
	@sh scripts/check_gpu.sh build/release

check-trainers: build
	@sh scripts/trainers.sh build/release

check-kill: build
	python3 tests/store/kill.py build/release/tests/store_worker --moments 100
	GS_KILLS=100 python3 tests/service/shared.py build/release/gemmsmith build/release/tests/fake/fake_worker Kills KillsServer

check-load: build
	python3 tests/service/load.py build/release/gemmsmith --requests 10000 --evaluated 0.5

check-compilers: build
	@sh scripts/check_compilers.sh build/release

check-release:
	@sh scripts/setup.sh release
	@sh scripts/check_release.sh

fuzz: setup
	@cmake --preset fuzz >/dev/null && cmake --build --preset fuzz --target fuzz_parsers fuzz_parsers_libfuzzer fuzz_emu_libfuzzer
	@FUZZ_SECONDS=$(FUZZ_SECONDS) sh scripts/fuzz.sh build/fuzz

build: setup
	@cmake --preset release >/dev/null
	@cmake --build --preset release

setup:
	@sh scripts/setup.sh

clean:
	rm -rf build

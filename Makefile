# Everything a developer does, starting from a Debian machine with only git, make and root (or
# sudo). CMake's presets build; this file first installs what they need.
#   JOBS=N            parallel jobs (default: all cores)
#   DEPS=no           install nothing, use what the machine has
#   FUZZ_SECONDS=60   time for each fuzz target
#   BENCH_ARGS=...    passed to the benchmark's driver, for example --quick
#   SWEEP_ARGS=...    passed to the sweeps, for example: --only fig4 --set fig4:n=256,512
#   CAMPAIGN_ARGS=... passed to the campaign, for example: certificates --records 1000000
#   LINT_SINCE=REV    clang-tidy over what changed since this revision (default: over everything)
#   TRACE=FILE        read by bench-trace (default: the shipped one)
#   TAMIS_PEERS=DIR   where the benchmarks keep torch and ggml
SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.NOTPARALLEL:
.DEFAULT_GOAL := help

JOBS ?= $(shell nproc)
FUZZ_SECONDS ?= 60
TRACE ?= data/smollm2-kjv-8k-small.safetensors
TAMIS_PEERS ?= $(HOME)/.cache/tamis/peers
export BENCH_ARGS
python := .venv/bin/python
# The thread sanitizer cannot map its shadow memory under strong address randomisation. Containers
# may forbid switching that off, and then rarely need it.
fixed_addresses = $(shell setarch -R true 2>/dev/null && echo setarch -R)

define build
cmake --preset $(1) >/dev/null
cmake --build --preset $(1) -j $(JOBS)
endef

define bench
$(call build,bench)
JOBS=$(JOBS) bench/peers.sh $(TAMIS_PEERS) /usr/bin/python3
$(TAMIS_PEERS)/bin/python bench/$(1).py --peers $(TAMIS_PEERS) --build build/bench $(BENCH_ARGS)
endef

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "%-15s %s\n", $$1, $$2 }' Makefile

deps: ## install Debian packages that are missing and make .venv
	@tools/debian.sh deps/debian.txt
	@tools/venv.sh .venv deps/python.txt

deps-dev: deps
	@tools/debian.sh deps/debian-dev.txt

demo: build ## attention on the shipped trace, checked: what was found, and a page in out/demo
	@tools/demo.sh build/release/cli/tamis $(python) out/demo

build: deps ## build the library and the program in build/release
	@$(call build,release)

test: deps ## unit tests, a program against the installed library, the command line, Python
	@$(call build,dev)
	@ctest --preset dev -j $(JOBS)
	@tests/consumer/check.sh build/dev
	@TAMIS_PROGRAM=$(CURDIR)/build/dev/cli/tamis $(python) -m pytest -q tests/cli tests/tools
	@TAMIS_PROGRAM=$(CURDIR)/build/dev/cli/tamis PYTHONPATH=$(CURDIR)/build/dev/python \
	  $(python) -m pytest -q tests/python

# It compiles everything once more and downloads NumPy, and so takes too long for make test.
wheel: deps ## a wheel of the Python package in out/wheel, tried where nothing else is
	@JOBS=$(JOBS) tools/wheel.sh $(python) out/wheel

sanitize: deps-dev ## unit tests (not the longest) and fuzz corpora, sanitized by g++ -O0 and clang
	@$(call build,asan-ubsan)
	@UBSAN_OPTIONS=print_stacktrace=1 ctest --preset asan-ubsan -j $(JOBS)
	@$(call build,tsan)
	@$(fixed_addresses) ctest --preset tsan -j $(JOBS)

bench: deps ## dense attention against torch and ggml, written to docs/results
	@$(call bench,dense)

bench-sieve: deps ## sparse decode against torch, ggml and dense tamis, 8 minutes, to docs/results
	@$(call bench,sieve)

bench-trace: deps ## what attention over a cache reads of TRACE, query by query, and its true error
	@$(call build,bench)
	@build/bench/bench/tamis_bench_trace $(TRACE)

bench-profile: deps ## a profile pass against dense attention over the same keys, and its memory
	@$(call build,bench)
	@$(python) bench/profile_pass.py --build build/bench $(BENCH_ARGS)

bench-dmin: deps ## a search for d_min by the paper's construction to the letter and by tamis
	@$(call build,bench)
	@$(python) bench/dmin.py --build build/bench $(BENCH_ARGS)

bench-executor: deps ## the library's own threads against OpenMP's and oneTBB's, five minutes
	@$(call build,bench)
	@$(python) bench/executor.py --build build/bench $(BENCH_ARGS)

bench-realise: build ## how small the norms of witnesses get, in what time and memory
	@$(python) bench/realise.py --build build/release $(BENCH_ARGS)

sweeps: build ## the papers' experiments at full size, hours, resumable, written to docs/results
	@$(python) bench/sweeps.py $(SWEEP_ARGS)

fuzz: deps-dev ## every parser under libFuzzer for FUZZ_SECONDS each
	@fuzz/run.sh $(FUZZ_SECONDS)

# The checks are exp2, 10^7 certificates, 10^6 certificates against an adversary, planted laws,
# witnesses, d_min, all pairs and small patterns.
campaign: deps ## long checks of certificates, laws, witnesses and patterns; about an hour
	@cmake --preset dev >/dev/null
	@cmake --build --preset dev -j $(JOBS) --target tamis_campaign
	@build/dev/tests/tamis_campaign $(CAMPAIGN_ARGS)

format: deps-dev ## rewrite C++ and Python in the project's format
	@git ls-files '*.h' '*.cpp' '*.c' | xargs clang-format -i
	@$(python) -m ruff format --quiet .

lint: deps-dev ## format, includes, clang-tidy, shellcheck and ruff, changing nothing
	@git ls-files '*.h' '*.cpp' '*.c' | xargs clang-format --dry-run --Werror
	@git ls-files '*.sh' .ci/run | xargs shellcheck
	@$(python) -m ruff format --quiet --check .
	@$(python) -m ruff check --quiet .
	@$(python) tools/check_includes.py
	@cmake --preset dev >/dev/null
	@tools/lint.sh build/dev $(JOBS) $(LINT_SINCE)

clean: ## delete what was built; keeps .venv and the peers
	@rm -rf build out

.PHONY: help deps deps-dev demo build test wheel sanitize bench bench-sieve bench-trace bench-profile bench-dmin bench-executor bench-realise sweeps fuzz campaign format lint clean

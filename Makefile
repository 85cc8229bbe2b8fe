# Targets with a `##` comment are listed by a bare `make`.
SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help

PYTHON ?= python3
# How the core is compiled: `dev` is for a machine that only runs the tests, whose crates it shares where features are
# the same.
PROFILE ?= release
ROWS ?= *
FROM ?= 0
COUNT ?= 100000
export PIP_QUIET := 1
export PIP_DISABLE_PIP_VERSION_CHECK := 1
VENV := .venv
BIN := $(VENV)/bin
# What the compiled core is made of; Cargo decides which crates to compile again.
CORE := $(shell find crates mpi -path crates/tidy -prune -o -path crates/fuzz -prune -o -type f ! -path mpi/executor ! -path mpi/pingpong ! -path mpi/check -print) Cargo.toml Cargo.lock rust-toolchain.toml \
	bench/history.jsonl $(wildcard profiles/*/*)
# One simulation on several processes: with an MPI library, whose interface is read by libclang.
LIBCLANG := $(shell (ldconfig -p; ls $(LIBCLANG_PATH) /usr/lib/llvm-*/lib) 2>/dev/null | grep --max-count=1 'libclang[-.0-9]*so')
MPI := $(and $(shell command -v mpicc),$(LIBCLANG),--features mpi)
# Tests of one file, and tests of what a machine has once, run one after the other; see tests/conftest.py. Tests that
# compare times of this machine need it for themselves: they are measurements, and belong to `make bench`.
SIDE_BY_SIDE := --numprocesses=auto --maxprocesses=8 --dist=loadgroup
# Crates that differ from the last commit; the binding has no tests in Rust.
CHANGED = $(filter-out python,$(shell git status --porcelain -- crates | cut -c4- | cut -d/ -f2))

help: ## Print this list
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/\1\t\2/p' Makefile | expand -t 12

setup: $(VENV)/core.stamp ## Build the core and leave the command line at .venv/bin/etherweave

test: setup ## Run every test, side by side where they share nothing, then the lints
	cargo test --quiet --workspace --tests $(MPI)
	cargo test --quiet --workspace --doc $(MPI)
	$(BIN)/pytest --quiet $(SIDE_BY_SIDE) -m "not alone and not long"
	@$(MAKE) --no-print-directory lint

test-core: setup ## Run the tests of simulator and scenario, in Rust and in Python: about six minutes on two processors
	cargo test --quiet --workspace --tests --exclude etherweave-fuzz --exclude etherweave-tidy $(MPI)
	$(BIN)/pytest --quiet $(SIDE_BY_SIDE) -m "not slow and not serial and not alone and not long" tests/api tests/cli

test-fast: setup ## Run quick tests, and those of crates that differ from the last commit
	cargo test --quiet --lib --tests $(addprefix --package etherweave-,$(sort tidy primitives topology $(CHANGED)))
	$(BIN)/pytest --quiet $(SIDE_BY_SIDE) -m "not slow and not serial and not alone and not long"

fuzz: setup ## Try random scenarios (FROM=0 COUNT=100000) and damaged files; what fails is in target/found
	cargo run --quiet --package etherweave-fuzz -- --from $(FROM) --count $(COUNT)
	ETHERWEAVE_FUZZ_ROUNDS=$$(($(COUNT) / 5000 + 1)) $(BIN)/pytest --quiet $(SIDE_BY_SIDE) -m "fuzz or long"

wheel: $(VENV)/packages.stamp ## Build wheel and sdist in dist/, and try the wheel in an environment of its own
	@rm -f dist/etherweave*
	$(BIN)/maturin build --release --quiet --sdist --strip --out dist
	ETHERWEAVE_WHEEL=$$(echo dist/*.whl) $(BIN)/pytest --quiet tests/api/test_wheel.py

docs: export NO_MKDOCS_2_WARNING := 1
docs: setup ## Build the site in dist/site, man pages and scripts for completion in dist/share
	$(BIN)/mkdocs build --strict
	$(BIN)/python -m etherweave.cli.manual dist

lock: $(VENV)/packages.stamp ## Choose the newest versions of packages again, and write requirements.lock
	$(BIN)/uv pip compile pyproject.toml --all-extras --universal --python-version 3.11 --upgrade \
		--generate-hashes --no-header --no-annotate --quiet --output-file requirements.lock

study: setup ## Compare 198 published measurements with simulated ones in half a minute, and list the other studies
	$(BIN)/etherweave study osu-references
	$(BIN)/etherweave study

study-all: setup ## Reproduce all published evaluations; RECORD=1 keeps what they computed for the list of studies
	@set -e; for study in studies/*; do $(BIN)/etherweave study $$(basename $$study) $(if $(RECORD),--fresh --record); done
	$(BIN)/etherweave study

bench: setup ## Time simulations and designs (ROWS="*_300k*" for some), appended to bench/history.jsonl; measure namespaces
	$(BIN)/python bench/run.py --only "$(ROWS)"
	$(BIN)/pytest --quiet -m alone

# To mypy a study is a package, whose name may not have a hyphen.
$(VENV)/studies: $(wildcard studies/*)
	@rm -rf $@ && mkdir $@
	@for study in $^; do ln -s $(CURDIR)/$$study $@/$$(basename $$study | tr - _); done

lint: setup $(VENV)/studies ## Check formatting, lints and types (FIX=1: format first)
	$(if $(FIX),cargo fmt --all; $(BIN)/ruff format --quiet; $(BIN)/ruff check --fix --quiet)
	cargo fmt --all --check
	$(BIN)/ruff format --check --quiet
	$(BIN)/ruff check --quiet
	($(BIN)/mypy && $(BIN)/mypy $(VENV)/studies) & types=$$!; \
		cargo clippy --quiet --workspace --all-targets -- --deny warnings; wait $$types

count: ## Print the lines of Rust, Python and documents beside their budgets
	cargo run --quiet --package etherweave-tidy

# Packages are installed again when their versions change, the core is built again when its sources do. uv installs
# them, since pip takes minutes for as many; pip does where it alone knows how to reach a registry. The extra `explore`
# stands on another, which Maturin would look for in a registry: its packages are in the lock.
$(VENV)/packages.stamp: requirements.lock
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Etherweave needs Python 3.11 or later")'
	$(PYTHON) -m venv $(VENV)
	sed -n '/^uv==/,/[^\\]$$/p' $< > $(VENV)/uv.lock
	$(BIN)/python -m pip install --require-hashes --requirement $(VENV)/uv.lock
	$(BIN)/uv pip install --python $(BIN)/python --quiet --require-hashes --requirement $< || \
		$(BIN)/python -m pip install --require-hashes --requirement $<
	@touch $@

$(VENV)/core.stamp: $(VENV)/packages.stamp pyproject.toml $(CORE)
	VIRTUAL_ENV=$(CURDIR)/$(VENV) $(BIN)/maturin develop --uv --profile $(PROFILE) --quiet --extras advise,bench,control,dask,otf2,report,dev,docs $(MPI) >&2
	@touch $@

.PHONY: help setup test test-core test-fast fuzz wheel docs lock study study-all bench lint count

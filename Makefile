# Everything a newcomer or CI runs. `make` alone lists the targets.
#
# Nothing has to be prepared: each target installs what it needs, tools from Debian (as root) and the rest from crates,
# PyPI and npm, into this folder. Stamps under .venv/ and page/node_modules/ make the second time quick.

SHELL := bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
MAKEFLAGS += --no-builtin-rules

PYTHON ?= $(shell command -v python3.11 || command -v python3)
VENV := .venv
BIN := $(VENV)/bin
OOMPH := $(BIN)/oomph
# Everything the command is built from.
SOURCES := $(shell find crates python -type f -not -path '*/tests/*' -not -name '*.snap' -not -name '*.pyc')
# Most tests import torch: compiled once, not every time, also where images forbid it.
unexport PYTHONDONTWRITEBYTECODE
FUZZ_SECONDS ?= 60
# The interpreters of `make versions`.
PYTHONS ?= $(PYTHON)
DEMO_SNAPSHOT := corpus/h200/oom_loss_kept_with_graph.pickle.gz

# $(call need,COMMAND,DEBIAN PACKAGE): installs the package unless the command is there.
need = command -v $(1) >/dev/null || { apt-get update -q && apt-get install -qy --no-install-recommends $(2); }

.PHONY: help
help: ## List the targets
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## (.*)/  \1\t\2/' | expand -t 16

.PHONY: setup
setup: $(VENV)/.oomph ## Build everything and install it into .venv, as users get it from the wheel

.PHONY: demo
demo: setup $(VENV)/.test ## Plan a job that does not fit a 24 GB card, make it fit, and explain a real error from an H200
	@echo 'Some runs on a hollow card: about a minute.'
	@echo '$$ oomph plan --gpu rtx_4090 examples/train.py --batch 8'
	@$(OOMPH) plan --gpu rtx_4090 examples/train.py --batch 8 || test $$? = 1
	@echo
	@echo '$$ oomph plan --fit --gpu rtx_4090 examples/train.py --batch 8 | head -n 18'
	@$(OOMPH) plan --fit --gpu rtx_4090 examples/train.py --batch 8 | head -n 18
	@echo
	@echo '$$ oomph explain $(DEMO_SNAPSHOT) --html target/demo.html'
	@$(OOMPH) explain $(DEMO_SNAPSHOT) --html target/demo.html

.PHONY: test
test: setup $(VENV)/.truth page/node_modules/.oomph ## Run every test
	$(call need,prometheus,prometheus)
	if cargo nextest --version >/dev/null 2>&1; then \
	    cargo nextest run --workspace --locked --no-fail-fast && cargo test --doc --workspace --locked --quiet; \
	else \
	    cargo test --workspace --locked --quiet; \
	fi
	mkdir -p target/page
	OOMPH=$(CURDIR)/$(OOMPH) OOMPH_PAGE_OUT=$(CURDIR)/target/page npm --prefix page test
	# Three at a time on two cores: some wait more than they compute.
	$(BIN)/python -m pytest -n 3 --dist loadfile --no-loadscope-reorder

.PHONY: lint
lint: ## Check formatting, clippy (pedantic, warnings are errors) and rustdoc
	cargo fmt --all --check
	cargo clippy --workspace --all-targets --locked --quiet -- -D warnings
	RUSTDOCFLAGS="-D warnings" cargo doc --workspace --no-deps --locked --quiet

.PHONY: fmt
fmt: ## Format the code
	cargo fmt --all

.PHONY: docs
docs: ## Renew the generated pages in docs/ and the transcripts in README.md
	OOMPH_BLESS=1 cargo test -p oomph --test it --locked --quiet docs::

.PHONY: man
man: setup ## Write man pages and shell completions to target/man and target/completions
	mkdir -p target/man target/completions
	$(OOMPH) man target/man
	for shell in bash zsh fish; do $(OOMPH) completions $$shell > target/completions/oomph.$$shell; done

.PHONY: accuracy
accuracy: setup $(VENV)/.truth ## Plan every job measured on the H200, compare, and renew docs/accuracy.md
	$(BIN)/python tests/accuracy.py --jobs 2 --write docs/accuracy.md

.PHONY: versions
versions: setup ## Plan the same jobs with every version of torch, and renew docs/versions.md
	$(BIN)/python tests/versions.py --python $(PYTHONS) --write docs/versions.md

.PHONY: bench
bench: setup $(VENV)/.truth ## Measure speed and memory against the targets
	cargo run --release --locked -p oomph-bench --bin read_snapshot
	cargo run --release --locked -p oomph-heap --example replay_speed
	$(BIN)/python benches/plan_cost.py
	$(BIN)/python benches/recorder_cost.py
	$(BIN)/python benches/check_speed.py
	$(BIN)/python benches/top_cost.py

.PHONY: leaks
leaks: setup $(VENV)/.test ## Run 90 leaking and 90 healthy jobs on a hollow card and say which are named
	OOMPH=$(CURDIR)/$(OOMPH) $(BIN)/python corpus/leaks/score.py --jobs 2

.PHONY: recall
recall: setup ## Say which labelled bugs `oomph check` finds, its false alarms, and what other words hide
	OOMPH=$(CURDIR)/$(OOMPH) $(BIN)/python corpus/check/score.py --misses
	OOMPH=$(CURDIR)/$(OOMPH) $(BIN)/python corpus/check/rewrites.py

.PHONY: fuzz
fuzz: ## Throw random bytes at the readers for FUZZ_SECONDS each
	fuzz/run $(FUZZ_SECONDS)

# One virtual environment holds the built command and what tests it.
$(VENV)/.tools: pyproject.toml
	$(call need,cc,gcc libc6-dev)
	$(PYTHON) -c 'import ensurepip' 2>/dev/null || { apt-get update -q && apt-get install -qy python3-venv; }
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet uv==0.13.7
	$(BIN)/uv pip install --quiet --python $(BIN)/python --group build
	touch $@

$(VENV)/.oomph: $(VENV)/.tools Cargo.toml Cargo.lock $(SOURCES)
	@echo 'Building oomph in release mode: some 5 minutes the first time on 2 cores.'
	rm -rf target/wheels
	$(BIN)/python python/backend/oomph_backend.py
	PATH="$(CURDIR)/$(BIN):$$PATH" maturin build --release --quiet --out target/wheels
	$(BIN)/uv pip install --quiet --python $(BIN)/python --reinstall --no-deps target/wheels/oomph-*.whl
	touch $@

$(VENV)/.test: $(VENV)/.tools
	@echo 'Installing torch: some 5 GB.'
	$(BIN)/uv pip install --python $(BIN)/python --group test
	touch $@

$(VENV)/.truth: $(VENV)/.test
	@echo 'Installing the libraries of the test jobs.'
	$(BIN)/uv pip install --python $(BIN)/python --group truth
	touch $@

page/node_modules/.oomph: page/package-lock.json $(VENV)/.tools
	$(call need,npm,nodejs npm)
	$(call need,chromium,chromium)
	npm --prefix page ci --no-audit --no-fund
	touch $@

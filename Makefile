# `make demo` and `make test` do all the set-up; they need only Python 3.11 and make.
PYTHON ?= $(shell command -v python3.11 || command -v python3)
BIN := .venv/bin
STAMP := .venv/.installed

.PHONY: demo test fast soak check bench clean lock

demo: $(STAMP)
	$(BIN)/facetmt demo

# In folder order: the slow tests come first, so that neither worker waits for the other at the end.
test: $(STAMP)
	$(BIN)/python -m pytest tests -n 2 --dist loadfile --no-loadscope-reorder

# The tests that start no training, to run between edits; what JAX compiled once is kept for the next time.
fast: export JAX_COMPILATION_CACHE_DIR = $(CURDIR)/.pytest_cache/jax
fast: export JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS = 0
fast: export JAX_PERSISTENT_CACHE_MIN_ENTRY_SIZE_BYTES = 0
fast: $(STAMP)
	$(BIN)/python -m pytest tests/unit tests/contract -n 2

# At least 100 kills of training runs, compared with undisturbed ones; MINUTES limits it.
MINUTES ?= 40
soak: $(STAMP)
	$(BIN)/python tests/reliability/soak.py --minutes $(MINUTES)

check: $(STAMP)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/python -m pytest tests/unit/test_imports.py

# DATA=DIR: a folder with one subfolder per facet, for the figures that need real text.
bench: $(STAMP)
	$(BIN)/python -m benchmarks $(if $(DATA),--data $(DATA))

clean:
	rm -rf .venv demo build artifacts .pytest_cache .mypy_cache .ruff_cache .hypothesis src/*.egg-info

# Dependencies are locked by name, version and hash; only changing them needs `uv`.
lock:
	uv pip compile pyproject.toml --all-extras --universal --python-version 3.11 \
	  --generate-hashes --no-emit-index-url --no-header -o requirements.lock

$(STAMP): requirements.lock pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "facetmt needs Python 3.11 or newer: make PYTHON=/path/to/python3.11" >&2; exit 1; }
	test -x $(BIN)/python || $(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements.lock
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation -e .
	@touch $@

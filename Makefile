# `make demo` and `make test` do all the set-up; they need only Python 3.11 and make.
PYTHON ?= $(shell command -v python3.11 || command -v python3)
BIN := .venv/bin
STAMP := .venv/.installed
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check

.PHONY: demo test test-adapters fast soak check bench results dist clean lock

demo: $(STAMP)
	$(BIN)/facetmt demo

# In folder order: the slow tests come first, so that neither worker waits for the other at the end.
test: $(STAMP)
	$(BIN)/python -m pytest tests -n 2 --dist loadfile --no-loadscope-reorder

# The adapters and the export with the real libraries (some 400 MB to fetch); `make test` includes them after.
test-adapters: $(STAMP)
	$(PIP) --no-deps --require-hashes -r requirements-adapters.lock
	$(BIN)/python -m pytest tests/adapters

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

# The tables and plots of docs/results.md, from the summaries in studies/.
results: $(STAMP)
	$(BIN)/facetmt study --tables studies --out docs/results

# An sdist, and a wheel that is built from it.
dist: $(STAMP)
	rm -rf dist
	$(BIN)/python -c 'from setuptools.build_meta import build_sdist; build_sdist("dist")' > /dev/null
	$(BIN)/python -m pip wheel --quiet --disable-pip-version-check --no-index --no-deps --no-build-isolation \
	  --wheel-dir dist dist/*.tar.gz
	@ls dist

clean:
	rm -rf .venv demo build dist artifacts .pytest_cache .mypy_cache .ruff_cache .hypothesis src/*.egg-info

# Dependencies are locked by name, version and hash; only changing them needs `uv`.
COMPILE := uv pip compile pyproject.toml --universal --python-version 3.11 --generate-hashes \
  --no-emit-index-url --no-header --quiet
# PyTorch's own CPU build (Linux, x86-64, Python 3.11): the registry's needs some GB of CUDA to be imported
TORCH_CPU := 6746dbcbeb526eb61330b76b41ff1b4eb848951103a892eeb080dfa2b264667b
lock:
	$(COMPILE) --extra mt --extra tune --extra figures --extra tensorboard --extra dev -o requirements.lock
	mkdir -p build
	$(COMPILE) --extra torch --extra hf --extra ctranslate2 --group adapters -c requirements.lock -o build/all.lock
	@# what the first lock has is there already; no CUDA
	awk '/^[a-z]/ { name = $$1; sub(/==.*/, "", name); if (NR == FNR) have[name]; else \
	  keep = !(name in have) && name !~ /^(cuda-|nvidia-|triton)/ } NR != FNR && keep' \
	  requirements.lock build/all.lock | \
	  sed 's/^torch==\([0-9.]*\) .*/torch==\1+cpu ; sys_platform == "linux" \\\n    --hash=sha256:$(TORCH_CPU)\ntorch==\1 ; sys_platform != "linux" \\/' \
	  > requirements-adapters.lock

$(STAMP): requirements.lock pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "facetmt needs Python 3.11 or newer: make PYTHON=/path/to/python3.11" >&2; exit 1; }
	test -x $(BIN)/python || $(PYTHON) -m venv .venv
	@# the lock is complete: without --no-deps, older versions of pip look for newer releases of what it names
	$(PIP) --no-deps --require-hashes -r requirements.lock
	$(PIP) --no-deps --no-build-isolation -e .
	@touch $@

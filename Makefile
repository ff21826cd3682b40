# hopcast for contributors. A fresh machine needs Python 3.11 or newer and make; everything else lands in .venv.
# Everything below is also what CI runs (.ci/run).

SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help
.PHONY: help setup browser demo test quick lint docs bench simgrid golden size wheel clean

# The newest suitable Python; override with `make setup PYTHON=/path/to/python`.
PYTHON ?= $(shell for p in python3 python3.14 python3.13 python3.12 python3.11 python; do \
	if $$p -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then echo $$p; break; fi; done)
EXTRAS ?= dev
JOBS ?= 2
TESTS ?=
PY := .venv/bin/python
STAMP := .venv/.setup-$(EXTRAS)
PIP := $(PY) -m pip --quiet --quiet --disable-pip-version-check --no-input

export PIP_ROOT_USER_ACTION := ignore

help:
	@echo "make setup    .venv with hopcast and the tools"
	@echo "make browser  what the tests of the explorer's page need besides chromium and node"
	@echo "make demo     one tour of what hopcast does"
	@echo "make quick    lint and the fast tests, some minutes; TESTS=tests/test_every_chip.py for a few of them"
	@echo "make test     lint, types, all tests and doctests: what CI runs"
	@echo "make lint     ruff check, ruff format --check, mypy"
	@echo "make docs     regenerate the generated pages, fail if they were stale, build out/docs"
	@echo "make golden   rewrite the golden files"
	@echo "make bench    speed, targets, and hopcast beside SimGrid and simpy; BENCH='--only table' for less"
	@echo "make simgrid  SimGrid from its source on PyPI for make bench, a quarter of an hour; else it takes the system's"
	@echo "make size     lines of code per part"
	@echo "make wheel    build the wheel and try it in a clean environment"
	@echo "make clean    remove everything that make made"

setup: $(STAMP)

$(STAMP): pyproject.toml
	@if [ -z "$(PYTHON)" ]; then echo "hopcast needs Python 3.11 or newer, and none was found" >&2; exit 1; fi
	@echo "setup: installing hopcast[$(EXTRAS)] into .venv (once; again when pyproject.toml changes)"
	@if ! $(PY) -c 'import pip' 2>/dev/null; then \
		$(PYTHON) -m venv --clear .venv || \
		{ echo "setup: '$(PYTHON) -m venv' failed; on Debian and Ubuntu: apt-get install python3-venv" >&2; exit 1; }; fi
	@$(PIP) install --editable '.[$(EXTRAS)]'
	@$(PY) -m compileall -q src  # else commands take a fifth of a second more where Python may not write bytecode
	@touch $@

browser:
	@cd tests/browser && npm install --silent --no-audit --no-fund --no-progress

demo: setup
	@$(PY) examples/demo.py

lint: setup
	@$(PY) -m ruff check .
	@$(PY) -m ruff format --check .
	@$(PY) -m mypy

# -rs names every group that was skipped, and why.
test: lint
	@$(PY) -m pytest -q -rs -n $(JOBS)

quick: lint
	@$(PY) -m pytest -q -rs -n $(JOBS) -m "not slow and not browser" $(TESTS)

docs: setup .venv/.docs
	@$(PY) docs/generate.py
	@git diff --stat --exit-code -- docs || { echo "docs: these pages were stale; commit them" >&2; exit 1; }
	@new=$$(git ls-files --others --exclude-standard docs); \
	if [ -n "$$new" ]; then echo "docs: new pages; commit them:" $$new >&2; exit 1; fi
	@$(PY) -m sphinx -q -E -W --keep-going -b html docs out/docs
	@echo "docs: open out/docs/index.html"

.venv/.docs: $(STAMP)
	@$(PIP) install --editable '.[docs]'
	@touch $@

golden: setup
	@HOPCAST_GOLDEN=write $(PY) -m pytest -q -m golden || [ $$? -eq 5 ]

bench: setup .venv/.bench
	@$(PY) benchmarks/run.py $(BENCH)

simgrid: setup
	@$(PY) benchmarks/peers/from_pypi.py

.venv/.bench: $(STAMP)
	@$(PIP) install --editable '.[bench]'
	@touch $@

size:
	@find src -name '*.py' -print0 | xargs -0 awk '\
		{ part = FILENAME; sub("^src/hopcast/", "", part); sub("/.*", "/", part); lines[part]++; all++ } \
		END { for (p in lines) printf "%6d  %s\n", lines[p], p; printf "%6d  total\n", all }' | sort -k2

wheel: setup
	@rm -rf out/wheel && mkdir -p out/wheel
	@$(PIP) wheel --no-deps --wheel-dir out/wheel .
	@$(PY) -m venv out/wheel/venv
	@out/wheel/venv/bin/python -m pip --quiet --quiet --disable-pip-version-check --no-input install out/wheel/*.whl
	@cd out/wheel && venv/bin/hopcast --version && venv/bin/hopcast --help > /dev/null
	@cd out/wheel && venv/bin/python -c "import doctest, hopcast.units as u; f, n = doctest.testmod(u); assert n and not f, (f, n)"
	@ls out/wheel/*.whl

clean:
	@rm -rf .venv out build dist htmlcov .coverage .coverage.* .mypy_cache .pytest_cache .ruff_cache .hypothesis
	@find . -name __pycache__ -type d -prune -exec rm -rf {} +

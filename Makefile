# Both targets set up everything they need in .venv, on a Debian with Python 3.11 or newer and nothing else.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
WORKERS ?= 2
FUZZ_SECONDS ?= 30
ROUNDS ?= 300
SOAK_MINUTES ?= 60

.PHONY: demo test fuzz chaos soak bench lint format picture clean help

help:
	@echo "make demo   collect from a local replica of both sites and show what came of it"
	@echo "make test   lint, types, all tests, coverage: what CI runs (WORKERS=4 on a larger machine)"
	@echo "make fuzz   hostile input for every parser, the links, the settings and the ledger (FUZZ_SECONDS=30 a target)"
	@echo "make chaos  kill, freeze, starve and lie to every command, and check that nothing is lost (ROUNDS=300)"
	@echo "make soak   does anything grow in a long run? 20 links a minute, watched from outside (SOAK_MINUTES=60)"
	@echo "make bench  how fast and how small it is, side by side with others, in one table (BENCH='--only startup')"
	@echo "make format let ruff format the code"
	@echo "make picture draw the pictures in docs/ anew, from real runs"
	@echo "make clean  remove the virtual environment and caches"

demo: $(VENV)/.runtime
	@$(BIN)/research demo

test: $(VENV)/.dev lint
	@rm -f .coverage .coverage.*
	$(BIN)/coverage run -m pytest --numprocesses=$(WORKERS) --dist=worksteal $(PYTEST)
	@$(BIN)/coverage combine --quiet
	$(BIN)/coverage report --fail-under=90

# atheris guides by coverage; where it cannot be installed, inputs are changed by chance, and the table says so.
fuzz: $(VENV)/.dev
	@$(BIN)/python -c 'import atheris' 2>/dev/null || $(BIN)/python -m pip install --quiet --disable-pip-version-check \
		atheris || echo "atheris cannot be installed here: changing inputs by chance instead"
	FUZZ_SECONDS=$(FUZZ_SECONDS) $(BIN)/python -m pytest -q tests/fuzz
	FUZZ_SECONDS=$(FUZZ_SECONDS) $(BIN)/python -m fuzzing $(FUZZ)

# Full and read-only disks are played where a file system can be mounted (as root); elsewhere the table says so.
chaos: $(VENV)/.dev
	$(BIN)/python -m chaos --rounds $(ROUNDS) $(CHAOS)

soak: $(VENV)/.runtime
	$(BIN)/python -m benchmarks.soak --minutes $(SOAK_MINUTES) $(SOAK)

bench: $(VENV)/.dev
	$(BIN)/python -m benchmarks --json bench.json $(BENCH)

lint: $(VENV)/.dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

format: $(VENV)/.dev
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

$(VENV)/bin/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo "Python 3.11 or newer is needed; name it with PYTHON=…"; exit 1; }
	@$(PYTHON) -m venv $(VENV) 2>/dev/null || { \
		echo "python3-venv is missing: installing it"; rm -rf $(VENV); \
		{ apt-get update -q && apt-get install -qy python3-venv; } >/dev/null || \
		{ echo "Install python3-venv (apt-get install python3-venv), then try again"; exit 1; }; \
		$(PYTHON) -m venv $(VENV); }

$(VENV)/.runtime: $(VENV)/bin/python pyproject.toml constraints.txt
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e .
	@touch $@

$(VENV)/.dev: $(VENV)/bin/python pyproject.toml constraints.txt
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[dev]'
	@touch $@ $(VENV)/.runtime

picture: $(VENV)/.runtime
	$(BIN)/python docs/picture.py

clean:
	rm -rf $(VENV) .mypy_cache .pytest_cache .ruff_cache .coverage*

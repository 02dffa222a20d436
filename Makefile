# `make` or `make help` lists the targets. Nothing here needs root, and only the install step needs the network.

SHELL := /bin/bash
PYTHON ?= python3
PORT ?= 8888
WORKERS ?= 2

VENV := .venv
BIN := $(VENV)/bin
# Newer than what it depends on: the environment has what pyproject.toml and constraints.txt ask for.
STAMP := $(VENV)/installed

# One thread a test process: the suite runs WORKERS of them, and sums in another order may round differently.
ONE_THREAD := OMP_NUM_THREADS=1 MKL_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 NUMBA_NUM_THREADS=1
# Strict comparison of every stored output with the one of a fresh run, cell by cell, in this environment.
NBVAL := --nbval --nbval-current-env --nbval-cell-timeout=120 --nbval-sanitize-with notebooks/sanitize.cfg

# A browser opens where there is a screen for it. Jupyter refuses to serve root unless told.
SCREEN := $(or $(DISPLAY),$(WAYLAND_DISPLAY),$(filter Darwin,$(shell uname -s)))
LAB_FLAGS := $(if $(SCREEN),,--no-browser) $(if $(filter 0,$(shell id -u)),--allow-root)
# The panel of extensions would look for others on the network.
LAB_QUIET := --LabApp.extension_manager=readonly

.DEFAULT_GOAL := help
.PHONY: help install lab test check format clean

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "make %-8s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)
	@echo "Variables: PYTHON=$(PYTHON) (makes $(VENV)), PORT=$(PORT) (of lab), WORKERS=$(WORKERS) (of test)"

install: $(STAMP) ## make .venv with the package, all extras and the pinned versions

# The build backend is pinned like everything else, hence no isolated build with a newer one.
$(STAMP): pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet -c constraints.txt setuptools
	$(BIN)/python -m pip install --quiet -c constraints.txt --no-build-isolation --editable '.[dev]'
# The lab works without a network: it asks for no news and for no newer version of itself.
	$(BIN)/jupyter labextension disable @jupyterlab/apputils-extension:announcements
	touch $@

lab: $(STAMP) ## schedule a first graph, then open the notebooks in JupyterLab (PORT=8888)
	$(BIN)/gaus-lab solve hal --formulation A --weights balanced --stretch 1.5 --seconds 2 --seed 0
	@$(if $(SCREEN),,echo "No display here: open the address below that ends in ?token=... in a browser.")
	cd notebooks && ../$(BIN)/python -m jupyterlab --ip=127.0.0.1 --port=$(PORT) $(LAB_FLAGS) $(LAB_QUIET)

test: $(STAMP) ## the whole suite: tests, doctests, and every notebook run again and compared
	$(ONE_THREAD) $(BIN)/python -m pytest -p no:cacheprovider -n $(WORKERS) --dist loadfile $(NBVAL)

check: $(STAMP) ## the quick checks: format, lint, types, fast tests
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy gaus_lab
	$(ONE_THREAD) $(BIN)/python -m pytest -p no:cacheprovider -n $(WORKERS) --dist loadfile -m fast tests

format: $(STAMP) ## let ruff format the code and repair what it can
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

clean: ## remove the environment and everything that can be made again
	rm -rf $(VENV) build dist *.egg-info .pytest_cache .mypy_cache .ruff_cache .hypothesis
	find gaus_lab notebooks tests \( -name __pycache__ -o -name .ipynb_checkpoints \) -prune -exec rm -rf {} +

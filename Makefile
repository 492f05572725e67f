# `make demo` and `make test` are all a newcomer needs; each sets up .venv first.
PYTHON ?= python3
BIN := .venv/bin
# One BLAS thread: the matrices are small, and benchmarks compare CPU times.
export OMP_NUM_THREADS := 1
export OPENBLAS_NUM_THREADS := 1

.PHONY: help demo test test-fast lint bench clean

help:
	@echo 'make demo       see what it does (no robot, no ROS installation needed)'
	@echo 'make test       run every test'
	@echo 'make test-fast  run the tests that are not marked slow'
	@echo 'make lint       check the style (flake8 and pep257 with ament settings)'
	@echo 'make bench      measure speed; ONLY=name runs one benchmark'
	@echo 'make clean      remove .venv and build products'

.venv/ready: setup.py package.xml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 10))' || \
	  { echo 'Python 3.10 or newer is needed; name one with PYTHON=…'; exit 1; }
	@$(PYTHON) -m venv .venv || \
	  { echo 'could not make .venv; on Debian or Ubuntu: apt install python3-venv'; exit 1; }
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[dev]'
	@touch $@

demo: .venv/ready
	$(BIN)/robident demo

# Tests over DDS run in real time, which a busy machine can starve: what fails is tried once more.
test: .venv/ready
	$(BIN)/python -m pytest -m 'not ros'
	$(BIN)/python -m pytest -m ros || $(BIN)/python -m pytest -m ros --last-failed

test-fast: .venv/ready
	$(BIN)/python -m pytest -m 'not slow and not ros'

lint: .venv/ready
	$(BIN)/ament_flake8 --linelength 99 robident_ros launch test benchmarks setup.py
	$(BIN)/ament_pep257 robident_ros launch benchmarks setup.py

bench: .venv/ready
	$(BIN)/python benchmarks/run.py $(ONLY)

clean:
	rm -rf .venv build install log *.egg-info

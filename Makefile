# Two commands: `make demo` runs the main job, `make test` passes the tests.
# Both set up everything they need in .venv from Python 3.11, make and a C++ compiler.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
EXTRAS ?=

.PHONY: demo test install check generate clean

demo: $(VENV)/.base
	$(BIN)/olafctl demo

test: $(VENV)/.test
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/vulture
	$(BIN)/clang-format --dry-run --Werror $$(find olafctl lab tests -name '*.cpp' -o -name '*.h' | grep -v wire/native/)
	$(BIN)/olafctl generate --check
	$(BIN)/python -m pytest -n 2 --dist worksteal
	cd sdk && ../$(BIN)/mypy && ../$(BIN)/python -m pytest -n 2 --dist worksteal

install: $(VENV)/.base
	$(if $(EXTRAS),$(BIN)/pip install -q -q -e . -e './lab[$(EXTRAS)]')

generate: $(VENV)/.base
	$(BIN)/olafctl generate

# On every run: what has gone since .venv was made must be said before something fails without it.
.PHONY: compiler
compiler:
	@$${CXX:-g++} --version >/dev/null 2>&1 || { echo "olaf needs a C++ compiler: install the package g++ or set CXX"; exit 3; }

# A stamp, made once pip works: an interrupted venv is made again from nothing.
$(VENV)/.made:
	@command -v $(PYTHON) >/dev/null || { echo "olaf needs Python 3.11 or newer: install python3 (or set PYTHON=)"; exit 3; }
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "olaf needs Python 3.11 or newer; $(PYTHON) is older (set PYTHON=)"; exit 3; }
	@$(PYTHON) -c 'import venv, ensurepip' 2>/dev/null || { echo "olaf needs Python's venv module: install the package python3-venv"; exit 3; }
	$(PYTHON) -m venv --clear $(VENV)
	@$(BIN)/pip --version >/dev/null
	@touch $@

# -q -q leaves out pip's warnings, not its errors.
$(VENV)/.base: setup.cfg pyproject.toml setup.py lab/pyproject.toml $(VENV)/.made | compiler
	@echo "installing olaf and its packages into $(VENV): about a minute the first time"
	$(BIN)/pip install -q -q -e . -e ./lab
	$(BIN)/olafctl shell --install || echo "olafctl shell will try again"
	@touch $@

$(VENV)/.test: $(VENV)/.base
	@echo "installing what the tests need"
	$(BIN)/pip install -q -q -e '.[test]' -e ./lab -e ./sdk
	@touch $@

clean:
	rm -rf $(VENV) build *.egg-info

# Two commands: `make demo` runs the main job, `make test` passes the tests.
# Both set up everything they need in .venv from Python 3.11, make and a C++ compiler.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
EXTRAS ?=

ALL := .venv-all
# For what conflicts with the rest: finsy's protobuf, tclint's pathspec.
APART := .venv-apart
# The programs that tests run and pip does not bring.
DEBIAN := iverilog protobuf-compiler etcd-server tshark iperf3 tcl openssl iproute2 ethtool valgrind chromium
PYTEST := python -m pytest -n 2 --dist worksteal
PYTEST_SDK := $(PYTEST) -p skips
EVERYTHING := OLAF_TEST_ALL=yes OLAF_SHOTS=$(CURDIR)/build/shots \
	OLAF_FINSY_PYTHON=$(CURDIR)/$(APART)/bin/python PATH=$$PATH:$(CURDIR)/$(APART)/bin

# Tests start Python hundreds of times, and each one reads what the first one compiled.
unexport PYTHONDONTWRITEBYTECODE

CHECKS := mypy mypy-sdk generated vulture ruff clang-format prose

.PHONY: demo test $(CHECKS) test-all install generate site dist clean

demo: $(VENV)/.base
	$(BIN)/olafctl demo

test: $(VENV)/.test
	$(MAKE) --no-print-directory -j 2 $(CHECKS)
	OLAF_SKIPPED_TO=$(VENV)/skipped $(BIN)/$(PYTEST)
	cd sdk && OLAF_SKIPPED_TO=../$(VENV)/skipped-sdk PYTHONPATH=../tests/plugins ../$(BIN)/$(PYTEST_SDK)

# Each uses one processor, mypy for as long as all others together.
$(CHECKS): $(VENV)/.test
mypy vulture:
	$(BIN)/$@
mypy-sdk:
	cd sdk && ../$(BIN)/mypy
generated:
	$(BIN)/olaflab generate --check
prose:
	$(BIN)/python tests/prose.py
ruff:
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
clang-format:
	$(BIN)/clang-format --dry-run --Werror $$(find olafctl switch testkit lab tests -name '*.cpp' -o -name '*.h' | grep -v wire/native/)

# Then what that skipped, with everything installed: as root, for network interfaces and Debian's packages.
test-all: test programs $(ALL)/.made
	$(EVERYTHING) $(ALL)/bin/$(PYTEST) @$(VENV)/skipped
	cd sdk && $(EVERYTHING) PYTHONPATH=../tests/plugins ../$(ALL)/bin/$(PYTEST_SDK) @../$(VENV)/skipped-sdk

install: $(VENV)/.base
	$(BIN)/olafctl shell --install || echo "olafctl shell will try again"
	$(if $(EXTRAS),$(BIN)/pip install -q -q -e ./switch -e . -e ./testkit -e './lab[$(EXTRAS)]')
	@echo "next: . $(BIN)/activate; olafctl init my.yaml; olafctl deploy my.yaml"

generate: $(VENV)/.base
	$(BIN)/olaflab generate

# The documents, to be read offline: build/site/index.html.
site: $(VENV)/.test
	$(BIN)/olaflab site

# What a release is: source and wheel of each distribution, and what is in an installation (CycloneDX).
dist: $(VENV)/.test
	rm -rf dist build/sbom
	$(BIN)/python -m build -q -o dist .
	$(BIN)/python -m build -q -o dist testkit
	$(BIN)/python -m build -q -o dist lab
	$(BIN)/python -m build -q -o dist switch
	$(BIN)/python -m build -q -o dist sdk
	$(BIN)/twine check --strict dist/*
	$(PYTHON) -m venv build/sbom
	build/sbom/bin/pip install -q -q dist/*.whl
	$(BIN)/cyclonedx-py environment --output-reproducible -o dist/sbom.json build/sbom
	rm -rf build/sbom

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
	@$(BIN)/pip install -q -q --no-compile 'setuptools>=77'
	@touch $@

# Half the time: modules are compiled when first imported, and what builds ours is there once, not four times.
# -q -q leaves out pip's warnings, not its errors.
$(VENV)/.base: setup.cfg pyproject.toml setup.py switch/pyproject.toml testkit/pyproject.toml lab/pyproject.toml $(VENV)/.made | compiler
	@echo "installing olaf and its packages into $(VENV): half a minute the first time"
	$(BIN)/pip install -q -q --no-compile --no-build-isolation -e ./switch -e . -e ./sdk -e ./testkit -e ./lab
	@touch $@

# In one go with what .base installs: pip would do much of that twice.
$(VENV)/.test: setup.cfg pyproject.toml setup.py switch/pyproject.toml testkit/pyproject.toml lab/pyproject.toml sdk/pyproject.toml $(VENV)/.made | compiler
	@echo "installing olaf and what the tests need into $(VENV): about a minute the first time"
	$(BIN)/pip install -q -q --no-compile -e ./switch -e '.[test]' -e ./testkit -e './lab[docs]' -e ./sdk
	$(BIN)/olafctl shell --install || echo "olafctl shell will try again"
	@touch $(VENV)/.base $@

$(ALL)/.made: setup.cfg switch/pyproject.toml testkit/pyproject.toml lab/pyproject.toml sdk/pyproject.toml $(VENV)/.made | compiler
	@echo "installing everything that any test needs into $(ALL): some minutes the first time"
	$(PYTHON) -m venv --clear $(ALL)
	$(ALL)/bin/pip install -q -q --no-compile -e ./switch -e '.[test]' -e ./testkit -e './lab[train,atari,ray,ns3,synth,docs]' -e './sdk[examples,remote,zstd]'
	# After Box2D: RLlib wants an older Gymnasium, whose own Box2D pip would have to compile.
	$(ALL)/bin/pip install -q -q --no-compile -e './sdk[rllib]'
	$(PYTHON) -m venv $(APART)
	$(APART)/bin/pip install -q -q --no-compile finsy tclint
	@touch $@

# Without a service of etcd's: the tests start their own. Where it fails, the tests say what they lack.
.PHONY: programs
programs:
	@dpkg -s $(DEBIAN) >/dev/null 2>&1 || { apt-get update -qq && \
		RUNLEVEL=1 DEBIAN_FRONTEND=noninteractive apt-get install -qq --no-install-recommends $(DEBIAN); } || \
		echo "apt-get could not install all of: $(DEBIAN)"

clean:
	rm -rf $(VENV) $(ALL) $(APART) build dist *.egg-info

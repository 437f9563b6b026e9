# make demo    solve graphs with the fastest methods and with SciPy, check, tabulate, plot
# make papers  measure what papers measured, and tabulate it beside their figures
# make records measure what the site shows on DEVICES (auto), and add it to data/records
# make docs    build the site of the documentation
# make screenshot  measure on two CPU drivers, and take the picture of the report (needs Chromium)
# make test    run the tests, but those that take long
# make test-slow  run those that take long
# make lint    check style and types
# make clean   remove everything that the other targets made
#
# Each target installs what it needs in .venv. Only python3 with its venv module is required.

PYTHON ?= python3
CORES ?= 2
# for make records: devices as "pyapsp devices" lists them, separated by spaces, and what to measure
DEVICES ?= auto
CONFIG ?= config/records.yaml
VENV := .venv
BIN := $(VENV)/bin
comma := ,
# Modules are not compiled on installation but on their first import: most are never imported.
INSTALL := $(BIN)/python -m pip install --quiet --disable-pip-version-check --no-compile --editable

# Compiled modules are kept, also if the environment forbids it: otherwise each of the hundreds of processes that the tests
# and the workflow start compiles all modules again, for a second.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: demo papers records docs screenshot test test-slow lint clean

demo: $(VENV)/.demo
	@mkdir -p results
	@echo "Solving, about a minute. The log: $(CURDIR)/results/demo.log"
	@$(BIN)/snakemake --cores $(CORES) --configfile config/demo.yaml > results/demo.log 2>&1 \
	  || { cat results/demo.log; exit 1; }
	@echo
	@cat results/report/summary.txt
	@echo
	@echo "Every run and the figures: $(CURDIR)/results/report/index.html"

papers: $(VENV)/.papers
	$(BIN)/snakemake --cores $(CORES) --quiet rules -- papers
	@echo
	@echo "The tables and figures:"
	@ls $(CURDIR)/results/papers/*/*/index.html

records: $(VENV)/.records
	$(BIN)/snakemake --cores $(CORES) --quiet rules --configfile $(CONFIG) \
	  --config 'devices=[$(foreach device,$(DEVICES),"$(device)"$(comma))]' -- benches papers
	$(BIN)/python docs/records.py results/records/*/*.json results/papers/*/measured/*/*.json

docs: $(VENV)/.docs
	$(BIN)/python tests/architecture/layers.py
	$(BIN)/sphinx-build --fresh-env --fail-on-warning --keep-going --quiet docs docs/_build/html
	@echo
	@echo "The site: $(CURDIR)/docs/_build/html/index.html"

screenshot: $(VENV)/.test
	$(INSTALL) ".[intel]"
	@mkdir -p build
	$(BIN)/pyapsp bench dense --n 128 256 512 1024 --dtype float32 int32 --device 0:0 1:0 --repeat 3 \
	  --method fw-minplus fw-multikernel fw-packed16 fw-blocked fw-mm near-far dijkstra-cpu \
	  --peers scipy igraph -o build/bench.json
	$(BIN)/pyapsp report build/bench.json -o build/report
	chromium --headless --no-sandbox --hide-scrollbars --window-size=1280,1440 \
	  --screenshot=docs/images/report.png build/report/index.html

test: $(VENV)/.test
	$(BIN)/python -m pytest -n $(CORES)

test-slow: $(VENV)/.test
	$(BIN)/python -m pytest -n $(CORES) --dist worksteal -m "slow and not nightly"

# Every linter runs, also if an earlier one has failed.
lint: $(VENV)/.dev
	@failed=; for linter in "ruff check" "ruff format --check" mypy "snakefmt --check Snakefile workflow" \
	    "snakemake --lint"; do echo "$$linter"; $(BIN)/$$linter || failed="$$failed, $$linter"; done; \
	  test -z "$$failed" || { echo "failed: $${failed#, }"; exit 1; }

clean:
	rm -rf $(VENV) results docs/_build build dist .snakemake .pytest_cache .hypothesis .mypy_cache .ruff_cache
	find docs pyapsp tests -name __pycache__ -type d -prune -exec rm -rf {} +

# The files .venv/.* record what is installed, so that a second call installs nothing.
$(VENV)/.made:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Python 3.11 or newer is needed; set PYTHON=")'
	$(PYTHON) -m venv --clear $(VENV)
	@touch $@

# The extras of each, and how they are installed.
$(VENV)/.demo: EXTRAS = cpu,workflow
$(VENV)/.papers: EXTRAS = cpu,matching,mining,profile,simulation,workflow
$(VENV)/.records: EXTRAS = cpu,matching,mining,peers,profile,simulation,workflow
$(VENV)/.docs: EXTRAS = docs
$(VENV)/.test: EXTRAS = test
$(VENV)/.dev: EXTRAS = dev
$(VENV)/.demo $(VENV)/.papers $(VENV)/.records $(VENV)/.docs $(VENV)/.test $(VENV)/.dev: pyproject.toml $(VENV)/.made
	$(INSTALL) ".[$(EXTRAS)]"
	@touch $@

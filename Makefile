# The project's environment is .venv; what else is needed is built under .build. Each step leaves a mark
# and is not done again until what it was made from changes.

ENV ?= dev
ENGINE ?= ministack
SEEDS ?= 0:2000
MINUTES ?= 2
READY := .venv/ready
PYTHON := .venv/bin/python
UV := $(PYTHON) -m cli.local.uv
CDK := $(PYTHON) -m cli.local.cdk
# The repository's commands. The wheel has none: it holds the package that the functions share.
COMMANDS = $(PYTHON) -m cli.local.commands
INTERPRETERS := python3 python3.14 python3.13 python3.12 python3.11
IN_PROCESSES := --numprocesses auto --maxprocesses 4 --dist worksteal

ONLINE := { echo "Setting up needs the package index that pip is set up for, and did not get what it needs: see above." >&2; exit 2; }

.PHONY: help up down browser documents test test-on-ministack test-on-dynamodb-local check check-here check-on-python prove rights chaos game-day bench smoke deploy synth layer lock clean
.DELETE_ON_ERROR:

help: ## what there is to make
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/  make \1\t\2/p' Makefile | expand -t 24

up: $(READY)/infra ## start the local stack, run a payment and a task on it (PORT=, DETACH=0)
	@.venv/bin/postdate up

down: ## stop what `make up` started (PORT=)
	@if [ -x .venv/bin/postdate ]; then .venv/bin/postdate down; else echo "Nothing is set up here, so nothing runs."; fi

check: $(READY)/dev ## format, lint, types, unit and contract tests; with PY=3.14 or 3.11 the tests on that Python
	@$(MAKE) --no-print-directory $(if $(PY),check-on-python,check-here)

check-here: $(READY)/dev
	@.venv/bin/ruff format --check .
	@.venv/bin/ruff check .
	@.venv/bin/mypy
	@.venv/bin/pytest $(IN_PROCESSES) tests/unit tests/contract

check-on-python: $(READY)/dev
	@python=$$($(PYTHON) -m tests.pythons "$(PY)") && "$$python" -m pytest $(IN_PROCESSES) tests/unit tests/contract

test: $(READY)/dev ## the whole suite on local stacks; with ENGINE=dynamodb-local the stores and functions on Amazon's engine
	@case "$(ENGINE)" in ministack|dynamodb-local) ;; \
		*) echo "There is no ENGINE=$(ENGINE): ministack or dynamodb-local." >&2; exit 2;; esac
	@$(MAKE) --no-print-directory test-on-$(ENGINE)

browser: $(READY)/dev ## the console in Chromium on a local stack; screenshots in .build/browser (CHROMIUM=, STACK=, README=1, AGAIN=1 for what failed last)
	@$(PYTHON) -m tests.browser.chromium
	@PATH="$$($(PYTHON) -m cli.local.node):$$PATH" .venv/bin/pytest tests/browser --durations 12 $(if $(STACK),--stack $(STACK)) $(if $(README),--readme) $(if $(AGAIN),--last-failed)

documents: $(READY)/dev ## README, guides, runbook, examples and the description of the API against a local stack (AGAIN=1 for what failed last)
	@PATH="$$($(PYTHON) -m cli.local.node):$$PATH" .venv/bin/pytest tests/documents $(if $(AGAIN),--last-failed)

test-on-dynamodb-local: $(READY)/dev $(READY)/dynamodb-local
	@.venv/bin/pytest $(IN_PROCESSES) --engine dynamodb-local tests/contract tests/integration

test-on-ministack: $(READY)/dev
	@PATH="$$($(PYTHON) -m cli.local.node):$$PATH" $(PYTHON) -m tests.side_by_side

prove: $(READY)/dev ## single faults, 2,000 seeds of the simulation, planted mistakes (SEEDS=)
	@.venv/bin/postdate-sim --single
	@.venv/bin/postdate-sim --seeds $(SEEDS)
	@.venv/bin/postdate-sim --planted 2000

rights: $(READY)/dev ## take away each right of each function: a test has to fail (TRACE=1 finds the tests anew)
	@$(PYTHON) -m tests.rights $(if $(TRACE),--trace)

chaos: $(READY)/infra ## faults on a local stack of its own, under load, and then every promise checked (MINUTES=, GAME_DAY=)
	@.venv/bin/postdate chaos --minutes $(MINUTES) $(if $(GAME_DAY),--game-day $(GAME_DAY))

game-day: $(READY)/infra ## faults that operators meet, each seen, told by its alarm and put right by the runbook (MINUTES=, SEED=)
	@.venv/bin/postdate game-day --minutes $(MINUTES) $(if $(SEED),--seed $(SEED))

bench: $(READY)/infra ## the benchmark on a local stack of its own
	@.venv/bin/postdate bench

deploy: $(READY)/infra ## deploy every stack of ENV=dev|staging|prod to AWS
	@case "$(ENV)" in dev|staging|prod) ;; *) echo "There is no ENV=$(ENV) on AWS: dev, staging or prod." >&2; exit 2;; esac
	@$(PYTHON) -m cli.aws.deploy $(ENV)

smoke: $(READY)/infra ## check AWS itself and a peak in the deployed ENV=dev|staging|prod
	@.venv/bin/postdate smoke --env $(ENV)

synth: $(READY)/infra ## synthesise every environment; needs no account
	@for env in dev staging prod local; do \
		$(CDK) synth --quiet --context env=$$env --output cdk.out/$$env || exit; done

layer: $(READY)/infra ## build the dependency layer, for this machine and for Lambda
	@$(PYTHON) -m cli.local.layer

lock: $(READY)/uv ## resolve requirements/*.txt anew from pyproject.toml
	@$(PYTHON) -m cli.local.lock

clean: ## stop every stack and remove all that make has made
	@[ ! -x .venv/bin/postdate ] || .venv/bin/postdate down --all
	@rm -rf .venv .build .local cdk.out .mypy_cache .pytest_cache .ruff_cache .hypothesis
	@find . -name __pycache__ -type d -prune -exec rm -rf {} +

# Needs Java 17 and Maven; nothing else here does.
$(READY)/dynamodb-local: tests/dynamodb_local/pom.xml tests/dynamodb_local/jars.sha256 tests/dynamodb_local/Loopback.java
	@$(PYTHON) -m tests.dynamodb_local.build
	@touch $@

$(READY)/uv: requirements/bootstrap.txt
	@python=$$(for python in $(INTERPRETERS); do \
		"$$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && { echo $$python; break; }; done); \
	[ -n "$$python" ] || { echo "Postdate needs Python 3.11 or newer on the PATH." >&2; exit 2; }; \
	$(PYTHON) -m pip --version >/dev/null 2>&1 || "$$python" -m venv --clear .venv
	@$(PYTHON) -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements/bootstrap.txt || $(ONLINE)
	@mkdir -p $(READY) && touch $@

$(READY)/infra: requirements/infra.txt pyproject.toml $(READY)/uv
	@$(UV) pip install --quiet --require-hashes -r requirements/infra.txt || $(ONLINE)
	@$(UV) pip install --quiet --no-deps --no-build-isolation --editable .
	@$(COMMANDS)
	@touch $@

$(READY)/dev: requirements/dev.txt pyproject.toml $(READY)/uv
	@$(UV) pip sync --quiet --require-hashes requirements/bootstrap.txt requirements/dev.txt || $(ONLINE)
	@$(UV) pip install --quiet --no-deps --no-build-isolation --editable .
	@$(COMMANDS)
	@touch $@ $(READY)/infra

PYTHON ?= python3
# Four for each core: tests spend most of their time waiting for a lease to end or a server to start.
WORKERS ?= $(shell expr 4 '*' $$(getconf _NPROCESSORS_ONLN))

VENV := .venv
BIN := $(VENV)/bin
INSTALLED := $(VENV)/.installed
CODE := $(wildcard src tests benchmarks examples conftest.py)

.DEFAULT_GOAL := help
.NOTPARALLEL:
.PHONY: help demo test test-stalled test-debian test-debian-postgres check format-check lint types contracts bench bench-redis bench-limits bench-postgres bench-redlock bench-checker sim faults mutants soak format clean

help: ## list these targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-13s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

$(INSTALLED): pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --editable '.[cli,dev]'
	@touch $@

demo: $(INSTALLED) ## see holdfast at work
	$(BIN)/python -m examples.demo

# What is marked `serial` needs the machine for itself and follows in a call of its own. That call is never
# empty (pytest takes an empty selection for a failure): the samples of README and docs are serial too.
test: $(INSTALLED) ## run the tests, README and docs samples included
	$(BIN)/python -m pytest -n $(WORKERS) --dist worksteal -m 'not serial and not soak'
	$(BIN)/python -m pytest -m 'serial and not soak'

test-stalled: $(INSTALLED) ## run the tests while everything stands still now and then
	$(BIN)/python -m tests.stalls -- $(BIN)/python -m pytest -n $(WORKERS) --dist worksteal -m 'not serial and not soak'

# Debian's Redis is older than those of the wheels. Its program is part of `redis-tools` (as redis-check-rdb: the
# name it is called by decides what it does), which brings neither a service nor a user.
DEBIAN_REDIS := $(wildcard /usr/bin/redis-server /usr/bin/redis-check-rdb)
INSTALL_REDIS := DEBIAN_FRONTEND=noninteractive apt-get install --quiet=2 --yes --no-install-recommends redis-tools
REDIS_TESTS = $(wildcard tests/conformance tests/servers tests/backends/redis tests/backends/test_*.py)

test-debian: $(INSTALLED) ## run the Redis tests again, on Debian's Redis
	@why=''; \
	if [ ! -e /etc/debian_version ]; then why='this is no Debian'; \
	elif [ -n '$(DEBIAN_REDIS)' ]; then :; \
	elif [ "$$(id -u)" -ne 0 ]; then why='redis-tools is not installed, and only root can install it'; \
	elif ! { $(INSTALL_REDIS) || { apt-get update --quiet=2 && $(INSTALL_REDIS); }; }; then \
		why='apt-get could not install redis-tools'; \
	fi; \
	if [ -n "$$why" ]; then echo "test-debian is skipped: $$why"; exit 0; fi; \
	HOLDFAST_TEST_REDIS_SERVER=debian $(BIN)/python -m pytest -n $(WORKERS) --dist worksteal -m 'not serial and not soak' \
		$(REDIS_TESTS) -k redis

# Debian's PostgreSQL is older too. Its package would start a service; the program alone is enough, and so is PgBouncer's.
DEBIAN_POSTGRES := $(wildcard /usr/lib/postgresql/*/bin/postgres)
INSTALL_POSTGRES := DEBIAN_FRONTEND=noninteractive apt-get install --quiet=2 --yes --no-install-recommends postgresql pgbouncer
POSTGRES_TESTS ?= $(wildcard tests/conformance tests/servers tests/backends/postgres tests/backends/test_*.py tests/postgres)

test-debian-postgres: $(INSTALLED) ## run the PostgreSQL tests again, on Debian's PostgreSQL and behind its PgBouncer
	@why=''; \
	if [ ! -e /etc/debian_version ]; then why='this is no Debian'; \
	elif [ -n '$(DEBIAN_POSTGRES)' ] && [ -e /usr/sbin/pgbouncer ]; then :; \
	elif [ "$$(id -u)" -ne 0 ]; then why='postgresql is not installed, and only root can install it'; \
	elif ! { $(INSTALL_POSTGRES) || { apt-get update --quiet=2 && $(INSTALL_POSTGRES); }; }; then \
		why='apt-get could not install postgresql and pgbouncer'; \
	fi; \
	if [ -n "$$why" ]; then echo "test-debian-postgres is skipped: $$why"; exit 0; fi; \
	HOLDFAST_TEST_POSTGRES_SERVER=debian $(BIN)/python -m pytest -n $(WORKERS) --dist worksteal -m 'not serial and not soak' \
		$(POSTGRES_TESTS) -k postgres

check: format-check lint types contracts test ## everything CI asks for

format-check: $(INSTALLED) ## is the code formatted?
	$(BIN)/ruff format --check $(CODE)

lint: $(INSTALLED) ## ruff, all rules
	$(BIN)/ruff check $(CODE)

types: $(INSTALLED) ## mypy, strict
	$(BIN)/mypy

contracts: $(INSTALLED) ## which room may import which
	$(BIN)/lint-imports --no-logo

bench: $(INSTALLED) ## measure, as ratios against peers in the same run
	$(BIN)/python -m benchmarks.run

bench-redis: $(INSTALLED) ## the same on Redis, against the bare wire and its peers
	$(BIN)/python -m benchmarks.redis.run

bench-postgres: $(INSTALLED) ## the same on PostgreSQL, against bare statements and its peers
	$(BIN)/python -m benchmarks.postgres.run

bench-redlock: $(INSTALLED) ## the same on a quorum of five servers, against other Redlocks
	$(BIN)/python -m benchmarks.redlock.run

bench-limits: $(INSTALLED) ## rate limits on Redis, against the library `limits`
	$(BIN)/python -m benchmarks.redis.run --only limited

bench-checker: $(INSTALLED) ## how fast histories are judged: a million operations
	$(BIN)/python -m benchmarks.checker

SEEDS ?= 10000

sim: $(INSTALLED) ## simulate SEEDS seeds of worlds in which everything goes wrong
	$(BIN)/python -m holdfast.testing.sim --seeds $(SEEDS)

faults: $(INSTALLED) ## one round of every fault on every backend, with the numbers
	$(BIN)/python -m pytest -n $(WORKERS) --dist worksteal -rP tests/faults/test_grounds.py tests/faults/test_broken.py

MUTANTS ?=

mutants: $(INSTALLED) ## put every known bug into a copy: all are caught (MUTANTS='--only NAME' for one)
	$(BIN)/python -m tests.mutants.run $(MUTANTS)

SOAK_FOR ?= 10m

soak: $(INSTALLED) ## the tests that take longer than CI allows
	$(BIN)/python -m pytest -m soak --timeout 0
	$(BIN)/python -m tests.faults.run --ground all --for $(SOAK_FOR)
	$(BIN)/python -m tests.mutants.run --by simulator --by "simulator, family"

format: $(INSTALLED) ## format the code and mend what ruff can mend
	$(BIN)/ruff check --fix-only --quiet $(CODE)
	$(BIN)/ruff format $(CODE)

clean: ## remove everything these targets made
	rm -rf $(VENV) __pycache__ build dist .coverage .coverage.* .hypothesis .import_linter_cache .mypy_cache .pytest_cache .ruff_cache
	find $(CODE) -name __pycache__ -type d -prune -exec rm -rf {} +

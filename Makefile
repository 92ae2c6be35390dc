# Two commands are all it takes on a machine with git and any Python 3:
#   make demo    spanlore end to end, no key and no network beyond loopback
#   make test    everything that is checked
#   make test-faults  kills (KILLS=200), full disks, lost servers, torn files, jumping clocks: half an hour
#   make test-agents  the real agents only, all fourteen of them, and their longer sessions (make test runs four of them)

AGENT ?= scripted
KILLS ?= 200
BIN := .venv/bin
INSTALLED := .venv/.installed

.PHONY: help demo test test-faults test-agents small-model agents-table lint format lock settings captures screenshots agents install clean

help:
	@sed -n 's/^#   //p' Makefile
	@echo 'make lint    ruff, mypy, the import contracts, dependencies and shell scripts'
	@echo 'make format  lays out the code and sorts imports'
	@echo 'make agents-table  plays them, and renews the table of what was seen in proxy/DESIGN.md'
	@echo 'make small-model  installs the small model that `spanlore eval uptake` asks (0.3 GB)'
	@echo 'make lock    renews the pinned requirements'
	@echo 'make settings  renews docs/settings.md'
	@echo 'make captures  renews the terminal captures in docs/captures'
	@echo 'make screenshots  renews the pictures of the web page in docs'
	@echo 'make clean   removes what these commands made'

demo: $(INSTALLED)
	$(BIN)/spanlore demo --agent $(AGENT)

test: lint agents chromium
	$(BIN)/pytest $(PYTEST)

test-agents: $(INSTALLED)
	@sh tools/agents.sh all
	SPANLORE_TEST_TOURS=1 $(BIN)/pytest -m agents $(PYTEST)

agents-table: $(INSTALLED)
	@sh tools/agents.sh all
	PYTHONPATH=tests $(BIN)/python -m support.agents_table

test-faults: $(INSTALLED)
	SPANLORE_TEST_KILLS=$(KILLS) SPANLORE_TEST_AWAY_S=180 $(BIN)/pytest -p no:randomly tests/e2e/test_kills.py \
		tests/e2e/test_faults.py tests/e2e/test_store_faults.py tests/e2e/test_server_faults.py \
		tests/collector/test_service.py tests/proxy/capture/test_spool.py tests/proxy/capture/test_segment.py $(PYTEST)

lint: $(INSTALLED)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/deptry spanlore proxy collector extractor dashboards
	$(BIN)/shellcheck -x tools/*.sh

format: $(INSTALLED)
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

agents:
	@sh tools/agents.sh

small-model: $(INSTALLED)
	@sh tools/small-model.sh

chromium:
	@sh tools/chromium.sh

install: $(INSTALLED)

$(INSTALLED): tools/bootstrap.sh requirements-dev.txt pyproject.toml .python-version
	@sh tools/bootstrap.sh
	@touch $@

lock: $(INSTALLED)
	@sh tools/lock.sh

captures: $(INSTALLED)
	$(BIN)/python tools/captures.py

screenshots: $(INSTALLED)
	$(BIN)/python tools/screenshots.py

settings: $(INSTALLED)
	$(BIN)/python -m spanlore.settings docs/settings.md

clean:
	rm -rf .venv .bootstrap .cache dist build .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

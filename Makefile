# The two commands:  make certify   qualifies a card on the virtual bench;  make test   checks this repository.
SHELL := /bin/bash
CARD ?= intel-82574l
PROFILE ?= quick
BENCH ?= lab/benches/virtual.yaml
# Recipes take these from the environment, in quotes: neither make nor the shell runs anything that is in a value.
override CARD := $(value CARD)
override PROFILE := $(value PROFILE)
override BENCH := $(value BENCH)
RUNS ?= 20
N ?= 100
SEED ?= 1
BENCHES ?= 2
override RUNS := $(value RUNS)
override N := $(value N)
override SEED := $(value SEED)
override BENCHES := $(value BENCHES)
override CARDS := $(value CARDS)
override SUITE := $(value SUITE)
override DUT_OS := $(value DUT_OS)
override PEER_OS := $(value PEER_OS)
override DRIVER := $(value DRIVER)
NAME ?= new
override NAME := $(value NAME)
export NAME CARD PROFILE BENCH DUT_OS PEER_OS DRIVER RUNS N SEED BENCHES CARDS SUITE
VENV := .venv
PYTHON := $(VENV)/bin/python
STAMP := $(VENV)/.installed
DEV_STAMP := $(VENV)/.installed-dev
PIP := $(PYTHON) -m pip install --quiet --disable-pip-version-check
REPORT_TOOLS := $(PYTHON) -m niclab.report.allure.allure_tools
VBENCH := lab/virtual/vbench

# Programs of the controller -> Debian packages: of any bench, of the virtual bench, of the tests (independent peers)
DEBIAN := python3-venv:python3-venv
DEBIAN_VIRTUAL := qemu-system-x86_64:qemu-system-x86 qemu-img:qemu-utils mmdebstrap:mmdebstrap fakeroot:fakeroot \
	mke2fs:e2fsprogs cpio:cpio newuidmap:uidmap ssh:openssh-client depmod:kmod gcc:gcc gencat:libc6-dev \
	objcopy:binutils gpg:gpg gpg-agent:gpg-agent gpgv:gpgv zstd:zstd
DEBIAN_TEST := sshd:openssh-server ethtool:ethtool ipmitool:ipmitool snmpd:snmpd snmpget:snmp xz:xz-utils
DEBIAN_SLOW_TEST := java:default-jre-headless mvn:maven npm:npm pg_ctlcluster:postgresql

.PHONY: help certify certify-all test test-full setup setup-virtual setup-test lock lint lint-libraries lint-bench lint-style unit dryrun controls matrix soak campaign fleet kills new-bench bench-up bench-down benchmarks benchmark-statistics card-soak docs site clean

help:
	@echo "make certify [CARD=NAME] [PROFILE=quick|full] [BENCH=FILE] [DUT_OS=debian13|rpm-dnf|rpm-zypper|freebsd] [PEER_OS=...] [DRIVER=inbox|vendor|VERSION]   qualify a card"
	@echo "make certify-all [CARDS='NAME NAME'] [BENCHES=2] [PROFILE=quick|full] [SUITE=NAME]   many cards, on virtual benches of their own"
	@echo "make test            lints, types, unit tests, dry run, quick negative controls"
	@echo "make test-full       the same, and everything slow"
	@echo "make setup           Python environment and report tools: all that a bench of real servers needs"
	@echo "make setup-virtual   Debian packages (as root) and guest image of the virtual bench as well"
	@echo "make setup-test      what the tests need as well"
	@echo "make lock            write the lock files again, after a change of a pinned version"
	@echo "make matrix          every defect, and the tests that it turns red (1 to 2 h)"
	@echo "make soak [RUNS=20]  certificates of a sound card: none red, none undecided, nothing left behind"
	@echo "make campaign [N=100] [SEED=1]   break the bench at random moments of a certificate"
	@echo "make fleet           200 benches and 2,000 fake runs at a real coordinator (20 minutes)"
	@echo "make kills [RUNS=20] [SEED=1]    kill certificates at random moments, and restore the bench"
	@echo "make bench-up | bench-down | benchmarks | benchmark-statistics | card-soak | docs | site | clean"

# Missing report tools are no reason not to qualify a card; the virtual bench is set up only where the bench file uses it.
certify: $(STAMP)
	@$(REPORT_TOOLS) || true
	@if grep -qs 'lab/virtual/vbench up' -- "$$BENCH"; then $(MAKE) --no-print-directory setup-virtual; fi
	$(VENV)/bin/niclab certify "$$BENCH" --card "$$CARD" --profile "$$PROFILE" $${DUT_OS:+--dut-os "$$DUT_OS"} $${PEER_OS:+--peer-os "$$PEER_OS"} $${DRIVER:+--driver "$$DRIVER"}

# A bench file for each virtual bench: a name, and with it addresses and folders of its own. They are removed at the end.
certify-all: setup-virtual
	@mkdir -p results/benches
	@for number in $$(seq -- "$$BENCHES"); do \
	    $(VBENCH) bench-file --name "all-$$number" > "results/benches/all-$$number.yaml" || exit 1; \
	    set -- "$$@" "results/benches/all-$$number.yaml"; done; \
	trap 'kill -TERM "$$niclab" 2> /dev/null' INT TERM HUP; \
	$(VENV)/bin/niclab certify-all "$$@" --cards "$$CARDS" --profile "$$PROFILE" $${SUITE:+--suite "$$SUITE"} & niclab=$$!; \
	wait "$$niclab"; status=$$?; \
	while kill -0 "$$niclab" 2> /dev/null; do wait "$$niclab"; status=$$?; done; \
	for number in $$(seq -- "$$BENCHES"); do $(VBENCH) down --purge --name "all-$$number"; done; exit $$status

# What keeps one processor busy goes two at a time.
test: setup-test
	@$(MAKE) --no-print-directory -j2 --output-sync=target lint dryrun
	@$(MAKE) --no-print-directory unit controls

test-full: setup-test lint dryrun
	@ci/debian-packages $(DEBIAN_SLOW_TEST)
	ci/audit
	NICLAB_LABGRID_PYTHON="$$(ci/locks/python ci/locks/labgrid.lock)" $(PYTHON) -m pytest -n auto -m "not bench" --hypothesis-profile=search
	@$(MAKE) --no-print-directory site fleet
	$(PYTHON) -m pytest -m bench --ignore=tests/controls
	$(PYTHON) tests/robustness/matrix.py
	ci/certify default all

setup: $(STAMP)
	@$(REPORT_TOOLS)

setup-virtual: $(STAMP)
	@ci/debian-packages $(DEBIAN_VIRTUAL)
	@$(VBENCH) image $${DUT_OS:+--os "$$DUT_OS"} $${PEER_OS:+--os "$$PEER_OS"} > /dev/null

setup-test: setup setup-virtual $(DEV_STAMP)
	@ci/debian-packages $(DEBIAN_TEST)

$(STAMP): requirements.lock ci/locks/pip.lock pyproject.toml
	@ci/debian-packages $(DEBIAN)
	python3 -m venv $(VENV)
	$(PIP) --require-hashes --requirement ci/locks/pip.lock
	$(PIP) --require-hashes --requirement requirements.lock
	@# setuptools takes each folder of data for a package that was forgotten, and says so in a thousand lines
	PYTHONWARNINGS=ignore $(PIP) --no-deps --no-build-isolation --editable .
	@touch $@

$(DEV_STAMP): $(STAMP) requirements-dev.lock
	$(PIP) --require-hashes --requirement requirements-dev.lock
	@touch $@

lock:
	ci/lock

lint: lint-libraries lint-bench lint-style

lint-libraries:
	$(PYTHON) -m mypy

lint-bench:
	cd lab/virtual && MYPYPATH=card ../../$(PYTHON) -m mypy --config-file ../../pyproject.toml -p bmc -p switch -p vendor -m freebsd.facts -m freebsd.kit -m freebsd.ports $$(ls *.py | sed 's/\.py$$//; s/^/-m /')
	cd lab/virtual/freebsd/guest && MYPYPATH=. ../../../../$(PYTHON) -m mypy --config-file ../../../../pyproject.toml $$(ls *.py | sed 's/\.py$$//; s/^/-m /')

lint-style:
	$(VENV)/bin/ruff check .
	$(VENV)/bin/ruff format --check .
	$(VENV)/bin/robocop check suites resources docs/examples
	$(VENV)/bin/robocop format --check suites resources docs/examples

unit:
	$(PYTHON) -m pytest -n auto -m "not bench and not slow"

dryrun:
	$(VENV)/bin/robot --dryrun --console dotted --output NONE --log NONE --report NONE suites

controls:
	$(PYTHON) -m pytest -m "bench and not slow" tests/controls tests/virtual/bench

# Each starts a virtual bench of its own, which it removes.
matrix: setup-test
	$(PYTHON) tests/robustness/matrix.py

soak: setup-virtual
	$(PYTHON) tests/robustness/soak.py --runs "$$RUNS"

campaign: setup-virtual
	$(PYTHON) tests/robustness/campaign.py --runs "$$N" --seed "$$SEED"

# Runs of 100 s at a real coordinator, which is killed in the middle (20 minutes).
fleet: $(STAMP)
	NICLAB_LABGRID_PYTHON="$$(ci/locks/python ci/locks/labgrid.lock)" $(PYTHON) benchmarks/fleet.py --benches 200 --runs 2000 --seconds 100 --clients 7

kills: setup-virtual
	$(PYTHON) tests/robustness/kills.py --runs "$$RUNS" --seed "$$SEED"

# A virtual bench of its own, as new, and its bench file: what others left on the bench of this machine cannot spoil it.
new-bench: setup-virtual
	@mkdir -p results/benches
	@$(VBENCH) down --purge --name "$$NAME"
	@$(VBENCH) bench-file --name "$$NAME" > "results/benches/$$NAME.yaml"

bench-up:
	$(VBENCH) up

bench-down:
	$(VBENCH) down

benchmarks: setup-virtual
	$(PYTHON) benchmarks/ssh_latency.py
	$(PYTHON) benchmarks/snmp_latency.py
	$(PYTHON) benchmarks/sweep_cost.py
	$(PYTHON) benchmarks/offload_coverage.py

card-soak: setup-virtual
	$(PYTHON) tests/robustness/card_soak.py

benchmark-statistics: $(STAMP)
	PYTHONPATH=libraries $(PYTHON) benchmarks/stats_simulation.py

docs: $(STAMP)
	mkdir -p results/docs
	for library in $(filter-out BenchLibrary log_report Shell,$(basename $(notdir $(wildcard libraries/*.py)))); do \
	    $(VENV)/bin/libdoc libraries/$$library.py results/docs/$$library.html || exit 1; done
	$(VENV)/bin/libdoc libraries/Shell.py::dut results/docs/Shell.html
	$(VENV)/bin/niclab parity > docs/parity.md

# The pages of docs/ and the keyword reference, as a site that needs no server and loads nothing from outside.
site: $(STAMP)
	$(PYTHON) ci/site/pages.py results/site-pages
	NO_MKDOCS_2_WARNING=1 "$$(ci/locks/python ci/locks/site.lock)" -m mkdocs build --strict --config-file ci/site/mkdocs.yml
	@! grep -rlE --include='*.html' '<(script|link|img)[^>]*(src|href)="https?://' results/site
	@echo results/site/index.html

clean:
	rm -rf $(VENV) .mypy_cache .ruff_cache .pytest_cache .robocop_cache results/docs results/site results/site-pages

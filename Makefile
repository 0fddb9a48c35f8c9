# The two commands:  make certify   qualifies a card on the virtual bench;  make test   checks this repository.
SHELL := /bin/bash
CARD ?= intel-82574l
PROFILE ?= quick
BENCH ?= lab/benches/virtual.yaml
VENV := .venv
PYTHON := $(VENV)/bin/python
STAMP := $(VENV)/.installed
VBENCH := PATH="$(CURDIR)/$(VENV)/bin:$$PATH" lab/virtual/vbench

# Programs of the controller -> Debian packages (tests use ipmitool, net-snmp and the OpenSSH server as independent peers)
DEBIAN := python3-venv:python3-venv qemu-system-x86_64:qemu-system-x86 qemu-img:qemu-utils mmdebstrap:mmdebstrap \
	fakeroot:fakeroot mke2fs:e2fsprogs cpio:cpio newuidmap:uidmap ssh:openssh-client sshd:openssh-server ipmitool:ipmitool \
	depmod:kmod gcc:gcc gencat:libc6-dev objcopy:binutils gpg:gpg gpg-agent:gpg-agent gpgv:gpgv \
	snmpd:snmpd snmpget:snmp

.PHONY: help certify test test-full setup lint unit dryrun controls bench-up bench-down bench bench-soak bench-statistics docs clean

help:
	@echo "make certify [CARD=$(CARD)] [PROFILE=quick|full] [BENCH=$(BENCH)] [DUT_OS=freebsd] [PEER_OS=freebsd]   qualify a card"
	@echo "make test        lints, types, unit tests, dry run, quick negative controls"
	@echo "make test-full   the same, and everything slow"
	@echo "make setup       Debian packages (as root), Python environment, guest image"
	@echo "make bench-up | bench-down | bench | bench-soak | bench-statistics | docs | clean"

certify: setup
	$(VENV)/bin/niclab certify $(BENCH) --card $(CARD) --profile $(PROFILE) $(if $(DUT_OS),--dut-os $(DUT_OS)) $(if $(PEER_OS),--peer-os $(PEER_OS))

test: setup lint unit dryrun controls

test-full: setup lint dryrun
	$(PYTHON) -m pytest -n auto -m "not bench" --hypothesis-profile=search
	$(PYTHON) -m pytest -m bench

setup: $(STAMP)
	@$(VBENCH) image > /dev/null

$(STAMP): requirements.txt requirements-dev.txt pyproject.toml .ci/debian-packages
	@.ci/debian-packages $(DEBIAN)
	python3 -m venv $(VENV)
	$(PYTHON) -m pip install --quiet --disable-pip-version-check -r requirements.txt -r requirements-dev.txt -e .
	@touch $@

lint:
	$(VENV)/bin/ruff check .
	$(VENV)/bin/ruff format --check .
	$(PYTHON) -m mypy
	cd lab/virtual && MYPYPATH=card ../../$(PYTHON) -m mypy --config-file ../../pyproject.toml -p bmc -p switch -p vendor -m freebsd.facts -m freebsd.kit -m freebsd.ports $$(ls *.py | sed 's/\.py$$//; s/^/-m /')
	cd lab/virtual/freebsd/guest && MYPYPATH=. ../../../../$(PYTHON) -m mypy --config-file ../../../../pyproject.toml $$(ls *.py | sed 's/\.py$$//; s/^/-m /')
	$(VENV)/bin/robocop check suites resources
	$(VENV)/bin/robocop format --check suites resources

unit:
	$(PYTHON) -m pytest -n auto -m "not bench and not slow"

dryrun:
	$(VENV)/bin/robot --dryrun --console dotted --output NONE --log NONE --report NONE suites

controls:
	$(PYTHON) -m pytest -m "bench and not slow"

bench-up:
	$(VBENCH) up

bench-down:
	$(VBENCH) down

bench: setup
	$(PYTHON) bench/ssh_latency.py
	$(PYTHON) bench/snmp_latency.py
	$(PYTHON) bench/sweep_cost.py

bench-soak: setup
	$(PYTHON) bench/card_soak.py

bench-statistics: $(STAMP)
	PYTHONPATH=libraries $(PYTHON) bench/stats_simulation.py

docs: setup
	mkdir -p results/docs
	for library in Lab Card PcieErrors DriverPackages Firmware Defaults Offloads Settings HostLinks SwitchPorts SwitchLinks SwitchVlans Aggregation Power Console Traffic Shell Sweeps Effects Steering Recommendation; do \
	    $(VENV)/bin/libdoc libraries/$$library.py results/docs/$$library.html; done

clean:
	rm -rf $(VENV) .mypy_cache .ruff_cache .pytest_cache .robocop_cache results/docs

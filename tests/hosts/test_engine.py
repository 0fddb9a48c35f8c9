"""TCP that the card does itself, as servers show it: of cxgbe on FreeBSD, and of no driver on Linux."""

from __future__ import annotations

from functools import partial

import pytest
from fake_shell import FakeShell, Script, lines

from niclab.core.verdict import NotApplicable
from niclab.hosts.engine.engine_records import Placing
from niclab.hosts.engine.linux import LinuxEngine
from niclab.hosts.engine.tids import read_tids
from niclab.hosts.errors import ReadError
from niclab.hosts.freebsd_host import FreeBsdHost

TIDS = """ATID range: 0-8191, in use: 0
TID range: 0-1023, 4096-18431, in use: 7
STID range: 18432-18927, in use: 1
HW TID usage: 7 IP users, 0 IPv6 users
"""
PARENT = {"sysctl -n dev.cxl.0.%parent": "t5nex0\n"}
QUEUE = "dev.cxl.0.ofld_rxq.{0}.fl.{1}: {2}\n"


def host(**said: str) -> FreeBsdHost:
    raise NotImplementedError

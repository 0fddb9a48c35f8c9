"""A cure can be copied into a shell, and reaches the server the way the lab does."""

from __future__ import annotations

import shlex
from dataclasses import replace
from pathlib import Path

import pytest

from niclab.transports.ssh import ssh_mend
from niclab.transports.ssh.ssh_records import SshEndpoint

LAB = Path("/home/me/my lab")
GATE = SshEndpoint("gate", "gate.example", 2022, "lab", LAB / "gate key", LAB / "known")
DUT = SshEndpoint("dut", "dut.example", 22, "admin", LAB / "key", LAB / "known")
BEHIND = replace(DUT, jump=GATE)
AT_GATE = "ssh -p 2022 -i '/home/me/my lab/gate key' lab@gate.example "


@pytest.mark.parametrize("cure", ["let_in", "make_key", "keep_key", "add_host_key", "replace_host_key"])
def test_file_names_are_words_of_a_shell(cure: str) -> None:
    assert "my lab/known" in getattr(ssh_mend, cure)(DUT) or "my lab/key" in getattr(ssh_mend, cure)(DUT)
    words = shlex.split(getattr(ssh_mend, cure)(DUT).replace("server's", "server"))
    assert not [word for word in words if word.startswith(("lab/", "/home/me/my")) and "my lab/" not in word]


def test_a_host_key_behind_a_jump_host_is_asked_for_from_there() -> None:
    scan = f"{AT_GATE}ssh-keyscan -p 22 dut.example >> '/home/me/my lab/known'"
    assert ssh_mend.add_host_key(BEHIND).endswith(scan)
    assert "gate" not in ssh_mend.add_host_key(DUT)


def test_a_key_is_copied_through_the_jump_host() -> None:
    through = shlex.quote(f"ProxyCommand={AT_GATE}-W %h:%p")
    copy = f"ssh-copy-id -o {through} -i '/home/me/my lab/key' -p 22 admin@dut.example"
    assert ssh_mend.let_in(BEHIND).endswith(copy)


def test_a_name_behind_a_jump_host_is_resolved_there() -> None:
    assert ssh_mend.resolve(BEHIND).endswith(f"make the jump host resolve it: {AT_GATE}getent hosts dut.example")
    assert ssh_mend.reach(BEHIND).endswith("as the bench file says; by way of lab@gate.example:2022")

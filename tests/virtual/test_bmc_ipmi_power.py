"""Power, boot device and privileges over IPMI, asked by ipmitool and python-ipmi."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyipmi.interfaces.rmcpplus as rmcpplus
import pytest
from bench_fakes import wait_for
from bmc_bench import ConstantsOf20Bytes, RunningBmc, seconds_of
from pyipmi.errors import AuthenticationError, CompletionCodeError, MessageStatusCodeError, RetryError


@pytest.mark.parametrize("suite", ["3", "17"])
def test_ipmitool_switches_on_and_off(bmc: RunningBmc, suite: str) -> None:
    how: dict[str, Any] = {"options": ("-C", suite)}
    assert bmc.ipmitool_ok("power", "status", **how) == "Chassis Power is off"
    bmc.ipmitool_ok("power", "on", **how)
    assert bmc.ipmitool_ok("power", "status", **how) == "Chassis Power is on"
    bmc.ipmitool_ok("power", "off", **how)
    assert bmc.ipmitool_ok("power", "status", **how) == "Chassis Power is off"
    assert bmc.machine.done == ["on", "off"]
    assert bmc.events == ["Power on", "Power off"]


def test_ipmitool_finds_the_cipher_suites_without_delay(bmc: RunningBmc) -> None:
    assert seconds_of(lambda: bmc.ipmitool_ok("power", "status")) < 9.0  # it waits 10 s when there is no list


@pytest.mark.parametrize("suite", ["0", "1", "2", "15", "16"])
def test_weak_cipher_suites_are_refused(bmc: RunningBmc, suite: str) -> None:
    done = bmc.ipmitool("power", "status", options=("-C", suite))
    assert done.returncode != 0
    assert "Error in open session response message" in done.stderr


@pytest.mark.parametrize(
    ("words", "done", "event"),
    [
        ("cycle", "cycle", "Power cycle"),
        ("reset", "reset", "Hard reset"),
        ("diag", "nmi", "Diagnostic interrupt (NMI)"),
        ("soft", "soft", "Power button pressed"),
    ],
)
def test_commands_that_need_power(bmc: RunningBmc, words: str, done: str, event: str) -> None:
    refused = bmc.ipmitool("power", words)
    assert refused.returncode != 0
    assert "not supported in present state" in refused.stderr
    assert bmc.machine.done == []
    assert bmc.events == []
    bmc.power(True)
    bmc.ipmitool_ok("power", words)
    wait_for(lambda: bmc.events == [event], f"the event of {words}")
    assert bmc.machine.done == [done]


def test_on_when_on_and_off_when_off_are_fine_and_do_nothing(bmc: RunningBmc) -> None:
    bmc.ipmitool_ok("power", "off")
    bmc.power(True)
    bmc.ipmitool_ok("power", "on")
    assert bmc.machine.done == []
    assert bmc.events == []


def test_a_machine_that_fails_is_said_and_logged(bmc: RunningBmc) -> None:
    bmc.machine.broken = "no fuel"
    failed = bmc.ipmitool("power", "on")
    assert failed.returncode != 0
    assert "Unspecified error" in failed.stderr
    assert bmc.events == ["Soft power control failure"]
    assert bmc.ipmitool_ok("power", "status") == "Chassis Power is off"


def test_a_slow_machine_is_acknowledged_before_it_is_done(bmc: RunningBmc) -> None:
    bmc.machine.held = True
    bmc.ipmitool_ok("power", "on")
    assert not bmc.machine.on
    bmc.machine.held = False
    wait_for(lambda: bmc.machine.on, "power comes")
    wait_for(lambda: bmc.events == ["Power on"], "the event")


def test_a_second_command_meanwhile_is_busy_but_off_wins(bmc: RunningBmc) -> None:
    bmc.power(True)
    bmc.machine.takes_s = 600.0
    bmc.ipmitool_ok("power", "reset")
    busy = bmc.ipmitool("power", "cycle")
    assert busy.returncode != 0
    assert "Node busy" in busy.stderr
    bmc.machine.takes_s = 0.0
    bmc.ipmitool_ok("power", "off")
    assert bmc.machine.done == ["off"]
    assert bmc.ipmitool_ok("power", "status") == "Chassis Power is off"


def test_power_lost_without_a_command_is_noticed_and_logged(bmc: RunningBmc) -> None:
    bmc.power(True)
    bmc.machine.on = False
    wait_for(lambda: bmc.events == ["Power off"], "the event")
    assert bmc.ipmitool_ok("power", "status") == "Chassis Power is off"


@pytest.mark.parametrize(
    ("device", "selector"),
    [("pxe", "Force PXE"), ("disk", "Force Boot from default Hard-Drive"), ("bios", "Force Boot into BIOS Setup")],
)
def test_boot_device_is_stored(bmc: RunningBmc, device: str, selector: str) -> None:
    bmc.ipmitool_ok("chassis", "bootdev", device)
    assert selector in bmc.ipmitool_ok("chassis", "bootparam", "get", "5")
    assert "only next boot" in bmc.ipmitool_ok("chassis", "bootparam", "get", "5")


def test_boot_device_nobody_knows_is_refused(bmc: RunningBmc) -> None:
    bmc.ipmitool_ok("chassis", "bootdev", "cdrom", "options=persistent")
    refused = bmc.ipmitool("raw", "0x00", "0x08", "0x05", "0x80", "0x20", "0", "0", "0")
    assert refused.returncode != 0
    assert "rsp=0xcc" in refused.stderr
    assert "Force Boot from CD/DVD" in bmc.ipmitool_ok("chassis", "bootparam", "get", "5")


def test_policy_light_and_restart_cause(bmc: RunningBmc) -> None:
    bmc.ipmitool_ok("chassis", "policy", "previous")
    assert "Power Restore Policy : previous" in bmc.ipmitool_ok("chassis", "status")
    bmc.ipmitool_ok("chassis", "policy", "always-off")
    assert "Power Restore Policy : always-off" in bmc.ipmitool_ok("chassis", "status")
    bmc.ipmitool_ok("chassis", "identify", "force")
    assert bmc.ipmitool_ok("raw", "0", "1").split()[2] == "60"
    bmc.ipmitool_ok("chassis", "identify", "0")
    assert bmc.ipmitool_ok("raw", "0", "1").split()[2] == "40"
    bmc.ipmitool_ok("power", "on")
    assert "chassis power control command" in bmc.ipmitool_ok("chassis", "restart_cause")


def test_about_the_bmc(bmc: RunningBmc) -> None:
    information = bmc.ipmitool_ok("mc", "info")
    assert "IPMI Version              : 2.0" in information
    assert "Firmware Revision         : 2.10" in information
    guid = bmc.ipmitool_ok("mc", "guid")
    assert str(bmc.bmc.guid) in guid
    assert "WARNING" not in guid
    assert bmc.ipmitool_ok("mc", "selftest") == "Selftest: passed"
    assert "RMCP+ Cipher Suites     : 3,17" in bmc.ipmitool_ok("lan", "print", "1")
    users = bmc.ipmitool_ok("user", "list", "1")
    assert [line.split()[:2] for line in users.splitlines()[2:5]] == [["2", "admin"], ["3", "keeper"], ["4", "viewer"]]
    assert "privilege level               : ADMINISTRATOR" in bmc.ipmitool_ok("session", "info", "active")
    assert "802.3 LAN" in bmc.ipmitool_ok("channel", "info", "1")


@pytest.mark.parametrize(("user", "password"), [("admin", "wrong"), ("admin", "secre"), ("nobody", "secret")])
def test_wrong_credentials_are_refused_quickly(bmc: RunningBmc, user: str, password: str) -> None:
    for suite in ("3", "17"):
        done = bmc.ipmitool("power", "on", user=user, password=password, options=("-C", suite))
        assert done.returncode != 0
        assert "Unable to establish" in done.stderr
    assert bmc.machine.done == []


def test_reasons_of_a_refusal_are_told_apart(bmc: RunningBmc) -> None:
    with pytest.raises(AuthenticationError, match="wrong password"), bmc.python_ipmi(password="wrong"):
        pass
    with pytest.raises(MessageStatusCodeError) as unknown, bmc.python_ipmi(user="nobody", password="x"):
        pass
    assert unknown.value.msc == 0x0D
    with pytest.raises(MessageStatusCodeError) as privilege, bmc.python_ipmi(user="viewer"):
        pass
    assert privilege.value.msc == 0x0A


@pytest.mark.parametrize(("user", "level"), [("viewer", "USER"), ("keeper", "USER")])
def test_a_user_level_session_may_look_but_not_switch(bmc: RunningBmc, user: str, level: str) -> None:
    how: dict[str, Any] = {"user": user, "options": ("-L", level)}
    assert bmc.ipmitool_ok("power", "status", **how) == "Chassis Power is off"
    refused = bmc.ipmitool("power", "on", **how)
    assert refused.returncode != 0
    assert "Insufficient privilege level" in refused.stderr
    assert bmc.machine.done == []


def test_a_viewer_cannot_raise_the_level_of_the_session(bmc: RunningBmc) -> None:
    with bmc.python_ipmi(user="viewer", level="USER") as client:
        with pytest.raises(CompletionCodeError) as refused:
            client.interface._set_session_privilege_level(4)
        assert refused.value.cc == 0x81
        with pytest.raises(CompletionCodeError) as still:
            client.chassis_control_power_up()
        assert still.value.cc == 0xD4
    assert bmc.machine.done == []


def test_an_operator_may_switch_but_not_reset_the_bmc(bmc: RunningBmc) -> None:
    how: dict[str, Any] = {"user": "keeper", "options": ("-L", "OPERATOR")}
    bmc.ipmitool_ok("power", "on", **how)
    assert bmc.machine.done == ["on"]
    assert "rsp=0xd4" in bmc.ipmitool("raw", "6", "2", **how).stderr


@pytest.mark.parametrize("suite", [3, 17])
def test_python_ipmi_switches(bmc: RunningBmc, suite: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rmcpplus, "SessionKeys", ConstantsOf20Bytes)
    with bmc.python_ipmi(suite=suite) as client:
        client.chassis_control_power_up()
        assert client.get_chassis_status().power_on is True
        client.chassis_control_power_down()
        assert client.get_chassis_status().power_on is False
    assert bmc.machine.done == ["on", "off"]


def test_a_cold_reset_of_the_bmc_is_answered_and_ends_all_sessions(bmc: RunningBmc) -> None:
    with bmc.python_ipmi() as bystander:
        bmc.ipmitool_ok("raw", "6", "2")
        bystander.interface.set_timeout(0.3)
        with pytest.raises((TimeoutError, RetryError)):
            bystander.get_chassis_status()
        bystander.interface._session = None  # it is gone: do not try to close it
    assert bmc.ipmitool_ok("power", "status") == "Chassis Power is off"


def test_python_ipmi_unaided_cannot_do_suite_17(bmc: RunningBmc, monkeypatch: pytest.MonkeyPatch) -> None:
    """If this fails, python-ipmi has been mended: remove ``ConstantsOf20Bytes`` here and where the lab uses it."""
    set_timeout = rmcpplus.RmcpPlus.set_timeout
    monkeypatch.setattr(rmcpplus.RmcpPlus, "set_timeout", lambda interface, _seconds: set_timeout(interface, 0.3))
    with pytest.raises((TimeoutError, RetryError)), bmc.python_ipmi(suite=17):
        pass


def test_power_stuck_accepts_and_does_nothing(bmc: RunningBmc) -> None:
    bmc.control({"fault": {"power_stuck": True}})
    bmc.ipmitool_ok("power", "on")
    assert bmc.ipmitool_ok("power", "status") == "Chassis Power is off"
    assert bmc.machine.done == []
    bmc.control({"fault": {}})
    bmc.ipmitool_ok("power", "on")
    assert bmc.ipmitool_ok("power", "status") == "Chassis Power is on"


def test_boot_device_and_policy_survive_a_restart(tmp_path: Path) -> None:
    with RunningBmc(tmp_path) as first:
        first.ipmitool_ok("chassis", "bootdev", "pxe", "options=persistent")
        first.ipmitool_ok("chassis", "policy", "always-on")
    with RunningBmc(tmp_path) as second:
        assert "Force PXE" in second.ipmitool_ok("chassis", "bootparam", "get", "5")
        assert "Power Restore Policy : always-on" in second.ipmitool_ok("chassis", "status")

"""LinuxHost, the PCI part, against scripted answers."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from examples import text_of
from fake_shell import FakeShell, Script, lines

from niclab.core.verdict import BenchFault
from niclab.hosts.errors import NoDevice, NoInterface, ReadError
from niclab.hosts.linux_host import LinuxHost
from niclab.transports.ssh.ssh import Result

CARD = "0000:01:00.1"
SYSFS = {
    "vendor": "0x8086",
    "device": "0x151c",
    "subsystem_vendor": "0x8086",
    "subsystem_device": "0xa02c",
    "max_link_speed": "5.0 GT/s PCIe",
    "max_link_width": "8",
    "current_link_speed": "5.0 GT/s PCIe",
    "current_link_width": "1",
    "driver": "ixgbe",
}


def sysfs(**changes: str) -> str:
    return lines(*(f"{name}={value}" for name, value in {**SYSFS, **changes}.items()))


def host(script: dict[str, Script]) -> tuple[LinuxHost, FakeShell]:
    shell = FakeShell(script)
    return LinuxHost(shell, "dut"), shell


def card(lspci: str, **changes: str) -> LinuxHost:
    dut, _ = host({f"for s in {CARD};...": f"slot={CARD}\n{sysfs(**changes)}{lspci}"})
    return dut


IXGBE = text_of("lspci", "ixgbe-domain")


def test_pci_device_from_lspci_and_sysfs() -> None:
    device = card(IXGBE).pci.device(CARD)
    assert (device.vendor_id, device.device_id, device.subdevice, device.driver) == ("8086", "151c", "a02c", "ixgbe")
    assert (device.lnkcap_gts, device.lnkcap_width, device.lnksta_gts, device.lnksta_width) == (5.0, 8, 5.0, 1)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"device": "0x10d3"}, "device_id: lspci says 151c, sysfs says 10d3"),
        ({"driver": "vfio-pci"}, "driver: lspci says ixgbe, sysfs says vfio-pci"),
        ({"current_link_width": "8"}, "lnksta_width: lspci says 1, sysfs says 8"),
        ({"current_link_speed": "2.5 GT/s PCIe"}, "lnksta_gts: lspci says 5.0, sysfs says 2.5"),
        ({"max_link_width": "4"}, "lnkcap_width: lspci says 8, sysfs says 4"),
        ({"max_link_speed": "nonsense"}, "sysfs link attribute"),
        ({"vendor": ""}, "an id such as 0x8086"),
    ],
)
def test_lspci_and_sysfs_must_agree(change: dict[str, str], said: str) -> None:
    with pytest.raises(ReadError, match=f"^dut: .*{said}"):
        card(IXGBE, **change).pci.device(CARD)


def test_what_lspci_does_not_know_comes_from_sysfs() -> None:
    """An lspci older than the speed prints "unknown"."""
    text = IXGBE.replace("Port #0, Speed 5GT/s", "Port #0, Speed unknown")
    device = card(text, max_link_speed="32.0 GT/s PCIe").pci.device(CARD)
    assert device.lnkcap_gts == 32.0


def test_without_root_the_link_is_a_fault_not_unknown() -> None:
    text = f"{CARD} Ethernet controller [0200]: Example [8086:151c]\n\tCapabilities: <access denied>\n"
    with pytest.raises(BenchFault, match=f"dut: .*may not read the capabilities of {CARD}; expected root"):
        card(text).pci.device(CARD)


def test_dead_device_is_told_as_dead() -> None:
    text = (
        f"{CARD} Ethernet controller [0200]: Example [8086:151c] (rev ff) (prog-if ff)\n\t!!! Unknown header type 7f\n"
    )
    assert card(text, vendor="unreadable", current_link_speed="unreadable").pci.device(CARD).dead is True


def test_empty_slot_is_a_fault() -> None:
    with pytest.raises(ReadError, match=f"dut: `lspci -vvnn -D -s {CARD}`: .*at least one device"):
        card("").pci.device(CARD)


def test_another_device_than_asked_for_is_a_fault() -> None:
    dut, _ = host({"for s in 0000:01:00.0;...": f"slot=0000:01:00.0\n{sysfs()}{IXGBE}"})
    with pytest.raises(BenchFault, match=r"expected 0000:01:00.0"):
        dut.pci.device("0000:01:00.0")


@pytest.mark.parametrize(
    "text", ["", IXGBE, f"slot={CARD}\n{IXGBE}", f"slot={CARD}\n{lines('vendor=0x8086', 'device=0x151c')}{IXGBE}"]
)
def test_a_description_without_the_attributes_is_an_error(text: str) -> None:
    dut, _ = host({f"for s in {CARD};...": text})
    with pytest.raises(ReadError, match="dut: "):
        dut.pci.device(CARD)


def test_the_description_of_a_device_in_a_real_shell(tmp_path: Path) -> None:
    """The script itself: an attribute that is missing, one that cannot be read, and no driver."""
    _, shell = dut_shell = host({"for s in ...": f"slot={CARD}\n{sysfs()}{IXGBE}"})
    dut_shell[0].pci.device(CARD)
    device = tmp_path / CARD
    device.mkdir()
    (device / "vendor").write_text("0x8086\n")
    (device / "max_link_speed").mkdir()
    script = shell.commands[0].replace("/sys/bus/pci/devices", str(tmp_path)).replace("lspci", "echo")
    done = subprocess.run(["sh", "-c", script], capture_output=True, text=True, timeout=10)
    said = done.stdout.splitlines()
    assert said[:3] == [f"slot={CARD}", "vendor=0x8086", "device="]
    assert "max_link_speed=unreadable" in said
    assert said[-2:] == ["driver=", f"-vvnn -D -s {CARD}"]


@pytest.mark.parametrize(
    "address", ["01:00.0", "0000:01:00.8", "0000:01:00.0; id", "", "0000:01:00.0\n", "0000:0G:00.0"]
)
def test_addresses_are_checked_before_anything_runs(address: str) -> None:
    dut, shell = host({})
    for method in (dut.pci.device, dut.pci.path, dut.pci.interface_at):
        with pytest.raises(BenchFault, match=r"dut: PCI address .*; expected .* such as 0000:01:00\.0$"):
            method(address)
    assert shell.commands == []


ROOT, SWITCH_UP, SWITCH_DOWN = "0000:00:1c.0", "0000:02:00.0", "0000:03:04.0"
LEAF = "0000:04:00.0"
PATH = f"/sys/devices/pci0000:00/{ROOT}/{SWITCH_UP}/{SWITCH_DOWN}/{LEAF}\n"
READLINK = f"path=$(readlink -e /sys/bus/pci/devices/{LEAF})..."


def lspci_of(slot: str, port: str, speed: str, width: int) -> str:
    return (
        f"{slot} PCI bridge [0604]: Example [8086:151c] (rev 01)\n"
        f"\tCapabilities: [a0] Express (v2) {port}, MSI 00\n"
        f"\t\tLnkCap:\tPort #0, Speed 8GT/s, Width x8, ASPM L1\n"
        f"\t\tLnkSta:\tSpeed {speed}GT/s, Width x{width}\n"
    )


def sysfs_of(speed: str, width: int) -> str:
    changes = {"max_link_speed": "8.0 GT/s PCIe", "current_link_speed": f"{speed} GT/s PCIe"}
    return sysfs(**changes, current_link_width=str(width), driver="")


class LastCommand:
    """A shell that answers nothing, and keeps what it was asked."""

    command = ""

    def run(self, command: str, *, timeout_s: float = 60) -> Result:
        assert timeout_s > 0
        self.command = command
        return Result(command, 0, None, "\n", "", 0.01)


def path_host(ends: dict[str, tuple[str, str, int]], path: str = PATH) -> LinuxHost:
    texts = [
        f"slot={slot}\n{sysfs_of(speed, width)}{lspci_of(slot, port, speed, width)}"
        for slot, (port, speed, width) in ends.items()
    ]
    return host({READLINK: path + "".join(texts)})[0]


SWITCHED = {
    ROOT: ("Root Port (Slot+)", "5", 4),
    SWITCH_UP: ("Upstream Port", "5", 4),
    SWITCH_DOWN: ("Downstream Port (Slot-)", "8", 8),
    LEAF: ("Endpoint", "8", 8),
}


def test_pcie_path_lists_links_not_the_bus_inside_a_switch() -> None:
    links = path_host(SWITCHED).pci.path(LEAF)
    assert [(link.upstream.slot, link.downstream.slot, link.gts, link.width) for link in links] == [
        (ROOT, SWITCH_UP, 5.0, 4),
        (SWITCH_DOWN, LEAF, 8.0, 8),
    ]
    assert min(link.gts * link.width for link in links) == 20.0


def test_the_devices_on_the_way_and_no_others_are_shown_in_a_real_shell(tmp_path: Path) -> None:
    shell = LastCommand()
    with pytest.raises(BenchFault, match="expected a path"):
        LinuxHost(shell, "dut").pci.path(LEAF)
    for slot in (ROOT, SWITCH_UP, SWITCH_DOWN, LEAF):
        (tmp_path / slot).mkdir()
        (tmp_path / slot / "vendor").write_text(f"{slot}\n")
    tools = f"readlink() {{ [ $1 != -e ] || echo {PATH.strip()}; }}; lspci() {{ echo lspci of $4; }}"
    script = shell.command.replace("/sys/bus/pci/devices", str(tmp_path))
    done = subprocess.run(["sh", "-c", f"{tools}; {script}"], capture_output=True, text=True)
    lines = done.stdout.splitlines()
    assert (done.returncode, done.stderr, lines[0]) == (0, "", PATH.strip())
    shown = (ROOT, SWITCH_UP, SWITCH_DOWN, LEAF)
    assert [line for line in lines if line.startswith("slot=")] == [f"slot={slot}" for slot in shown]
    assert [line for line in lines if line.startswith("vendor=")] == [f"vendor={slot}" for slot in shown]
    assert [line for line in lines if line.startswith("lspci")] == [f"lspci of {slot}" for slot in shown]


def test_two_ends_that_disagree_are_refused() -> None:
    with pytest.raises(ReadError, match=r"dut: link 0000:03:04.0 -> 0000:04:00.0: upper end reports 8.0 GT/s x4"):
        path_host({**SWITCHED, SWITCH_DOWN: ("Downstream Port (Slot-)", "8", 4)}).pci.path(LEAF)


def test_a_card_on_the_root_bus_has_no_path() -> None:
    dut = path_host({LEAF: ("Root Complex Integrated Endpoint", "8", 8)}, f"/sys/devices/pci0000:00/{LEAF}\n")
    with pytest.raises(BenchFault, match=r"dut: no PCIe link leads to 0000:04:00.0"):
        dut.pci.path(LEAF)


@pytest.mark.parametrize("path", ["\n", "/sys/devices/pci0000:00/0000:00:1c.0\n"])
def test_a_path_that_does_not_end_at_the_card_is_a_fault(path: str) -> None:
    dut, _ = host({READLINK: path})
    with pytest.raises(BenchFault, match=r"expected a path that ends with 0000:04:00.0"):
        dut.pci.path(LEAF)


PORTS = f"[ -d /sys/bus/pci/devices/{CARD} ] || ..."
DRIVER = f"cd /sys/bus/pci/devices/{CARD} && d=$(readlink driver); ..."


def test_interface_at() -> None:
    dut, _ = host({PORTS: "enp1s0f1=0\n"})
    assert dut.pci.interface_at(CARD) == "enp1s0f1"


def test_a_function_with_two_ports_needs_to_be_told_which() -> None:
    dut, _ = host({PORTS: "enp1s0f4=0\nenp1s0f4d1=1\n"})
    assert dut.pci.interface_at(CARD, port_index=1) == "enp1s0f4d1"
    with pytest.raises(BenchFault, match=r"enp1s0f4 \(port 0\), enp1s0f4d1 \(port 1\); expected one interface"):
        dut.pci.interface_at(CARD)
    with pytest.raises(BenchFault, match=r"expected port 2"):
        dut.pci.interface_at(CARD, port_index=2)


@pytest.mark.parametrize(
    ("driver", "said"), [("vfio-pci\n", "driver vfio-pci is bound but made none"), ("\n", "no driver is bound")]
)
def test_no_interface_says_what_is_bound(driver: str, said: str) -> None:
    dut, _ = host({PORTS: "", DRIVER: driver})
    with pytest.raises(NoInterface, match=f"dut: {CARD} has no network interface: {said}"):
        dut.pci.interface_at(CARD)


def test_no_such_device_is_no_missing_interface() -> None:
    dut, _ = host({PORTS: "absent\n"})
    with pytest.raises(NoDevice, match=f"dut: there is no PCI device at {CARD}"):
        dut.pci.interface_at(CARD)

"""Lines of trouble of cards, as their drivers and the kernel write them, and lines that are none.

Wording: the sources of Linux 6.1, and public reports where a driver of that release does not say so any more.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from niclab.commands.parse import parse
from niclab.hosts.errors import ReadError
from niclab.hosts.kernel.dmesg import read_dmesg
from niclab.hosts.kernel.linux_trouble import read_trouble
from niclab.hosts.kernel.trouble import NOBODY_KNOWS, OF_THE_BENCH, KernelTrouble, TroubleKind

CASES = Path(__file__).parent / "cases"
OF_A_CARD = (
    # be2net
    "be2net 0000:01:00.0: Unrecoverable Error detected in the adapter",
    "be2net 0000:01:00.0: Error detected in the adapter",
    "be2net 0000:01:00.0: UE: MPU_IRAM bit set",
    "be2net 0000:01:00.0: ERR: sliport status 0x80000000",
    "be2net 0000:01:00.0: FW not responding",
    "be2net 0000:01:00.0: Adapter in non recoverable error",
    "be2net 0000:01:00.0: POST timeout; stage=0xc000",
    "be2net 0000:01:00.0: Adapter recovery failed",
    # bnx2x
    "bnx2x: [bnx2x_attn_int_deasserted3:4345(enp1s0f0)]MC assert!",
    "bnx2x: [bnx2x_attn_int_deasserted3:4351(enp1s0f0)]MCP assert!",
    "bnx2x: [bnx2x_mc_assert:742(enp1s0f0)]XSTORM_ASSERT_LIST_INDEX 0x2",
    "bnx2x: [bnx2x_panic_dump:930(enp1s0f0)]begin crash dump -----------------",
    "bnx2x: [bnx2x_timer:5773(enp1s0f0)]MFW seems hanged: drv_pulse (0x1) != mcp_pulse (0x2)",
    "bnx2x: [bnx2x_fw_command:3070(enp1s0f0)]FW failed to respond!",
    "bnx2x: [bnx2x_issue_dmae_with_comp:563(enp1s0f0)]DMAE timeout!",
    "bnx2x: [bnx2x_attn_int_deasserted0:4177(enp1s0f0)]FATAL HW block attention set0 0x10",
    "bnx2x 0000:01:00.0 enp1s0f0: Recovery has failed. Power cycle is needed.",
    "bnx2x 0000:01:00.0 enp1s0f0: Fan Failure on Network Controller has caused the driver to shutdown the card",
    # cxgb4
    "cxgb4 0000:01:00.4: Firmware reports adapter error: Crash",
    "cxgb4 0000:01:00.4: FW assertion at core.c:120, val0 0x1, val1 0x2",
    "cxgb4 0000:01:00.4: encountered fatal error, adapter stopped",
    "cxgb4 0000:01:00.4: command 0x1c in mailbox 4 timed out",
    "cxgb4 0000:01:00.4: EDC0 uncorrectable ECC data error",
    "cxgb4 0000:01:00.4: XGMAC 0 Rx FIFO parity error",
    # Intel
    "e1000e 0000:01:00.0 enp1s0: Reset adapter unexpectedly",
    "e1000e 0000:01:00.0 enp1s0: Detected Hardware Unit Hang:",
    "e1000e 0000:01:00.0 enp1s0: Hardware Error",
    "e1000e 0000:01:00.0: The NVM Checksum Is Not Valid",
    "igb 0000:01:00.0 enp1s0: Reset adapter",
    "igb 0000:01:00.0: PCIe link lost",
    "igb 0000:01:00.0: The network adapter was stopped because it overheated",
    "ixgbe 0000:01:00.0 enp1s0: Reset adapter",
    "ixgbe 0000:01:00.0 enp1s0: initiating reset due to tx timeout",
    "ixgbe 0000:01:00.0 enp1s0: Network adapter has been stopped because it has over heated. Restart the computer.",
    "ixgbe 0000:01:00.0: Fan has stopped, replace the adapter",
    "ixgbe 0000:01:00.0: Adapter removed",
    "ixgbe 0000:01:00.0: HW Init failed: -12",
    "i40e 0000:01:00.0: PF reset failed, -15",
    "i40e 0000:01:00.0: Malicious Driver Detection event 0x02 on TX queue 3 PF number 0x00 VF number 0x00",
    "ice 0000:01:00.0: Malicious Driver Detection event 1 on TX queue 3 PF# 0 VF# 0",
    # sfc
    "sfc 0000:01:00.0 enp1s0f0: MC rebooted",
    "sfc 0000:01:00.0 enp1s0f0: MC command 0x8 inlen 12 mode 0 timed out",
    "sfc 0000:01:00.0 enp1s0f0: MC watchdog or assertion failure at 0x7",
    "sfc 0000:01:00.0 enp1s0f0: RX descriptor queue is stuck",
    "sfc 0000:01:00.0 enp1s0f0: RX DMA Q 1 reports descriptor fetch error. RX Q 1 is disabled.",
    "sfc 0000:01:00.0 enp1s0f0: SYSTEM ERROR - reset scheduled",
    # bnxt_en, mlx
    "bnxt_en 0000:01:00.0 enp1s0: Non-fatal firmware reset event, data1: 0x1, data2: 0x2, min wait 1 ms, max wait 2 ms",
    "bnxt_en 0000:01:00.0 enp1s0: Firmware not responding, status: 0x8000",
    "mlx4_core 0000:01:00.0: Internal error detected:",
    "mlx5_core 0000:01:00.0: Health issue observed, firmware internal error, severity(3) ERROR:",
    "mlx5_core 0000:01:00.0: mlx5_health_poll:852:(pid 0): device's health compromised - reached miss count",
    # the kernel about a device
    "DMAR: [DMA Write NO_PASID] Request device [01:00.0] fault addr 0xfffff000 [fault reason 0x05] PTE Write access",
    "e1000e 0000:01:00.0: AMD-Vi: Event logged [IO_PAGE_FAULT domain=0x0001 address=0x1000 flags=0x0020]",
    "AMD-Vi: Event logged [IO_PAGE_FAULT device=0000:01:00.0 domain=0x0001 address=0x1000 flags=0x0020]",
    "e1000e 0000:01:00.0 enp1s0: hw csum failure",
    "pci 0000:01:00.0: 2.000 Gb/s available PCIe bandwidth, limited by 2.5 GT/s PCIe x1 link at 0000:00:01.0"
    " (capable of 32.000 Gb/s with 5.0 GT/s PCIe x8 link)",
)
"""Each names its card: by address, or by driver where the driver says no more. None has a level."""
OF_NOBODY = (
    'irq 16: nobody cared (try booting with the "irqpoll" option)',
    "list_del corruption. prev->next should be ffff8880, but was dead0001. (prev=ffff8881)",
    "list_add corruption. next->prev should be prev (ffff8880), but was dead0001. (next=ffff8881)",
    "refcount_t: underflow; use-after-free.",
)
OF_OTHERS = {
    TroubleKind.PLUGGED_MODULE: (
        "bnx2x 0000:01:00.0 enp1s0: Warning: Unqualified SFP+ module detected, Port 0 from OEM part number DAC-3M",
        "bnx2x 0000:01:00.0 enp1s0: Error:  Power fault on Port 0 has been detected and the power to that SFP+ module"
        " has been removed to prevent failure of the card. Please remove the SFP+ module and restart the system",
        "ixgbe 0000:01:00.0: failed to load because an unsupported SFP+ or QSFP module type was detected.",
        "ixgbe 0000:01:00.0: failed to initialize because an unsupported SFP+ module type was detected.",
        "ixgbe 0000:01:00.0: Reload the driver after installing a supported module.",
        "i40e 0000:01:00.0: Rx/Tx is disabled on this device because an unsupported SFP module type was detected.",
        "i40e 0000:01:00.0: Refer to the Intel(R) Ethernet Adapters and Devices User Guide"
        " for a list of supported modules.",
        "ice 0000:01:00.0: The installed module is incompatible with the device's NVM image. Cannot start link",
        "ice 0000:01:00.0: The module's power requirements exceed the device's power supply. Cannot start link",
        "mlx5_core 0000:01:00.0: Port module event[error]: module 0, Cable error, High Temperature",
    ),
    TroubleKind.PCI_RESOURCES: (
        "igb 0000:01:00.0: not enough MMIO resources for SR-IOV",
        "igb 0000:01:00.0: SR-IOV: bus number out of range",
        "igb 0000:01:00.0: SR-IOV: IOV BARS not allocated",
        "i40e 0000:01:00.0: can't enable 1 VFs (bus 03 out of range of [bus 02])",
        "ixgbe 0000:01:00.0: can't enable device: BAR 0 [mem size 0x00080000 64bit pref] not assigned",
        "ixgbe 0000:01:00.0: Failed to enable PCI sriov: -12",
        "bnx2x: [bnx2x_enable_sriov:2633(enp1s0f0)]pci_enable_sriov failed with -12",
        "bnx2x: [bnx2x_iov_init_one:1206(enp1s0f0)]ARI not supported (check pci bridge ARI forwarding), SRIOV can",
    ),
    TroubleKind.LINK_PARTNER: (
        "igb 0000:01:00.0: exceed max 2 second",
        "igc 0000:01:00.0 enp1s0: exceed max 2 second",
    ),
}
"""Errors by the words of drivers and kernel, and none of the card."""
HARMLESS = (
    "<6>[    4.1] e1000e 0000:01:00.0 enp1s0: MSI interrupt test failed, using legacy interrupt.",
    "<3>[    4.1] bnx2x 0000:01:00.0 enp1s0: NIC Link is Down",
    "<3>[    4.1] sfc 0000:01:00.0 enp1s0f0: warning: link partner doesn't support pause frames",
    "<4>[    4.1] bnxt_en 0000:01:00.0 enp1s0: Unqualified SFP+ module detected on port 0",
    "<6>[    4.1] e1000e 0000:01:00.0 enp1s0: NIC Link is Down",
    "<4>[    4.1] acenic 0000:01:00.0 enp1s0: Optical link DOWN",
    "<6>[    4.1] be2net 0000:01:00.0: Reset is in progress",
    "<30>[   4.1] systemd[1]: e1000e 0000:01:00.0: error",
    "<6>[    4.1] pcieport 0000:00:01.0: AER: enabled with IRQ 24",
    "<6>[    4.1] be2net 0000:01:00.0: 31.504 Gb/s available PCIe bandwidth (8.0 GT/s PCIe x4 link)",
)


def names_of(trouble: KernelTrouble) -> frozenset[str]:
    return trouble.devices | trouble.drivers


def read_case(number: str, kind: str) -> dict[str, Any]:
    """A public case as ``niclab parse`` reads it."""
    (file,) = CASES.glob(f"{number}-*")
    return parse(kind, file.read_text())


def troubles(text: str) -> tuple[KernelTrouble, ...]:
    return read_trouble(read_dmesg(text))


def of_case(number: str) -> tuple[KernelTrouble, ...]:
    (file,) = CASES.glob(f"{number}-*")
    return troubles(file.read_text())


@pytest.mark.parametrize("line", OF_A_CARD)
def test_a_line_that_names_a_card(line: str) -> None:
    (found,) = troubles(f"[ 1.000000] quiet\n[ 2.000000] {line}")
    assert names_of(found) & {"0000:01:00.0", "0000:01:00.4", "bnx2x"} and found.kind is not TroubleKind.ERROR


@pytest.mark.parametrize("line", OF_NOBODY)
def test_a_line_that_names_nobody(line: str) -> None:
    (found,) = troubles(line)
    assert names_of(found) == frozenset()


def test_there_are_as_many_lines_as_drivers_have_been_seen_to_write() -> None:
    assert len(OF_A_CARD) + len(OF_NOBODY) >= 57


def test_the_trace_after_a_line_that_names_nobody_names_the_driver() -> None:
    trace = "Call Trace:\n e1000_clean+0x1/0x2 [e1000e]\n---[ end trace 0 ]---\n"
    assert all("e1000e" in names_of(troubles(f"{line}\n{trace}")[0]) for line in OF_NOBODY)
    handlers = f"{OF_NOBODY[0]}\nhandlers:\n[<00000000c0ffee00>] e1000_intr [e1000e]\n"
    assert names_of(troubles(handlers)[0]) == {"e1000e"}


@pytest.mark.parametrize("level", range(4))
def test_any_error_that_names_a_device_is_its_trouble(level: int) -> None:
    (found,) = troubles(f"<{level}>[    5.123456] e1000e 0000:01:00.0 enp1s0: something new")
    assert (found.kind, found.words) == (TroubleKind.ERROR, "e1000e 0000:01:00.0 enp1s0: something new")
    assert {"e1000e", "0000:01:00.0", "enp1s0"} <= names_of(found)


@pytest.mark.parametrize(
    ("kind", "line"), [pytest.param(kind, line, id=line[:60]) for kind, said in OF_OTHERS.items() for line in said]
)
def test_an_error_that_is_of_the_bench_or_of_nobody(kind: TroubleKind, line: str) -> None:
    (found,) = troubles(f"<3>[    5.123456] {line}")
    assert found.kind is kind and names_of(found) & {"0000:01:00.0", "bnx2x"}
    assert kind in OF_THE_BENCH or kind in NOBODY_KNOWS


@pytest.mark.parametrize(
    ("first", "then", "kind"),
    [
        (
            OF_OTHERS[TroubleKind.PLUGGED_MODULE][2],
            "ixgbe: probe of 0000:01:00.0 failed with error -95",
            TroubleKind.PLUGGED_MODULE,
        ),
        (
            OF_OTHERS[TroubleKind.PCI_RESOURCES][4],
            "ixgbe: probe of 0000:01:00.0 failed with error -22",
            TroubleKind.PCI_RESOURCES,
        ),
        (OF_OTHERS[TroubleKind.PCI_RESOURCES][0], "be2net 0000:01:00.0: VF setup failed", TroubleKind.PCI_RESOURCES),
        (OF_OTHERS[TroubleKind.PCI_RESOURCES][0], "be2net 0000:01:00.0: something new", TroubleKind.ERROR),
        (OF_OTHERS[TroubleKind.PCI_RESOURCES][0], "be2net 0000:02:00.0: VF setup failed", TroubleKind.ERROR),
        (
            OF_OTHERS[TroubleKind.PLUGGED_MODULE][2],
            "ixgbe: probe of 0000:01:00.1 failed with error -5",
            TroubleKind.PROBE_FAILED,
        ),
    ],
)
def test_what_comes_of_an_error_of_the_bench(first: str, then: str, kind: TroubleKind) -> None:
    found = troubles(f"<3>[    5.100000] {first}\n<3>[    5.200000] {then}")
    assert found[-1].words == then and found[-1].kind is kind


def test_an_error_names_the_driver_that_it_begins_with() -> None:
    assert "newnic" in names_of(troubles("<3>[    5.123456] newnic: cannot go on")[0])
    assert "newnic" in names_of(troubles("<3>[    5.123456] newnic [port 1] cannot go on")[0])


@pytest.mark.parametrize("line", ["<4>[    5.1] e1000e 0000:01:00.0 enp1s0: something", *HARMLESS])
def test_what_is_no_error_and_no_known_word_is_none(line: str) -> None:
    assert troubles(line) == ()


@pytest.mark.parametrize(
    ("driver", "before"),
    [
        ("igb", "NIC Link is Down"),
        ("igc", "NIC Link is Down"),
        ("ixgbe", "initiating reset to clear Tx work after link loss"),
    ],
)
def test_a_reset_that_a_lost_link_asks_for_is_none(driver: str, before: str) -> None:
    device = f"{driver} 0000:01:00.0 enp1s0: "
    lost = f"<6>[    5.100000] {device}{before}\n"
    reset = f"<3>[    5.200000] {device}Reset adapter\n"
    assert troubles(lost + reset) == ()
    (found,) = troubles(lost + f"<6>[    6.100000] {device}NIC Link is Up 1000 Mbps Full Duplex\n" + reset)
    assert found.kind is TroubleKind.DEVICE_RESET
    (other,) = troubles(lost + reset.replace("01:00.0 enp1s0", "02:00.0 enp2s0"))
    assert names_of(other) >= {"0000:02:00.0", "enp2s0"}


def test_the_link_that_limits_is_read() -> None:
    (found,) = troubles(OF_A_CARD[-1])
    assert found.kind is TroubleKind.PCIE_LIMITED and found.limit is not None
    assert (found.limit.gts, found.limit.width) == (2.5, 1) and "0000:00:01.0" not in names_of(found)


@pytest.mark.parametrize(
    ("number", "kind", "name"),
    [
        ("01", TroubleKind.DEVICE_LOST, "0000:02:00.0"),
        ("02", TroubleKind.DEVICE_ERROR, "0000:03:00.0"),
        ("03", TroubleKind.FIRMWARE_CRASH, "0000:40:00.1"),
        ("04", TroubleKind.TRANSMIT_TIMEOUT, "0002:01:00.0"),
        ("07", TroubleKind.PROBE_FAILED, "0000:04:00.0"),
    ],
)
def test_public_cases_of_cards(number: str, kind: TroubleKind, name: str) -> None:
    found = of_case(number)
    assert found[0].kind is kind and name in names_of(found[0])


@pytest.mark.parametrize(
    ("line", "kind"),
    [  # neighbours of the public cases, by the drivers' sources
        ("ice 0000:01:00.0: PF Reset polling failed to complete.", TroubleKind.DEVICE_ERROR),
        ("i40e 0000:01:00.0: PF reset failed, -15", TroubleKind.DEVICE_ERROR),
        ("igb 0000:01:00.0: probe with driver igb failed with error -5", TroubleKind.PROBE_FAILED),
        ("mlx5_core: probe of 0000:01:00.0 failed with error -110", TroubleKind.PROBE_FAILED),
        ("igc 0000:01:00.0 enp1s0: PCIe link lost, device now detached", TroubleKind.DEVICE_LOST),
        ("mlx5_core 0000:01:00.0: poll_health:795:(pid 0): Fatal error 1 detected", TroubleKind.FIRMWARE_CRASH),
        ("bnxt_en 0000:01:00.0 enp1s0: TX timeout detected, starting reset task!", TroubleKind.TRANSMIT_TIMEOUT),
        ("tg3 0000:01:00.0 enp1s0: transmit timed out, resetting", TroubleKind.TRANSMIT_TIMEOUT),
        ("pcieport 0000:00:01.0: DPC: containment event, status:0x1f05 source:0x0100", TroubleKind.AER_UNCORRECTED),
        ("<3>[ 1.0] ice 0000:01:00.0: The DDP package file was not found", TroubleKind.ERROR),
    ],
)
def test_neighbours_of_the_public_cases(line: str, kind: TroubleKind) -> None:
    (found,) = troubles(line)
    assert found.kind is kind and "0000:01:00.0" in names_of(found)


def test_a_function_that_waits_for_its_port_is_no_trouble() -> None:
    """Its driver asks again after 10 s (Linux 6.1, igbvf/netdev.c, igbvf_has_link()); dev_warn() of igbvf_reset()."""
    assert not troubles("<4>[ 1.0] igbvf 0000:01:10.1: PF still resetting")


def test_a_port_that_has_found_an_error_by_itself_accuses_nobody_below_it() -> None:
    (found,) = troubles("pcieport 0000:00:01.0: DPC: containment event, status:0x1f01 source:0x0000")
    assert names_of(found) == {"pcieport", "0000:00:01.0"}


@pytest.mark.parametrize(
    "lines",
    [
        "ice {0}: Direct firmware load for intel/ice/ddp/ice.pkg failed with error -2\n"
        "<3>[ 1.1] ice {0}: The DDP package file was not found or could not be read. Entering Safe Mode",
        "<3>[ 1.0] cxgb4 {0}: unable to load firmware image cxgb4/t5fw.bin, error -2",
        "tg3 {0}: Direct firmware load for tigon/tg3_tso5.bin failed with error -2\n"
        'tg3 {0} eth0: Failed to load firmware "tigon/tg3_tso5.bin"',
    ],
    ids=["ice", "cxgb4", "tg3"],
)
def test_other_files_that_the_server_lacks(lines: str) -> None:
    (found,) = troubles(lines.format("0000:01:00.0"))
    assert found.kind is TroubleKind.FIRMWARE_FILE_MISSING


def test_a_missing_file_is_the_servers_and_so_is_what_comes_of_it() -> None:
    assert {each.kind for each in of_case("05")} == {TroubleKind.FIRMWARE_FILE_MISSING}
    (file,) = CASES.glob("05-*")
    with_levels = "\n".join(f"<3>{line}" for line in file.read_text().splitlines())
    assert {each.kind for each in troubles(with_levels)} == {TroubleKind.FIRMWARE_FILE_MISSING}
    (said,) = troubles("r8169 0000:01:00.0: Unable to load firmware rtl_nic/rtl8168h-2.fw (-2)")
    assert said.kind is TroubleKind.FIRMWARE_FILE_MISSING


def test_an_older_file_that_the_driver_takes_is_no_trouble() -> None:
    assert of_case("06") == ()
    (file,) = CASES.glob("06-*")
    first, *others = file.read_text().splitlines()
    assert troubles("\n".join([f"<3>{first}", *others])) == ()
    later = "<3>[   20.100000] bnx2x 0000:02:00.1 eth1: something new"
    (found,) = troubles(file.read_text() + later)
    assert found.kind is TroubleKind.ERROR


def test_a_file_that_the_card_refuses_is_the_cards() -> None:
    (found,) = troubles("be2net 0000:01:00.0: Direct firmware load for be3.ufi failed with error -110")
    assert found.kind is TroubleKind.FIRMWARE_LOAD_FAILED and "0000:01:00.0" in names_of(found)


def test_the_public_case_of_a_bond_that_is_split() -> None:
    """systemd/systemd#11635: two aggregators, one without a partner."""
    first, second = read_case("24", "bonding")["slaves"]
    assert (first["aggregator_id"], second["aggregator_id"]) == (1, 2)
    assert first["partner_mac"] == "00:00:00:00:00:00"


def test_the_public_case_of_an_old_ethtool() -> None:
    """coreos/bugs#450: nine rows, of an ethtool that is older than any that is read."""
    with pytest.raises(ReadError, match=r"expected the rows .* expansion-rom-version"):
        read_case("25", "ethtool-i")


def test_the_public_case_of_an_offload_that_was_asked_for() -> None:
    """systemd/systemd#6629: off, not fixed, and asked for."""
    found = read_case("26", "ethtool-k")["features"]["large-receive-offload"]
    assert found == {"on": False, "fixed": False, "requested": True}

"""Writes a commented card sheet from what a real server shows of the card: a draft, which its owner completes."""

from __future__ import annotations

import datetime
import json
import shlex
import tempfile
from collections.abc import Iterator
from pathlib import Path

from niclab.bench.bench_commands import Controller
from niclab.bench.bench_file import load_bench
from niclab.bench.records import Bench, OperatingSystem, Role
from niclab.card import CARDS, OffloadName, load_card
from niclab.checks.seen import Seen, look
from niclab.core.verdict import BenchFault
from niclab.files.document import shown_file
from niclab.files.secrets import Secrets
from niclab.report import write_atomically
from niclab.run.run_notes import RunNotes
from niclab.run.server import Server

_NOT_ASKED = "nobody asked the driver"
_WORDS: dict[str, tuple[OffloadName, str | None]] = {
    "rx-checksumming": (OffloadName.RX_CHECKSUM, "rx"),
    "tx-checksumming": (OffloadName.TX_CHECKSUM, "tx"),
    "scatter-gather": (OffloadName.SCATTER_GATHER, "sg"),
    "tx-tcp-segmentation": (OffloadName.TSO4, None),
    "tx-tcp6-segmentation": (OffloadName.TSO6, None),
    "generic-segmentation-offload": (OffloadName.GSO, "gso"),
    "generic-receive-offload": (OffloadName.GRO, "gro"),
    "large-receive-offload": (OffloadName.LRO, "lro"),
    "tx-vlan-offload": (OffloadName.VLAN_INSERT, "txvlan"),
    "rx-vlan-offload": (OffloadName.VLAN_STRIP, "rxvlan"),
    "rx-vlan-filter": (OffloadName.VLAN_FILTER, None),
    "receive-hashing": (OffloadName.RX_HASH, "rxhash"),
    "ntuple-filters": (OffloadName.NTUPLE, "ntuple"),
}
"""A feature of ``ethtool -k`` -> its name on a sheet, and the word of ``ethtool -K`` where it is another."""

_CLEARED_BY_KERNEL = {
    OffloadName.TX_CHECKSUM: (OffloadName.TSO4, OffloadName.TSO6),
    OffloadName.SCATTER_GATHER: (OffloadName.TSO4, OffloadName.TSO6, OffloadName.GSO),
}
"""An offload -> what no driver may leave on without it (Linux 6.1, net/core/dev.c, netdev_fix_features())."""


def run(name: str, bench_file: Path, folder: Path = CARDS, card: str = "") -> int:
    """Read the first port of the dut, and write a sheet of what it shows; the sheet passes every static check.

    Args:
        name: Name of the new sheet.
        bench_file: The bench with the card in its dut.
        folder: Folder of the sheets.
        card: The card in the dut, as the bench names it; empty: see :func:`with_card`.

    Raises:
        BenchFault: The sheet exists, or the dut cannot be asked; nothing is written then.
    """
    file = folder / f"{name}.yaml"
    if file.exists():
        raise BenchFault(f"{shown_file(file)}: exists; expected the name of a new card")
    bench = with_card(load_bench(bench_file), card)
    if bench.server(Role.DUT).os is not OperatingSystem.LINUX:
        raise BenchFault(f"bench {bench.name}: the dut runs another system than Linux; expected Linux, for its tools")
    seen, functions = seen_of(bench)
    write_atomically(file, text_of(name, bench, seen, functions))
    try:
        load_card(file)
    except BenchFault:
        file.unlink()
        raise
    then = shlex.join(["niclab", "doctor", str(bench_file), "--card", name if folder == CARDS else str(file)])
    print(f"{shown_file(file)}\nnext: complete what is unknown from the data sheet, then: {then}")
    return 0


def with_card(bench: Bench, card: str) -> Bench:
    """The bench as it is with the card that is in its dut.

    Args:
        bench: The bench as its file has it.
        card: The card in the dut, as the bench names it; empty: the one that the bench says is in, or its only one.

    Raises:
        BenchFault: Another card is in, or nobody says which of several.
    """
    if bench.commands is not None and bench.commands.inserted is not None:
        inserted = Controller(bench.command_variables).names_in_servers(bench.commands.inserted)[Role.DUT.value]
        if card not in ("", inserted):
            raise BenchFault(f"bench {bench.name}: card {inserted} is in the dut; expected {card} (--card)")
        return bench.with_card(inserted)
    if bench.cards and not card:
        names = ", ".join(bench.cards)
        raise BenchFault(f"new-card: --card: missing; expected the card in the dut, {names} or the one of servers")
    return bench.with_card(card)


def seen_of(bench: Bench) -> tuple[Seen, int]:
    """Read the first port of the dut, and count the PCI functions of its kind.

    Args:
        bench: The bench.
    """
    port = next(port for port in bench.ports if port.role is Role.DUT)
    with tempfile.TemporaryDirectory() as scratch:
        server = Server(bench, Role.DUT, Secrets(bench.secrets_file), RunNotes(Path(scratch)))
        try:
            seen = look(server.host, port.pci, server.interface(port))
            functions = server.host.pci.functions(str(seen.device.vendor_id), str(seen.device.device_id))
        finally:
            server.close()
    return seen, len(functions)


def text_of(name: str, bench: Bench, seen: Seen, functions: int) -> str:
    """The text of the draft.

    Args:
        name: Name of the card.
        bench: Where it was read.
        seen: What the dut shows of its first port.
        functions: PCI functions of the same kind in the dut.
    """
    today = datetime.datetime.now(tz=datetime.UTC).date()
    source = json.dumps(f"measured: bench {bench.name}, first port of the dut, {today}")
    return "\n".join(
        [
            "# yaml-language-server: $schema=../schema/card.schema.json",
            "# A draft by niclab new-card: what one card shows is what every card is checked for. Compare each fact",
            "# with data sheet and driver source, and name that as its source; what nobody knows stays",
            "# {unknown: the reason}.",
            f"card: {name}",
            f"description: {json.dumps(seen.device.name or 'a card that names itself in no list')}",
            *_identity(seen, functions, source),
            *_software(seen, source),
            *_bus_and_link(seen, source),
            *_settings(seen, source),
            *_offloads(seen, source),
            *_LIMITS,
            "",
        ]
    )


def _identity(seen: Seen, functions: int, source: str) -> Iterator[str]:
    device = seen.device
    yield from ("", "identity:", f'  vendor_id: "{device.vendor_id}"', f'  device_id: "{device.device_id}"')
    yield f'  # or a list: ["{device.subvendor}:{device.subdevice}"]'
    yield "  subsystems: any"
    yield from ("  # PCI functions that a dut must show", f"  ports: {functions}")
    yield f'  pci_class: "{(device.class_code or "0200")[:4]}00"'
    yield from ("  mac_ouis: any", f"  source: {source}")


def _software(seen: Seen, source: str) -> Iterator[str]:
    driver = seen.driver.driver if seen.driver else "unknown"
    firmware = seen.driver.firmware if seen.driver else None
    yield from ("", "drivers:", "  linux:", f"    module: {driver}")
    yield from ("    # or version: with lists, for a driver that is not the kernel's", "    in_kernel: true")
    yield from (f"    source: {source}", "", "firmware:", "  # the version that runs now: set those that may run")
    yield f"  required: [{json.dumps(firmware)}]" if firmware else f"  required: {_open('the driver shows none')}"
    yield from ("  order: exact", f"  source: {source}")


def _bus_and_link(seen: Seen, source: str) -> Iterator[str]:
    device, link = seen.device, seen.link
    yield from ("", "# what the card itself is capable of (LnkCap), not what the slot has made of it", "pcie:")
    yield f"  speed_gts: {_known(device.lnkcap_gts)}"
    yield from (f"  width: {_known(device.lnkcap_width)}", f"  source: {source}", "", "link:")
    yield f"  speed_mbps: {_known(link.speed_mbps if link else None)}"
    yield f"  duplex: {_known(link.duplex.value if link and link.duplex else None)}"
    yield from (f"  autoneg: {_known(link.autoneg if link else None)}", f"  source: {source}")


def _settings(seen: Seen, source: str) -> Iterator[str]:
    if seen.rings is not None:
        yield from ("", "rings:", "  # false when the driver refuses to set them", "  settable: true")
        for name in ("rx", "rx_mini", "rx_jumbo", "tx"):
            most, now = getattr(seen.rings.max, name), getattr(seen.rings.current, name)
            if most or name in ("rx", "tx"):
                yield f"  {name}: {{max: {_known(most or None)}, default: {_known(now or None)}}}"
        yield f"  source: {source}"
    if seen.coalescing is not None:
        yield from ("", "coalescing:")
        for way in ("rx", "tx"):
            adaptive = getattr(seen.coalescing, f"adaptive_{way}")
            if adaptive is not None:
                yield f"  adaptive_{way}: {_known(adaptive)}"
        values = [(name, value) for name, value in seen.coalescing.parameters.items() if value is not None]
        yield "  # max: the largest value that the driver takes"
        yield "  parameters:" if values else "  parameters: []"
        for parameter, value in values:
            yield f"    - {{name: {parameter}, default: {value}, max: {_open('the driver does not show it')}}}"
        yield f"  source: {source}"
    if seen.pause is not None:
        yield from ("", "pause:")
        for switch in ("autoneg", "rx", "tx"):
            yield f"  {switch}: {_known(getattr(seen.pause, switch))}"
        yield from ("  settable: true", f"  source: {source}")
    yield from ("", "channels:", f"  settable: {_known(seen.channels is not None)}")
    if seen.channels is not None and seen.channels.max.combined:
        yield "  # default: the number where it is the card's own"
        yield f"  combined: {{max: {seen.channels.max.combined}, default: {_open('it often is one a processor')}}}"
    yield f"  source: {source}"
    if seen.interface is not None:
        yield from (
            "",
            "mtu:",
            f"  min: {_open(_NOT_ASKED)}",
            f"  max: {_open(_NOT_ASKED)}",
            f"  default: {seen.interface.mtu}",
        )
        yield f"  source: {source}"


def _offloads(seen: Seen, source: str) -> Iterator[str]:
    if seen.features is None:
        return
    yield from (
        "",
        "# to add: proof, a counter that shows it at work; clears is what the kernel switches off with it, a",
        "# driver may do more",
    )
    yield from ("offloads:", "  table:")
    shown = {name for word, (name, _) in _WORDS.items() if word in seen.features.features}
    for word, (name, set_word) in _WORDS.items():
        if name in shown:
            feature = seen.features[word]
            extra = f", set_word: {set_word}" if set_word else ""
            change = "fixed" if feature.fixed else "both"
            cleared = [each.value for each in _CLEARED_BY_KERNEL.get(name, ()) if each in shown and not feature.fixed]
            clears = f", clears: [{', '.join(cleared)}]" if cleared else ""
            yield f"    - name: {name.value}"
            yield f"      linux: {{word: {word}{extra}, default: {_known(feature.on)}, change: {change}{clears}}}"
    yield f"  source: {source}"


_LIMITS = (
    "",
    "limits:",
    "  # of TCP at MTU 1500, which can reach 0.94 of line rate",
    "  tcp_fraction_of_line_rate: 0.9",
    "  carrier_loss_within_ms: 1000",
    "  carrier_return_within_ms: 5000",
    '  source: "assumption: the proposal of niclab new-card; set your own"',
)


def _open(reason: str) -> str:
    """A fact that nobody knows, as a sheet has it."""
    return f"{{unknown: {reason}}}"


def _known(value: object) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return _open("the card shows none") if value is None else f"{value:g}" if isinstance(value, float) else str(value)

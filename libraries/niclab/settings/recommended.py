"""The recommended configuration of the sheet: made to outlast a restart, read after it, and taken away (DEL-06)."""

from __future__ import annotations

import shlex
from collections.abc import Callable

from niclab.bench.records import OperatingSystem, Port, Role
from niclab.card import Recommended, Unknown
from niclab.core.undo import Action, ActionKind, Entry
from niclab.core.verdict import BenchFault, NotApplicable
from niclab.hosts.linux.persistent import SYSCTL_FILE, Persistent, link_file, link_file_name
from niclab.run.run import Run

Show = Callable[[str], object]


def wish_of(run: Run) -> Recommended:
    """:raises NotApplicable: when the sheet recommends nothing that can be set."""
    wish = run.card.section(run.card.recommended, "recommended")
    server = run.server(Role.DUT)
    if server.description.os is not OperatingSystem.LINUX:
        raise NotApplicable(f"{server.name}: settings of {server.description.os.value} cannot be made to stay yet")
    if not (_persistent(wish) != Persistent() or wish.sysctls):
        raise NotApplicable(f"sheet {run.card.name} recommends no value")
    return wish


def make_persistent(run: Run, wish: Recommended) -> list[Entry]:
    """Write the files on the dut; return the journal entries that take them away and put the settings back.

    :raises BenchFault: when a file cannot be written.
    """
    server, entries = run.server(Role.DUT), list[Entry]()
    kept = _persistent(wish)
    for port in run.ports(Role.DUT):
        iface = run.interface(port)
        host, mac = server.host, server.host.interface(iface).mac
        if mac is None:
            raise BenchFault(f"{port.name}: {iface} shows no MAC address to find it by")
        file = link_file_name(mac)
        words = [f"rm -f {file}"]
        if kept.mtu is not None:
            words += [host.restoring_mtu(iface)]
        if kept.rx_ring is not None or kept.tx_ring is not None:
            words += [f"{{ {host.restoring_rings(iface)}; }}"]
        if (kept.pause_autoneg, kept.pause_rx, kept.pause_tx) != (None, None, None):
            words += [f"{{ {host.restoring_pause(iface)}; }}"]
        if kept.coalescing:
            words += [f"{{ {host.restoring_coalescing(iface, tuple(kept.coalescing))}; }}"]
        undo = Action(ActionKind.SHELL, server.name, " && ".join(words))
        entries.append(run.journal.register(port.name, f"{file} makes {iface} come up otherwise", undo))
        server.run(f"mkdir -p /etc/systemd/network && printf %s {shlex.quote(link_file(mac, kept))} > {file} && sync")
    if wish.sysctls:
        entries.append(_sysctls(run, wish))
    return entries


def _sysctls(run: Run, wish: Recommended) -> Entry:
    server = run.server(Role.DUT)
    words = [f"rm -f {SYSCTL_FILE}"]
    for each in wish.sysctls:
        before = " ".join(server.run(f"sysctl -n {shlex.quote(each.name)}").stdout.split())
        words.append("sysctl " + shlex.quote(f"{each.name}={before}"))
    entry = run.journal.register(
        server.name, f"{SYSCTL_FILE} sets sysctls", Action(ActionKind.SHELL, server.name, " && ".join(words))
    )
    text = "".join(f"{each.name} = {each.value}\n" for each in wish.sysctls)
    server.run(f"printf %s {shlex.quote(text)} > {SYSCTL_FILE} && sync")
    return entry


def problems(run: Run, wish: Recommended) -> list[str]:
    """What of ``wish`` the dut does not show."""
    found, kept = list[str](), _persistent(wish)
    for port in run.ports(Role.DUT):
        for what, seen, wanted in _compared(run, port, kept):
            if wanted is not None and seen != wanted:
                found.append(f"{port.place}: {what} is {seen}, sheet {run.card.name} recommends {wanted}")
    server = run.server(Role.DUT)
    for each in wish.sysctls:
        shown = " ".join(server.run(f"sysctl -n {shlex.quote(each.name)}").stdout.split())
        if shown != " ".join(each.value.split()):
            found.append(f"{server.name}: {each.name} is {shown}, sheet {run.card.name} recommends {each.value}")
    return found


def _compared(run: Run, port: Port, kept: Persistent) -> list[tuple[str, object, object]]:
    host, iface = run.server_of(port).host, run.server_of(port).interface(port)
    rows: list[tuple[str, object, object]] = [("MTU", host.mtu(iface), kept.mtu)]
    if kept.rx_ring is not None or kept.tx_ring is not None:
        rings = host.rings(iface).current
        rows += [("ring rx", rings.rx, kept.rx_ring), ("ring tx", rings.tx, kept.tx_ring)]
    if (kept.pause_autoneg, kept.pause_rx, kept.pause_tx) != (None, None, None):
        pause = host.pause(iface)
        rows += [("pause autoneg", pause.autoneg, kept.pause_autoneg), ("pause rx", pause.rx, kept.pause_rx)]
        rows += [("pause tx", pause.tx, kept.pause_tx)]
    if kept.coalescing:
        shown = host.coalescing(iface).parameters
        rows += [(name, shown.get(name), value) for name, value in kept.coalescing.items()]
    return rows


def _persistent(wish: Recommended) -> Persistent:
    def known(value: int | bool | Unknown | None) -> int | None:
        return None if isinstance(value, Unknown) else value

    def switch(value: bool | Unknown | None) -> bool | None:
        return None if isinstance(value, Unknown) else value

    values = {each.name: each.value for each in wish.coalescing if isinstance(each.value, int)}
    return Persistent(
        mtu=known(wish.mtu),
        rx_ring=known(wish.rings.rx) if wish.rings else None,
        tx_ring=known(wish.rings.tx) if wish.rings else None,
        pause_autoneg=switch(wish.pause.autoneg) if wish.pause else None,
        pause_rx=switch(wish.pause.rx) if wish.pause else None,
        pause_tx=switch(wish.pause.tx) if wish.pause else None,
        coalescing=values,
        adaptive_rx=False if values else None,
    )

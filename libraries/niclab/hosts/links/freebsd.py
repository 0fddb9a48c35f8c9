"""FreeBSD host: interfaces: state, carrier, addresses, ping."""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Sequence

from niclab.core.parallel import side_by_side
from niclab.core.verdict import BenchFault, NotApplicable
from niclab.hosts.command_words import interface_name, ip_address, ip_cidr, mac_address
from niclab.hosts.counts.freebsd import row_of
from niclab.hosts.counts.netstat import read_netstat
from niclab.hosts.freebsd_commands import BOOT_ID, FreeBsdCommands
from niclab.hosts.host import PING_EVERY_S
from niclab.hosts.host_records import Interface, LinkSettings, PingResult
from niclab.hosts.links.common import Address, CommonLinks, addresses
from niclab.hosts.links.ifconfig import read_ifconfig
from niclab.hosts.links.network_records import interface_of, link_of
from niclab.hosts.links.ping_output import of_the_first, read_ping, with_trailing
from niclab.hosts.parity import emulated, not_available

_PING_GRACE_S = 15  # ping6 waits 10 s for the last answer

_PING_REFUSED = 64  # EX_USAGE of sysexits(3); from there on ping could not ask at all

_CARRIER_GRACE_S = 5

_CARRIER_EVERY_S = 0.02

_LEAST_WAIT_S = 0.01  # timeout(1) takes 0 for no limit

_NO_IFCONFIG, _NO_STATUS = 9, 8

_OVER = 124  # what timeout(1) ends with when the time is over

_CARRIER_WAIT = re.compile(r"status ([0-9]{1,3})\s*")

_SEPARATOR = "--"


class FreeBsdLinks(CommonLinks, FreeBsdCommands):
    """See :class:`niclab.hosts.host.HostLinks` for the meaning of each method."""

    def _listeners_command(self, port: int) -> str:
        return f"sockstat -46l -p {port} | sed 1d"

    def listening_command(self, port: int, address: str) -> str:
        place = f" {ip_address(self.name, address)}:{int(port)} "
        return f"sockstat -46l -p {int(port)} | grep ' tcp' | grep -qF '{place}'"

    def names(self) -> frozenset[str]:
        """The names of all interfaces."""
        return frozenset(self._run("ifconfig -l").split())

    def interface(self, iface: str) -> Interface:
        return self._record(_show(interface_name(self.name, iface)), iface)

    def interfaces(self, ifaces: Sequence[str]) -> tuple[Interface, ...]:
        """Several interfaces, side by side, in the order in which they are asked for."""
        return tuple(side_by_side(self.interface, ifaces))

    @emulated("`ifconfig -m`, which tells nothing of what is advertised and of the partner")
    def link_settings(self, iface: str) -> LinkSettings:
        return link_of(self._ifconfig(f"ifconfig -m {interface_name(self.name, iface)}", iface))

    @not_available("`ifconfig -v` shows words of a module, not its memory")
    def module_memory(self, iface: str) -> bytes:
        interface_name(self.name, iface)
        raise NotApplicable(f"{self.name}: {iface}: FreeBSD shows words of a module, not its memory")

    @emulated("the status line of `ifconfig` every 20 ms, for as long as `timeout` lets it look")
    def await_carrier(self, iface: str, up: bool, within_s: float) -> bool:
        """Look at the carrier every 20 ms, on the host itself, until it is as wanted or ``within_s`` have passed.

        The host times the wait, so that how long the question took to get there does not matter. The last look begins
        when the time is over: a look that is cut short has seen nothing. An interface that is administratively down
        has no carrier.
        """
        active, other = (("exit 0", ":"), (":", "exit 0"))[not up]
        look = (
            f"s=$(ifconfig {interface_name(self.name, iface)}) || exit {_NO_IFCONFIG};"
            f' case $s in *"<UP"*"status: active"*) {active} ;; *"status: "*) {other} ;; *) exit {_NO_STATUS} ;; esac'
        )
        loop = f"while :; do {look}; sleep {_CARRIER_EVERY_S}; done"
        wait = f"timeout {max(within_s, _LEAST_WAIT_S):.2f} sh -c '{loop}'; r=$?; [ $r = {_OVER} ] || exit $r; "
        command = f'({wait if within_s > 0 else ""}{look}; exit {_OVER}); echo "status $?"'
        said = self._run(command, timeout_s=within_s + _CARRIER_GRACE_S)
        match = _CARRIER_WAIT.fullmatch(said)
        if match is None or int(match[1]) not in (0, _OVER):
            wanted = "an interface that shows a status"
            raise BenchFault(
                f"{self.name}: waiting for the carrier of {iface} ended with {said.strip()!r}; expected {wanted}"
            )
        return match[1] == "0"

    def await_carriers(self, ifaces: Sequence[str], up: bool, within_s: float) -> tuple[str, ...]:
        """Wait for several carriers, side by side; return the interfaces that are not as wanted."""
        seen = side_by_side(lambda iface: self.await_carrier(iface, up, within_s), ifaces)
        return tuple(iface for iface, is_so in zip(ifaces, seen, strict=True) if not is_so)

    def _link_command(self, iface: str, state: str) -> str:
        return f"ifconfig {interface_name(self.name, iface)} {state}"

    def mac_command(self, iface: str, mac: str) -> str:
        """A command that gives the interface a MAC address, for the journal as well."""
        return f"ifconfig {interface_name(self.name, iface)} ether {mac_address(self.name, mac)}"

    def answers_arp_for_others(self, iface: str) -> bool:
        """Never: an address is answered for by the interface that has it alone."""
        interface_name(self.name, iface)
        return False

    def show_command(self, ifaces: Sequence[str]) -> str:
        """A command that shows this boot's id and the interfaces whole: the same while nothing changes."""
        names = [interface_name(self.name, iface) for iface in ifaces]
        return "; ".join([f"kenv -q {BOOT_ID}", *(f"ifconfig {name}" for name in names)])

    def add_address(self, iface: str, cidr: str) -> None:
        """Add an address such as ``198.18.10.1/24``, and see it. Present already: an error, as on every system."""
        address = ip_cidr(self.name, cidr)
        if address.ip in [known.ip for known in addresses(self.interface(iface))]:
            raise BenchFault(f"{self.name}: {iface} has {address.ip} already")
        change = f"ifconfig {iface} {_family(address)} {address} alias"
        if address not in addresses(self._changed(change, iface)):
            raise BenchFault(f"{self.name}: {iface} does not have {address} after `{change}`")

    def remove_address(self, iface: str, cidr: str) -> None:
        """Remove an address, and see that it is gone. Not there: the error of ``ifconfig``."""
        address = ip_cidr(self.name, cidr)
        change = f"ifconfig {interface_name(self.name, iface)} {_removal(address, iface)}"
        if address in addresses(self._changed(change, iface)):
            raise BenchFault(f"{self.name}: {iface} still has {address} after `{change}`")

    @emulated("an interface as source means its first address; `ping6` for IPv6")
    def ping(
        self,
        destination: str,
        *,
        source: str | None = None,
        count: int = 3,
        interval_s: float = PING_EVERY_S,
        wait_s: int = 1,
        size: int | None = None,
        dont_fragment: bool = False,
    ) -> PingResult:
        """Ping; refused options, and no ping sent at all (no summary), are a BenchFault.

        An ``interval_s`` of less than 1 needs root; ``ping6`` waits 10 s for the last answer, whatever ``wait_s``.
        """
        address = ip_address(self.name, destination)
        six = ":" in address
        self._want_ping(count, wait_s, interval_s, size)
        sent = with_trailing(count, interval_s)
        command = f"{'ping6' if six else 'ping'} -n -c {sent}"
        command += "" if six else f" -W {wait_s * 1000}"  # milliseconds; ping6 had another letter before release 13
        command += f" -i {interval_s:g}"
        if size is not None:
            command += f" -s {size}"
        command += " -D" if dont_fragment else ""
        command += f" -S {self._source(source, six)}" if source is not None else ""
        command += f" {address}"
        result = self._try(command, timeout_s=sent * interval_s + wait_s + _PING_GRACE_S)
        if (
            result.exit_status is None
            or result.exit_status >= _PING_REFUSED
            or "packets transmitted" not in result.stdout
        ):
            raise self._failed(command, result)
        read = self._understood(command, lambda text: read_ping(text, result.stderr), result.stdout)
        return of_the_first(count, 0, result.stdout, read)

    def _source(self, source: str, six: bool) -> str:
        """An address as it is; of an interface its first address of the family."""
        try:
            ipaddress.ip_address(source)
        except ValueError:
            own = [str(known.ip) for known in addresses(self.interface(source)) if (known.version == 6) is six]
            if not own:
                raise BenchFault(f"{self.name}: {source} has no IPv{6 if six else 4} address to ping from") from None
            return own[0]
        return ip_address(self.name, source)

    def _changed(self, change: str, iface: str) -> Interface:
        return self._record(f"{change} && {_show(iface)}", iface)

    def _record(self, command: str, iface: str) -> Interface:
        shown, _, counted = self._run(command).partition(f"\n{_SEPARATOR}\n")
        found = self._understood(command, read_ifconfig, shown).interfaces
        row = self._understood(command, lambda text: row_of(iface, read_netstat(text).rows), counted)
        return interface_of(self._the_one(command, iface, found), row.index, row.statistics)


def _show(iface: str) -> str:
    return f"ifconfig {iface} && echo {_SEPARATOR} && netstat -I {iface} -bdnW"


def _family(address: Address) -> str:
    return "inet" if address.version == 4 else "inet6"


def _removal(address: Address, iface: str) -> str:
    zone = f"%{iface}" if address.version == 6 and address.ip.is_link_local else ""
    return f"{_family(address)} {address.ip}{zone} -alias"

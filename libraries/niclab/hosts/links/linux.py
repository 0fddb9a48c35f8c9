"""Linux host: interfaces: state, carrier, addresses, ping."""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Sequence

from niclab.core.verdict import BenchFault
from niclab.hosts.command_words import interface_name, ip_address, ip_cidr, mac_address
from niclab.hosts.errors import ModuleUnread, NotOffered, unreadable
from niclab.hosts.host import PING_EVERY_S
from niclab.hosts.host_commands import is_no_answer, words_of
from niclab.hosts.host_records import Interface, LinkSettings, PingResult
from niclab.hosts.links.common import CommonLinks, addresses
from niclab.hosts.links.ethtool import read_link_settings
from niclab.hosts.links.ethtool_module import read_module_memory
from niclab.hosts.links.ip_command import interface_command, read_interfaces, the_one
from niclab.hosts.links.ping_output import of_the_first, read_ping, with_trailing

_NET = "/sys/class/net"

_BOOT_ID = "/proc/sys/kernel/random/boot_id"

_ARP = "/proc/sys/net/ipv4/conf"

_PING_GRACE_S = 10

_CARRIER_GRACE_S = 5

_CARRIER_EVERY_S = 0.02

_HUNDREDTHS = r"\d+\.\d\d"  # /proc/uptime counts in hundredths of a second

_CARRIER_WAIT = re.compile(rf"({_HUNDREDTHS}) ({_HUNDREDTHS}) (?:seen|late((?: \S{{1,15}})+))")


class LinuxLinks(CommonLinks):
    """See :class:`niclab.hosts.host.HostLinks` for the meaning of each method."""

    def _listeners_command(self, port: int) -> str:
        return f"ss -Hlntup sport = :{port}"

    def listening_command(self, port: int, address: str) -> str:
        source = ip_address(self.name, address)
        source = f"'[{source}]'" if ":" in source else source  # ss takes what follows the last colon for a port
        return f'[ -n "$(ss -Hltn src {source} and sport = :{int(port)})" ]'

    def names(self) -> frozenset[str]:
        """The names of all interfaces."""
        return frozenset(self._run(f"ls {_NET}").split())

    def interface(self, iface: str) -> Interface:
        return self._record(interface_command(interface_name(self.name, iface)), iface)

    def link_settings(self, iface: str) -> LinkSettings:
        """Speed, duplex, autonegotiation and the mode lists.

        Raises:
            BenchFault: Also when the text is of another interface.
        """
        command = f"ethtool {interface_name(self.name, iface)}"
        settings = self._read(command, read_link_settings)
        if settings.iface != iface:
            raise BenchFault(f"{self.name}: `{command}` answered for {settings.iface}")
        return settings

    def module_memory(self, iface: str) -> bytes:
        """The memory of the module in the port's cage, as its driver lays it out (``linux/ethtool.h``).

        Raises:
            NotOffered: The driver shows no module.
            ModuleUnread: It shows modules, and could not read this one.
        """
        command = f"ethtool -m {interface_name(self.name, iface)} hex on"
        result = self._try(command)
        if result.exit_status == 0:
            return self._understood(command, read_module_memory, result.stdout)
        if "not supported" in result.stderr:
            raise NotOffered(f"{self.name}: {iface}: its driver shows no module ({result.stderr.strip()})")
        if is_no_answer(result):
            raise self._failed(command, result)
        raise ModuleUnread(f"{self.name}: `{command}` failed with {words_of(result)}")

    def interfaces(self, ifaces: Sequence[str]) -> tuple[Interface, ...]:
        """Several interfaces in one command, in the order in which they are asked for."""
        names = [interface_name(self.name, iface) for iface in ifaces]
        shown = {record.name: record for record in self._read(interface_command(), read_interfaces)}
        if missing := [name for name in names if name not in shown]:
            raise BenchFault(f"{self.name}: `{interface_command()}` showed no {', '.join(missing)}")
        return tuple(shown[name] for name in names)

    def await_carrier(self, iface: str, up: bool, within_s: float) -> bool:
        """Wait for the carrier of one interface, see :meth:`await_carriers`."""
        return not self.await_carriers([iface], up, within_s)

    def await_carriers(self, ifaces: Sequence[str], up: bool, within_s: float) -> tuple[str, ...]:
        """Look at carriers every 20 ms, on the host itself, until all are as wanted or ``within_s`` have passed.

        The host's clock times the wait, so that how long the question took to get there does not matter. An interface
        that is administratively down has no carrier.

        Returns:
            The interfaces that are not as wanted.
        """
        names = [interface_name(self.name, iface) for iface in ifaces]
        wanted = "1" if up else "0"
        look = (
            f"wrong=; for i in {' '.join(names)}; do {{ read -r state < {_NET}/$i/carrier; }} 2>/dev/null || state=0;"
            f' [ "$state" = {wanted} ] || wrong="$wrong $i"; done'
        )
        # in whole hundredths: a shell has no fractions
        clock = "read -r now rest < /proc/uptime; elapsed=$(( ${now%.*}${now#*.} - ${begin%.*}${begin#*.} ))"
        script = (
            f"read -r begin rest < /proc/uptime; while :; do {look}; {clock};"
            f' if [ -z "$wrong" ]; then echo "$begin $now seen"; break; fi;'
            f' if [ "$elapsed" -ge {round(within_s * 100)} ]; then echo "$begin $now late$wrong"; break; fi;'
            f" sleep {_CARRIER_EVERY_S}; done"
        )
        late = self._read(script, _read_carrier_wait, timeout_s=within_s + _CARRIER_GRACE_S)
        if not set(late) <= set(names):
            raise BenchFault(f"{self.name}: the wait for the carrier of {', '.join(names)} names {', '.join(late)}")
        return late

    def _link_command(self, iface: str, state: str) -> str:
        return f"ip link set dev {interface_name(self.name, iface)} {state}"

    def mac_command(self, iface: str, mac: str) -> str:
        """A command that gives the interface a MAC address, for the journal as well."""
        return f"ip link set dev {interface_name(self.name, iface)} address {mac_address(self.name, mac)}"

    def answers_arp_for_others(self, iface: str) -> bool:
        """Does the interface answer ARP for addresses of the server's other interfaces?

        Two interfaces in one VLAN then both answer for each: traffic to one goes over the other (ip-sysctl of the
        kernel's documentation, arp_ignore: the larger value of the interface's and that of all counts).
        """
        name = interface_name(self.name, iface)
        answer = self._run(f"cat {_ARP}/all/arp_ignore {_ARP}/{name}/arp_ignore")
        values = answer.split()
        if len(values) != len(("all", name)) or not all(value.isdecimal() for value in values):
            raise BenchFault(f"{self.name}: arp_ignore of all and {name} reads {answer!r}; expected two numbers")
        return max(map(int, values)) == 0

    def show_command(self, ifaces: Sequence[str]) -> str:
        """A command that shows this boot's id, and addresses and flags of each: the same while nothing changes."""
        names = [interface_name(self.name, iface) for iface in ifaces]
        files = " ".join([_BOOT_ID, *(f"{_NET}/{name}/flags" for name in names)])
        lines = "|".join(f"*': {name} '*" for name in names)
        addresses = f'while read -r line; do case $line in {lines}) echo "$line" ;; esac; done'
        # the shell reads files and lines by itself: a program costs a server a tenth of a second
        flags = f'for file in {files}; do read -r value < $file && echo "$value"; done'
        return f"{flags}; ip -o -4 address show | {addresses}"

    def add_address(self, iface: str, cidr: str) -> None:
        """Add an address such as ``198.18.10.1/24``, and see it. Present already: the error of ``ip``."""
        address = ip_cidr(self.name, cidr)
        change = f"ip addr add {address} dev {interface_name(self.name, iface)}"
        if address not in addresses(self._changed(change, iface)):
            raise BenchFault(f"{self.name}: {iface} does not have {address} after `ip addr add`")

    def remove_address(self, iface: str, cidr: str) -> None:
        """Remove an address, and see that it is gone. Not there: the error of ``ip``."""
        address = ip_cidr(self.name, cidr)
        change = f"ip addr del {address} dev {interface_name(self.name, iface)}"
        if address in addresses(self._changed(change, iface)):
            raise BenchFault(f"{self.name}: {iface} still has {address} after `ip addr del`")

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
        """Ping; refused options, and no ping sent at all (exit status 2, or no summary), are a BenchFault."""
        self._want_ping(count, wait_s, interval_s, size)
        sent = with_trailing(count, interval_s)
        command = f"ping -n -c {sent} -W {wait_s} -i {interval_s:g}"
        if size is not None:
            command += f" -s {size}"
        if dont_fragment:
            command += " -M do"
        if source is not None:
            command += f" -I {self._source(source)}"
        command += f" {ip_address(self.name, destination)}"
        result = self._try(command, timeout_s=sent * interval_s + wait_s + _PING_GRACE_S)
        answered = "packets transmitted" in result.stdout
        if result.exit_status not in (0, 1) or not answered:
            raise self._failed(command, result)
        read = self._understood(command, lambda text: read_ping(text, result.stderr), result.stdout)
        return of_the_first(count, 1, result.stdout, read)

    def _source(self, source: str) -> str:
        """An address when it is one, else an interface."""
        try:
            ipaddress.ip_address(source)
        except ValueError:
            return interface_name(self.name, source)
        return ip_address(self.name, source)

    def _changed(self, change: str, iface: str) -> Interface:
        return self._record(f"{change} && {interface_command(iface)}", iface)

    def _record(self, command: str, iface: str) -> Interface:
        return the_one(self.name, command, iface, self._read(command, read_interfaces))


def _read_carrier_wait(text: str) -> tuple[str, ...]:
    """The interfaces that are late."""
    match = _CARRIER_WAIT.fullmatch(text.strip())
    if match is None or float(match[2]) < float(match[1]):
        raise unreadable("wait for carrier", "text", text, "'BEGIN END seen' or 'BEGIN END late NAME', in seconds")
    return tuple((match[3] or "").split())

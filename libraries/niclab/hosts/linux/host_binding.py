"""Linux host, drivers of single PCI functions: taken away, and given back with all that went with them."""

from __future__ import annotations

from niclab.core.verdict import BenchFault
from niclab.hosts.errors import unreadable
from niclab.hosts.linux.host_network import LinuxNetwork
from niclab.hosts.linux.host_pci import LinuxPci
from niclab.hosts.names import interface_name, module_name, pci_address

_PCI = "/sys/bus/pci"
_NET = "/sys/class/net"
_DETACH_TIMEOUT_S = 60
_APPEARS_LOOKS = 200
"""Looks for the interface of a driver that was given back, one each tenth of a second."""


class LinuxBinding(LinuxPci, LinuxNetwork):
    """See :class:`niclab.hosts.host.Host` for the meaning of each method."""

    def detach_driver(self, address: str) -> None:
        """Take the driver from a PCI function, and see that it has none. Its interfaces are gone then."""
        device = f"{_PCI}/devices/{pci_address(self.name, address)}"
        look = f"if [ -e {device}/driver ]; then echo bound; else echo free; fi"
        command = f"echo {address} > {device}/driver/unbind && {look}"
        answer = self._run(command, timeout_s=_DETACH_TIMEOUT_S).strip()
        if answer != "free":
            raise BenchFault(f"{self.name}: {address} is {answer!r} after its driver was unbound; wanted: free")

    def restoring_driver(self, address: str, iface: str) -> str:
        """A command that gives a PCI function the driver, and its interface the state, that they have now.

        The state is: MTU, IPv4 addresses, whether ARP is answered for others, up or down, and its bond, if that is
        still there. No error when nothing was taken, or the server was started since.

        :raises BenchFault: when the function has no driver now, or ``iface`` belongs to something that is no bond.
        """
        pci_address(self.name, address)
        driver, module = self._bound_names(address)
        was = self.interface(iface)
        steps = [
            f"{{ [ -d {_PCI}/drivers/{driver} ] || modprobe {module}; }}",
            f"{{ [ -e {_PCI}/devices/{address}/driver ] || echo {address} > {_PCI}/drivers/{driver}/bind; }}",
            "udevadm settle --timeout=30",
            _waiting(address, interface_name(self.name, iface)),
            f"ip link set dev {iface} mtu {was.mtu}",
            *(f"ip address replace {one} dev {iface}" for one in was.ipv4),
            self.answering_arp_for_others(iface, self.answers_arp_for_others(iface)),
        ]
        if was.master is not None:
            steps.append(self._joining(iface, was.master))
        return " && ".join([*steps, self.restoring_link(iface, bool(was.admin_up))])

    def _joining(self, iface: str, master: str) -> str:
        """An interface becomes a member of a bond that is there, unless it is one already."""
        bond = f"{_NET}/{interface_name(self.name, master)}/bonding"
        if self._run(f"if [ -d {bond} ]; then echo bond; else echo other; fi").strip() != "bond":
            raise BenchFault(f"{self.name}: {iface} belongs to {master}, which is no bond; wanted: a bond, or nothing")
        join = f"ip link set dev {iface} down && ip link set dev {iface} master {master}"
        return f"{{ [ ! -d {bond} ] || [ -e {_NET}/{iface}/master ] || {{ {join}; }}; }}"

    def _bound_names(self, address: str) -> tuple[str, str]:
        """The driver that is bound to a function, and its module."""
        command = (
            f"cd {_PCI}/devices/{address} && d=$(readlink driver); m=$(readlink driver/module);"
            ' echo "driver=${d##*/} module=${m##*/}"'
        )
        answer = self._run(command).strip()
        words = dict(word.partition("=")[::2] for word in answer.split())
        if list(words) != ["driver", "module"]:
            raise unreadable("driver of a PCI device", "text", answer, "'driver=NAME module=NAME'")
        if not words["driver"]:
            raise BenchFault(f"{self.name}: {address} has no driver; wanted: one, that can be taken and given back")
        driver = module_name(self.name, words["driver"])
        return driver, module_name(self.name, words["module"] or driver)


def _waiting(address: str, iface: str) -> str:
    """Wait until the interface of that name is the function's; by another name it is not the one that was there."""
    mine = f"case $(readlink -f {_NET}/{iface}/device) in */{address}|*/{address}/*) true ;; *) false ;; esac"
    late = f"echo '{address} has no interface {iface} although its driver was given back' >&2; exit 1"
    return f"{{ n=0; until {mine}; do n=$((n+1)); [ $n -le {_APPEARS_LOOKS} ] || {{ {late}; }}; sleep 0.1; done; }}"

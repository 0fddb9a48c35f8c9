"""Output of the tools of a FreeBSD server with an Emulex and a Chelsio card, after the captures next to it."""

from __future__ import annotations

from examples import text_of
from fake_shell import FakeShell, Script, lines

from niclab.hosts.freebsd_host import FreeBsdHost

UP = """oce0: flags=8843<UP,BROADCAST,RUNNING,SIMPLEX,MULTICAST> metric 0 mtu 1500
\toptions=507bb<RXCSUM,TXCSUM,VLAN_MTU,VLAN_HWTAGGING,JUMBO_MTU,VLAN_HWCSUM,TSO4,TSO6,LRO,VLAN_HWFILTER,VLAN_HWTSO>
\tether 00:00:c9:e6:67:a8
\tinet 10.1.1.1 netmask 0xffffff00 broadcast 10.1.1.255
\tinet6 fe80::200:c9ff:fee6:67a8%oce0 prefixlen 64 scopeid 0x1
\tmedia: Ethernet autoselect (10Gbase-SR <full-duplex>)
\tstatus: active
"""
UNPLUGGED = UP.replace("autoselect (10Gbase-SR <full-duplex>)", "autoselect").replace("active", "no carrier")
DOWN = UNPLUGGED.replace("8843<UP,BROADCAST", "8802<BROADCAST").replace(",RUNNING", "")
WITHOUT_IPV4 = UP.replace("\tinet 10.1.1.1 netmask 0xffffff00 broadcast 10.1.1.255\n", "")
WITHOUT_ADDRESSES = "\n".join(line for line in UP.split("\n") if "inet" not in line)
# netstat -bdnW of releases 9 to 14 has all these columns.
NETSTAT = """Name Mtu Network Address Ipkts Ierrs Idrop Ibytes Opkts Oerrs Obytes Coll Drop
oce0 1500 <Link#3> 00:00:c9:e6:67:a8 92712345 17 3 1024880 88123456 1 46134 0 5
oce0 - 10.1.1.0/24 10.1.1.1 92712001 - - 1024000 88123001 - 46000 - -
"""
SHOW = "ifconfig oce0 && echo -- && netstat -I oce0 -bdnW"
MANAGED = (
    UP.replace(
        "\tether",
        "\tcapabilities=507bb<RXCSUM,TXCSUM,VLAN_MTU,VLAN_HWTAGGING,JUMBO_MTU,VLAN_HWCSUM,TSO4,TSO6,LRO>\n\tether",
    )
    + "\tsupported media:\n\t\tmedia autoselect\n\t\tmedia 10Gbase-SR mediaopt full-duplex\n"
)

OCE = lines(
    "dev.oce.0.%desc: Emulex CNA NIC function:///4.2.116.0///",
    "dev.oce.0.%driver: oce",
    "dev.oce.0.%parent: pci4",
    "dev.oce.0.component_revision: ///4.2.116.0///",
    "dev.oce.0.firmware_version: 4.4.249.3",
    "dev.oce.0.max_rsp_handled: 64",
    "dev.oce.0.stats.rx.total_pkts: 1234",
    "dev.oce.0.stats.tx.total_pkts: 567",
)
T5NEX = lines(
    "dev.t5nex.0.%desc: Chelsio T580-CR", "dev.t5nex.0.%driver: t5nex", "dev.t5nex.0.firmware_version: 1.27.1.0"
)
KLDSTAT = """Id Refs Address                Size Name
 1   24 0xffffffff80200000  1d345b0 kernel (/boot/kernel/kernel)
\tContains modules:
\t\tId Name
\t\t1 cxgbe/cxl
\t\t2 pci/em
 2    1 0xffffffff81a11000    3b6c8 oce.ko (/boot/modules/oce.ko)
\tContains modules:
\t\tId Name
\t\t3 pci/oce
"""
_WORDS = "rev=0x03 hdr=0x00 vendor=0x19a2 device=0x0710 subvendor=0x10df subdevice=0xe702"
_BRIDGE = "rev=0x02 hdr=0x01 vendor=0x8086 device=0x1f11 subvendor=0x8086 subdevice=0x7270"


def express(port: str, width: str, speed: str) -> str:
    """The PCI Express capability of a function."""
    return f"    cap 10[40] = PCI-Express 2 {port} max data 256(512) link {width} speed {speed} ASPM disabled(L0s)\n"


def pciconf(*, slot_width: str = "x4(x8)", card_width: str = "x4(x8)", card_speed: str = "5.0(5.0)") -> str:
    """A root port, a switch of two ports, and below it the card; and a Chelsio card on the root bus."""
    return (
        f"pcib3@pci0:0:2:0:\tclass=0x060400 {_BRIDGE}\n{express('root port slot', 'x8(x8)', '5.0(8.0)')}"
        f"pcib4@pci0:1:0:0:\tclass=0x060400 {_BRIDGE}\n{express('upstream port', 'x8(x8)', '5.0(8.0)')}"
        f"pcib5@pci0:2:1:0:\tclass=0x060400 {_BRIDGE}\n{express('downstream port', slot_width, '5.0(8.0)')}"
        f"oce0@pci0:4:0:0:\tclass=0x020000 {_WORDS}\n{express('endpoint', card_width, card_speed)}"
        f"none0@pci0:4:0:1:\tclass=0x020000 {_WORDS}\n{express('endpoint', card_width, card_speed)}"
        f"t5nex0@pci0:5:0:4:\tclass=0x020000 {_WORDS}\n{express('endpoint', 'x8(x8)', '8.0(8.0)')}"
    )


PATH = lines(
    *("oce0 pci4", "pci4 pcib5", "pcib5 pci2", "pci2 pcib4", "pcib4 pci1", "pci1 pcib3", "pcib3 pci0", "pci0 pcib0"),
    "pcib0 acpi0",
)
MESSAGES = text_of("dmesg-freebsd", "boot-genet")


def host(script: dict[str, Script]) -> tuple[FreeBsdHost, FakeShell]:
    shell = FakeShell(script)
    return FreeBsdHost(shell, "dut"), shell

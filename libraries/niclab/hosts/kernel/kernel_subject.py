"""The subject of a kernel line: driver, PCI address and interface, in the ways drivers have written them.

``igb 0000:02:00.0 enp2s0: ...`` (netdev_info since 3.8), ``ixgbe 0000:04:00.0: eth0: ...`` (before),
``fec 2188000.ethernet eth0: ...``, ``e1000e: eth0 NIC ...``, ``0000:00:19.0: eth0: ...`` and ``eth2: ...`` (2.6),
``[qede_link_update:2419(p6p4)]...``, ``bnx2x: [bnx2x_timer:5773(eth0)]...``.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

_PCI = r"[0-9a-f]{4,8}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]"
_IFACE = r"[A-Za-z][A-Za-z0-9_.@-]{0,14}"
_WITH_ADDRESS = re.compile(rf"(?:([A-Za-z0-9][A-Za-z0-9_-]{{0,30}}):? )?({_PCI})(: ?| )(.*)", re.DOTALL)
# A card on no PCI bus: platform, USB, virtio, MDIO and Hyper-V's names of devices. The interface comes after a blank.
_WITH_DEVICE = re.compile(
    r"([A-Za-z0-9][A-Za-z0-9_-]{0,30}) (?:[0-9a-f]{4,16}\.[a-z][a-z0-9_@-]{1,40}|[0-9]{1,3}-[0-9.]{1,20}:[0-9.]{3,7}"
    r"|virtio[0-9]{1,4}|mdio-bus:[0-9a-f]{2}|[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}) "
    rf"(?={_IFACE}(?: \([a-z_ ]{{1,40}}\))*: )(.*)",
    re.DOTALL,
)
_WITH_DRIVER = re.compile(rf"([a-z][a-z0-9_]{{1,30}})(?::| (?={_IFACE}: )) ?(.*)", re.DOTALL)  # "sky2 eth0: ..." (2.6)
_IN_BRACKETS = re.compile(rf"(?:[a-z0-9_]{{1,30}}: )?\[(qede?|bnx2x)_[a-z0-9_]{{1,60}}:[0-9]{{1,6}}\(({_IFACE})\)\]")
_LEADING_IFACE = re.compile(rf"({_IFACE})(?: \([a-z_ ]{{1,40}}\))*: ")
_LEADING_PROBED = re.compile(r"(eth[0-9]{1,3}) - ")  # be2net of 2.6: no udev name yet when the driver finds the card
_NAME = re.compile(_IFACE)
_NO_DRIVERS = ("PCI", "pci")  # the bus, of a device that no driver has taken
# Where any word may precede the colon, only names as udev and the kernel give them are taken: eth3, em1, p6p4.
_GIVEN_NAME = re.compile(r"[a-z][a-z0-9_.-]*[0-9][a-z0-9_.@-]*")

# Drivers of network cards that put their own name before the name of the interface.
_DRIVERS = frozenset(
    " ".join(
        (
            "3c59x 8139cp 8139too acenic alx atl1 atl1c atl1e atlantic b44 be2net bna bnx2 bnx2x bnxt_en cxgb cxgb3",
            "cxgb4 cxgb4vf e100 e1000 e1000e ena enic fm10k forcedeth hns3 i40e i40evf iavf ice igb igbvf igc ixgb",
            "ixgbe ixgbevf mlx4_core mlx4_en mlx5_core myri10ge netxen_nic nfp niu oce pcnet32 qed qede qlcnic qlge",
            "r8125 r8168 r8169 s2io sfc skge sky2 tehuti tg3 tulip via-rhine via-velocity virtio_net vmxnet3 vxge",
        )
    ).split()
)


@dataclass(frozen=True)
class Subject:
    """The subject of a kernel line; None where the line does not name it."""

    driver: str | None
    address: str | None
    iface: str | None


def read_subject(text: str) -> Subject:
    """``iface`` only where a colon follows it: a word before other words may be anything."""
    bracketed = _IN_BRACKETS.match(text)
    if bracketed is not None:
        return Subject(bracketed[1], None, bracketed[2])
    driver: str | None = None
    address: str | None = None
    rest, surely_iface = text, False
    addressed = _WITH_ADDRESS.match(text)
    device = _WITH_DEVICE.match(text)
    if device is not None:
        driver, rest, surely_iface = device[1], device[2], True
    elif addressed is not None:
        driver, address, rest = addressed[1], addressed[2], addressed[4]
        driver, surely_iface = None if driver in _NO_DRIVERS else driver, addressed[3] == " "
    else:
        named = _WITH_DRIVER.match(text)
        if named is not None and named[1] in _DRIVERS:
            driver, rest = named[1], named[2]
    leading = _LEADING_IFACE.match(rest) or _LEADING_PROBED.match(rest)
    iface = leading[1] if leading and _is_interface(leading[1]) else None
    if iface is not None and not surely_iface and not _GIVEN_NAME.fullmatch(iface):
        iface = None
    if iface is not None and driver is not None and iface.startswith(f"{driver}_"):
        iface = None  # the name of a function: "e1000: 0000:00:19.0: e1000_probe: ..."
    return Subject(driver, address, iface)


def _is_interface(word: str) -> bool:
    """Can this word be the name of an interface? At most 15 characters (IFNAMSIZ), no name of a driver."""
    return bool(_NAME.fullmatch(word)) and word not in _DRIVERS

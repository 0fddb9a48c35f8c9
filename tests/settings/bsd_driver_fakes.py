"""Servers with FreeBSD whose driver behaves as the named one does: ``ifconfig`` and ``sysctl`` in words.

Each rule names its source in FreeBSD (sys/dev).
"""

from __future__ import annotations

import copy
import re
from typing import Any

from driver_fakes import answer, known

from niclab.bench.records import OperatingSystem
from niclab.card import Card, Changeable
from niclab.hosts.settings.features import CAPABILITIES

WORDS = {each.word: each for each in CAPABILITIES if each.word}
BUSY, AGAIN, INVALID = "Device busy", "Resource temporarily unavailable", "Invalid argument"


class BsdShell:
    """A server with one port. ``tree`` is what its driver keeps in sysctl."""

    iface: str

    def __init__(self, card: Card) -> None:
        self.card, self.commands = card, list[str]()
        assert card.offloads is not None
        rows = card.offloads.rows(OperatingSystem.FREEBSD)
        self.labels = [row.shown_as for row in rows.values()]
        self.fixed = {row.shown_as for row in rows.values() if row.change is Changeable.FIXED}
        self.on = {row.shown_as for row in rows.values() if known(row.default, True)}
        self.tree = dict[str, str]()

    # --- rules

    def switch(self, label: str, on: bool) -> str:
        """Switch a capability; the words of a refusal, or nothing. cxgbe/t4_main.c and oce/oce_if.c, their ioctls."""
        if on and label in ("TSO4", "TSO6") and "TXCSUM" not in self.on:
            return AGAIN  # "enable txcsum first"
        if on and label == "TOE4":  # toe_capability() without the module t4_tom
            return AGAIN
        (self.on.add if on else self.on.discard)(label)
        if "TXCSUM" not in self.on:
            self.on.discard("TSO4")
        return ""

    def write(self, name: str, value: str) -> str:
        """Set a value of the tree; the words of a refusal, or nothing."""
        self.tree[name] = value
        return ""

    # --- commands

    def run(self, command: str, *, timeout_s: float = 60, check: bool = False) -> Any:
        assert timeout_s > 0 and not check
        command = command.removeprefix("export LC_ALL=C; ")
        self.commands.append(command)
        if command == f"ifconfig -m {self.iface}":
            return answer(self._shown())
        if match := re.fullmatch(rf"ifconfig {self.iface} ([a-z0-9 -]+)", command):
            said = [self._word(word) for word in match[1].split()]
            return self._done(said, "ifconfig: ioctl (SIOCSIFCAP)")
        if command.startswith("{ test "):  # an undo that leaves alone what is as it was
            before = re.findall(r"\$\(sysctl -n (\S+)\) = (\S+)", command)
            return self._done([self.write(name, value) for name, value in before if self.tree[name] != value], "sysctl")
        if match := re.fullmatch(r"sysctl -n (\S+)", command):
            if match[1] not in self.tree:
                return answer(status=1, stderr=f"sysctl: unknown oid '{match[1]}'")
            return answer(self.tree[match[1]] + "\n")
        if match := re.fullmatch(r"sysctl (\S+=.+)", command):
            said = [self.write(*each.replace("'", "").split("=", 1)) for each in re.findall(r"\S+=\S*", match[1])]
            return self._done(said, "sysctl")
        raise AssertionError(f"not expected: {command}")

    def snapshot(self) -> dict[str, Any]:
        return copy.deepcopy({"on": self.on, "tree": self.tree})

    @staticmethod
    def _done(said: list[str], tool: str) -> Any:
        refused = [each for each in said if each]
        return answer(status=bool(refused), stderr=f"{tool}: {refused[0]}" if refused else "")

    def _word(self, word: str) -> str:
        on, label = not word.startswith("-"), WORDS[word.removeprefix("-")].label
        return "" if label in self.fixed else self.switch(label, on)

    def _shown(self) -> str:
        def options(labels: list[str]) -> str:
            bits = sum(1 << each.bit for each in CAPABILITIES if each.label in labels)
            return f"{bits:x}<{','.join(labels)}>"

        return (
            f"{self.iface}: flags=8843<UP,BROADCAST,RUNNING,SIMPLEX,MULTICAST> metric 0 mtu 1500\n"
            f"\toptions={options([label for label in self.labels if label in self.on])}\n"
            f"\tcapabilities={options(self.labels)}\n\tether 00:00:c9:e6:67:a8\n"
            "\tmedia: Ethernet autoselect (10Gbase-SR <full-duplex>)\n\tstatus: active\n"
        )


class Cxgbe(BsdShell):
    """cxgbe/t4_main.c: rings are busy once the port was up; times and counts point into lists of the card."""

    iface = "cxl0"

    def __init__(self, card: Card) -> None:
        super().__init__(card)
        self.tree |= {
            "dev.cxl.0.%parent": "t5nex0",
            "dev.cxl.0.qsize_rxq": "1024",
            "dev.cxl.0.qsize_txq": "1024",
            "dev.cxl.0.holdoff_tmr_idx": "1",
            "dev.cxl.0.holdoff_pktc_idx": "-1",
            "dev.t5nex.0.holdoff_timers": "1 5 10 50 100 200",
            "dev.t5nex.0.holdoff_pkt_counts": "1 8 16 32",
            "dev.cxl.0.pause_settings": "3<PAUSE_RX,PAUSE_TX>",
        }

    def write(self, name: str, value: str) -> str:
        if "qsize" in name:
            return BUSY
        if name.endswith("pause_settings"):
            names = [each for bit, each in ((1, "RX"), (2, "TX"), (4, "AUTONEG")) if int(value) & bit]
            value = f"{value}<{','.join(f'PAUSE_{each}' for each in names)}>"
        return super().write(name, value)


class Oce(BsdShell):
    """oce/oce_if.c, oce_sysctl.c: neither rings, nor pause frames, nor times of interrupts can be asked for."""

    iface = "oce0"


class OfTheSource(BsdShell):
    """A driver whose capabilities are those that its source gives an interface, whatever the sheet says."""

    able: str
    off = ""
    """Capabilities, and those of them that it leaves off when it attaches."""

    def __init__(self, card: Card) -> None:
        super().__init__(card)
        self.labels, self.fixed = self.able.split(), set[str]()
        self.on = set(self.labels) - set(self.off.split())

    def switch(self, label: str, on: bool) -> str:
        """net/if.c, ifhwioctl(): what is no capability is refused; a driver sees what differs from what is on."""
        if label not in self.labels:
            return INVALID if on else ""
        return "" if (label in self.on) is on else self.toggle(label)

    def toggle(self, label: str) -> str:
        """Change a capability; the words of a refusal, or nothing."""
        self.on ^= {label}
        return ""


class Iflib(OfTheSource):
    """net/iflib.c, iflib_if_ioctl(): IFCAP_FLAGS and WOL are toggled; receive checksums of IPv4 and IPv6 as one."""

    able = (
        "RXCSUM TXCSUM VLAN_MTU VLAN_HWTAGGING JUMBO_MTU VLAN_HWCSUM TSO4 TSO6 LRO WOL_UCAST WOL_MCAST WOL_MAGIC"
        " VLAN_HWFILTER VLAN_HWTSO RXCSUM_IPV6 TXCSUM_IPV6 HWSTATS"
    )
    """e1000/if_em.c, EM_CAPS and IGB_CAPS, and ixgbe/ixgbe.h, IXGBE_CAPS, are the same."""

    def toggle(self, label: str) -> str:
        sums = {"RXCSUM", "RXCSUM_IPV6"}
        if label != "JUMBO_MTU":  # it is not in IFCAP_FLAGS, and nothing is said
            self.on ^= sums if label in sums else {label}
        return ""


class Igb(Iflib):
    """e1000/if_em.c of FreeBSD 14. All ports have one ``fc`` together; it shows what was written, whatever that is."""

    iface = "igb0"
    off = "WOL_UCAST WOL_MCAST WOL_MAGIC"

    def __init__(self, card: Card) -> None:
        super().__init__(card)
        self.fc = f"dev.{self.iface[:-1]}.0.fc"
        self.tree |= {self.fc: "3", "requested_mode": "3"}  # em_reset(): e1000_fc_full
        self.last = "0"  # of the softc, which nobody gives another value before

    def write(self, name: str, value: str) -> str:
        """em_set_flowcntl(): what it had last is no news, so that a first 0 does nothing; other numbers are ignored."""
        if name == self.fc and value != self.last and value in ("0", "1", "2", "3"):
            self.last = self.tree["requested_mode"] = value
        return super().write(name, value)


class Em(Igb):
    """The same file; em_if_attach_pre() has no segmentation on for the e1000_82574."""

    iface = "em0"
    off = f"{Igb.off} TSO4 TSO6"


class Ix(Iflib):
    """ixgbe/if_ix.c, ixgbe_sysctl_flowcntl() and ixgbe_set_flowcntl(), of a link that negotiates no pause frames."""

    iface = "ix0"

    def __init__(self, card: Card) -> None:
        super().__init__(card)
        self.tree["dev.ix.0.fc"] = "3"  # current_mode, once the link was up: ixgbe_flow_control, ixgbe_fc_full

    def write(self, name: str, value: str) -> str:
        return super().write(name, value) if value in ("0", "1", "2", "3") else INVALID


class Bxe(OfTheSource):
    """bxe/bxe.c: bxe_init_ifnet(), all on; bxe_ioctl(), each by itself."""

    iface = "bxe0"
    able = (
        "RXCSUM TXCSUM VLAN_MTU VLAN_HWTAGGING JUMBO_MTU VLAN_HWCSUM TSO4 TSO6 LRO WOL_MAGIC VLAN_HWFILTER VLAN_HWTSO"
    )

    def toggle(self, label: str) -> str:
        if label in ("VLAN_HWCSUM", "VLAN_MTU", "VLAN_HWTAGGING", "VLAN_HWFILTER"):  # "not supported"
            return INVALID
        return "" if label in ("JUMBO_MTU", "WOL_MAGIC") else super().toggle(label)


class Sfxge(OfTheSource):
    """sfxge/sfxge.c: SFXGE_CAP, and sfxge_if_ioctl(). No tags with an SFC9020 (siena_nic.c)."""

    iface = "sfxge0"
    able = (
        "RXCSUM TXCSUM VLAN_MTU JUMBO_MTU VLAN_HWCSUM TSO4 TSO6 LRO VLAN_HWTSO LINKSTATE RXCSUM_IPV6 TXCSUM_IPV6"
        " HWSTATS"
    )

    def toggle(self, label: str) -> str:
        sums = {"TSO4": "TXCSUM", "TSO6": "TXCSUM_IPV6"}
        if label in ("VLAN_MTU", "JUMBO_MTU", "LINKSTATE", "HWSTATS"):  # SFXGE_CAP_FIXED
            return INVALID
        if label not in self.on and label in sums and sums[label] not in self.on:
            return AGAIN
        super().toggle(label)
        self.on -= {cut for cut, needed in sums.items() if needed not in self.on}
        return ""


class Ti(OfTheSource):
    """ti/if_ti.c: ti_attach(), all on; ti_ioctl()."""

    iface = "ti0"
    able = "RXCSUM TXCSUM VLAN_MTU VLAN_HWTAGGING VLAN_HWCSUM LINKSTATE"

    def toggle(self, label: str) -> str:
        return "" if label in ("VLAN_MTU", "LINKSTATE") else super().toggle(label)


DRIVERS: dict[str, type[BsdShell]] = {
    "if_cxgbe": Cxgbe,
    "oce": Oce,
    "if_bxe": Bxe,
    "if_em": Em,
    "if_igb": Igb,
    "if_ix": Ix,
    "if_ti": Ti,
    "sfxge": Sfxge,
}

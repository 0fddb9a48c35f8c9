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
BUSY, AGAIN = "Device busy", "Resource temporarily unavailable"


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


DRIVERS: dict[str, type[BsdShell]] = {"if_cxgbe": Cxgbe, "oce": Oce}

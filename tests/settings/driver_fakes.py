"""Servers whose driver behaves as the named one does: ``ethtool`` in words, over what a sheet says of the card.

Each rule names its source in Linux 6.1. What a driver shows late it shows from the second look on.
"""

from __future__ import annotations

import copy
import json
import re
import zlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

from niclab.card import Card, Unknown

IFACE = "enp1s0"
ADAPTIVE = ("adaptive-rx", "adaptive-tx")
SHARED = 80
"""Exit status of ethtool where nothing had to be changed."""
IMAGE_REFUSED = "Invalid argument"

Values = Mapping[str, int | bool]


class Refused(Exception):
    """The driver, or the kernel before it, refuses: ``netlink error: ...``."""


@dataclass
class Shown:
    """The port as ``ethtool`` shows it."""

    wanted: dict[str, bool]
    """Features that can be changed, by their names on the sheet: as asked for."""
    fixed: dict[str, bool]
    rings: dict[str, int]
    coalescing: dict[str, int]
    adaptive: dict[str, bool]
    pause: dict[str, bool]
    firmware: str
    queues: int
    flashed: str = ""


@dataclass
class Driver:
    """A driver that takes what the kernel lets through. Each class below is a driver with its own rules."""

    MOST_QUEUES = 0
    """Combined queues, on a server with two processors; 0: no operation for them."""

    card: Card
    shown: Shown = field(init=False)
    _late: list[Callable[[], None]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.shown = as_delivered(self.card)

    # --- rules

    def heed_pause(self, asked: Values) -> None:
        self.shown.pause.update({name: bool(on) for name, on in asked.items()})

    def heed_rings(self, asked: Values) -> None:
        self.shown.rings.update({name: int(size) for name, size in asked.items()})

    def heed_queues(self, number: int) -> None:
        self.shown.queues = number

    def heed_coalescing(self, asked: Values) -> None:
        for name, value in asked.items():
            if name in ADAPTIVE:
                self.shown.adaptive[name] = bool(value)
            else:
                self.shown.coalescing[name] = int(value)

    def fix(self, features: dict[str, bool]) -> None:
        """Switch off what cannot be on with the others."""

    def firmware(self) -> str:
        """The firmware string."""
        assert self.card.firmware.example is not None
        running = self.card.firmware.read(self.card.firmware.example)
        return self.card.firmware.example.replace(running, self.shown.firmware, 1)

    # --- the kernel

    def features(self) -> dict[str, bool]:
        """Apply the rules of net/core/dev.c, netdev_fix_features()."""
        found = {**self.shown.fixed, **self.shown.wanted}
        if not found.get("scatter-gather"):
            found |= dict.fromkeys({"tso4", "tso6", "gso"} & set(found), False)
        if not found.get("tx-checksum"):
            found |= dict.fromkeys({"tso4", "tso6"} & set(found), False)
        self.fix(found)
        return found

    def late(self, change: Callable[[], None]) -> None:
        """Let a change be seen from the second look on."""
        self._late.append(change)

    def look(self, text: str) -> str:
        """Return what is shown now; what comes late has come afterwards."""
        while self._late:
            self._late.pop(0)()
        return text


def known(value: object, otherwise: int) -> int:
    return value if isinstance(value, int) else otherwise


def as_delivered(card: Card) -> Shown:
    """The port as the sheet says that it is delivered; what nobody knows is something."""
    wanted, fixed = dict[str, bool](), dict[str, bool]()
    assert card.offloads is not None
    for row in card.offloads.table:
        if row.linux is not None:
            able = row.linux.change is not None and getattr(row.linux.change, "value", "") not in ("fixed",)
            (wanted if able else fixed)[row.name.value] = known(row.linux.default, True) is True
    named = {"rx": "rx", "rx_mini": "rx-mini", "rx_jumbo": "rx-jumbo", "tx": "tx"}
    rings = {word: getattr(card.rings, name) for name, word in named.items() if card.rings}
    facts = card.coalescing
    adaptive = {word: getattr(facts, word.replace("-", "_")) for word in ADAPTIVE if facts}
    return Shown(
        wanted,
        fixed,
        {word: known(ring.default, 512) for word, ring in rings.items() if ring and not isinstance(ring.max, Unknown)},
        {row.name: known(row.default, 0) for row in facts.parameters} if facts else {},
        {word: on is True for word, on in adaptive.items() if on is not None},
        {name: getattr(card.pause, name) is True for name in ("autoneg", "rx", "tx")} if card.pause else {},
        card.firmware.required[0] if isinstance(card.firmware.required, tuple) else "1",
        queues=2,
    )


def aligned(asked: Values, least: int, most: int, step: int = 8) -> dict[str, int]:
    return {word: -(-min(max(int(size), least), most) // step) * step for word, size in asked.items()}


class E1000e(Driver):
    """e1000e/ethtool.c, netdev.c. igb and igc have the same pause frames (igb_ethtool.c, igc_ethtool.c)."""

    def heed_pause(self, asked: Values) -> None:
        super().heed_pause(asked)
        if self.shown.pause["autoneg"]:  # e1000_set_pauseparam(): requested_mode is the default
            self.shown.pause |= {"rx": True, "tx": True}

    def heed_rings(self, asked: Values) -> None:
        super().heed_rings(aligned(asked, 64, 4096))  # e1000_set_ringparam()

    def heed_coalescing(self, asked: Values) -> None:
        usecs = int(asked["rx-usecs"])
        if usecs > 10000 or 4 < usecs < 10 or usecs == 2:  # e1000_set_coalesce()
            raise Refused("Invalid argument")
        self.shown.coalescing["rx-usecs"] = usecs if usecs <= 4 else 1000000 // ((1000000 // usecs) & ~3)

    def fix(self, features: dict[str, bool]) -> None:
        features["vlan-insert"] = features["vlan-strip"]  # e1000_fix_features()


class Igb(E1000e):
    """igb_ethtool.c, igb_main.c, with two queues: above four, both ways would share interrupts."""

    MOST_QUEUES = 8  # igb_max_channels()

    def __post_init__(self) -> None:
        super().__post_init__()
        self.shown.coalescing["tx-usecs"] = 3  # IGB_DEFAULT_ITR

    def heed_coalescing(self, asked: Values) -> None:
        for usecs in map(int, asked.values()):
            if usecs > 10000 or 3 < usecs < 10 or usecs == 2:  # igb_set_coalesce()
                raise Refused("Invalid argument")
        Driver.heed_coalescing(self, asked)


class Ixgbe(Driver):
    """ixgbe_ethtool.c, ixgbe_main.c, on 10 Gbit/s over fibre, where flow control is not negotiated."""

    MOST_QUEUES = 63  # ixgbe_max_channels()

    def heed_pause(self, asked: Values) -> None:
        if asked["autoneg"]:  # ixgbe_device_supports_autoneg_fc()
            raise Refused("Invalid argument")
        heed = super().heed_pause
        self.late(lambda: heed(asked))  # current_mode is set when the link is back, ixgbe_fc_autoneg()

    def heed_rings(self, asked: Values) -> None:
        super().heed_rings(aligned(asked, 64, 4096))

    def heed_coalescing(self, asked: Values) -> None:
        if asked["tx-usecs"] or int(asked["rx-usecs"]) > 1022:  # mixed vectors, ixgbe_set_coalesce()
            raise Refused("Invalid argument")
        super().heed_coalescing(asked)

    def fix(self, features: dict[str, bool]) -> None:
        features["lro"] &= features["rx-checksum"]


class Bnx2x(Driver):
    """bnx2x_ethtool.c, bnx2x_cmn.c, with four queues and that of storage."""

    MOST_QUEUES = 4  # bnx2x_get_channels(): BNX2X_MAX_RSS_COUNT()

    def __post_init__(self) -> None:
        super().__post_init__()
        self.shown.rings["rx"] = 4078 // 5  # bnx2x_alloc_fp_mem_at()

    def heed_rings(self, asked: Values) -> None:
        if not 128 <= int(asked["rx"]) <= 4078 or not 21 < int(asked["tx"]) <= 4078:  # bnx2x_set_ringparam()
            raise Refused("Invalid argument")
        super().heed_rings(asked)

    def heed_coalescing(self, asked: Values) -> None:
        super().heed_coalescing({word: min(int(value), 1020) for word, value in asked.items()})

    def fix(self, features: dict[str, bool]) -> None:
        features["lro"] &= features["rx-checksum"]  # bnx2x_fix_features()


class Cxgb4(Driver):
    """cxgb4_ethtool.c, cxgb4_main.c, on a port with QSFP+, which negotiates nothing."""

    TIMERS, COUNTS = (1, 5, 10, 50, 100, 200), (1, 8, 16, 32)

    def __post_init__(self) -> None:
        super().__post_init__()
        self.shown.coalescing["rx-frames"] = 8  # init_rspq() asks for 10

    def heed_pause(self, asked: Values) -> None:
        if asked["autoneg"]:  # pcaps without FW_PORT_CAP32_ANEG
            raise Refused("Invalid argument")
        heed = super().heed_pause
        self.late(lambda: heed(asked))  # advertised_fc is what the firmware reports, t4_handle_get_port_info()

    def heed_rings(self, _: Values) -> None:
        raise Refused("Device or resource busy")  # set_sge_param() once CXGB4_FULL_INIT_DONE is set

    def heed_coalescing(self, asked: Values) -> None:
        nearest = dict(asked)
        for word, steps in (("rx-usecs", self.TIMERS), ("rx-frames", self.COUNTS)):
            nearest[word] = min(
                steps, key=lambda step: abs(step - int(asked[word]))
            )  # closest_timer(), closest_thres()
        for word in ("tx-usecs", "tx-usecs-irq"):
            nearest[word] = 0  # set_dbqtimer() without CXGB4_SGE_DBQ_TIMER
        super().heed_coalescing(nearest)

    def fix(self, features: dict[str, bool]) -> None:
        features["gro"] &= features["rx-checksum"]  # cxgb_fix_features()


class Be2net(Driver):
    """be_ethtool.c, be_main.c, with SFP+ modules, for which fc_autoneg is 0 (be_pause_supported())."""

    MOST_QUEUES = 4  # be_get_channels(): be_max_qp_irqs()

    def heed_pause(self, asked: Values) -> None:
        if asked["autoneg"]:
            raise Refused("Invalid argument")
        super().heed_pause(asked)

    def heed_rings(self, _: Values) -> None:
        raise Refused("Operation not supported")

    def heed_coalescing(self, asked: Values) -> None:
        high = min(int(asked["rx-usecs-high"]), 128)
        low = min(int(asked["rx-usecs-low"]), high)
        both = bool(asked["adaptive-rx"])
        self.shown.adaptive |= dict.fromkeys(ADAPTIVE, both)  # be_get_coalesce(): one switch, one interrupt for both
        self.shown.coalescing |= {
            f"{way}-usecs-{end}": v for way in ("rx", "tx") for end, v in (("high", high), ("low", low))
        }
        # be_worker() sets the new value within a second; while it adapts, that is the least one of an idle port
        value = low if both else max(min(int(asked["rx-usecs"]), high), low)
        self.late(lambda: self.shown.coalescing.update({"rx-usecs": value, "tx-usecs": value}))

    def firmware(self) -> str:
        """be_get_drvinfo(): the flashed version in brackets where it is another one."""
        running, flashed = self.shown.firmware, self.shown.flashed
        return f"{running} [{flashed}]" if flashed and flashed != running else running


class Siena(Driver):
    """sfc/siena: ethtool.c, ethtool_common.c, efx.c; queues of both ways share their interrupts."""

    def heed_pause(self, asked: Values) -> None:
        if asked["tx"] and not asked["rx"]:  # efx_siena_ethtool_set_pauseparam()
            raise Refused("Invalid argument")
        super().heed_pause(asked)

    def heed_rings(self, asked: Values) -> None:
        if int(asked["rx"]) > 4096 or int(asked["tx"]) > 4096 or int(asked["rx"]) < 128:
            raise Refused("Invalid argument")
        super().heed_rings(asked)

    def heed_coalescing(self, asked: Values) -> None:
        now = self.shown.coalescing["rx-usecs"]
        usecs = {word: int(asked[word]) for word in ("rx-usecs", "rx-usecs-irq", "tx-usecs", "tx-usecs-irq")}
        rx = usecs["rx-usecs"] if usecs["rx-usecs"] != now else usecs["rx-usecs-irq"]
        tx = usecs["tx-usecs"] if usecs["tx-usecs"] != now else usecs["tx-usecs-irq"]
        if tx not in (now, rx) or rx > 50331:  # efx_siena_init_irq_moderation(); 1 << 14 quanta of 3072 ns
            raise Refused("Invalid argument")
        self.shown.adaptive["adaptive-rx"] = bool(asked["adaptive-rx"])
        self.shown.coalescing |= dict.fromkeys(usecs, rx)


class Acenic(Driver):
    """acenic.c: no operation for any of them."""


DRIVERS: dict[str, type[Driver]] = {
    "e1000e": E1000e,
    "igb": Igb,
    "ixgbe": Ixgbe,
    "bnx2x": Bnx2x,
    "cxgb4": Cxgb4,
    "be2net": Be2net,
    "sfc_siena": Siena,
    "acenic": Acenic,
}


def answer(stdout: str = "", status: int = 0, stderr: str = "") -> SimpleNamespace:
    return SimpleNamespace(exit_status=status, stdout=stdout, stderr=stderr, succeeded=status == 0)


class LinuxShell:
    """A server with one port: what ``ethtool`` of this machine would say and do."""

    _SHOW = re.compile(rf"ethtool (?:--json )?-([kgcail]) {IFACE}")
    _SET = re.compile(rf"ethtool -([KGCAL]) {IFACE} (.*)")
    _BOTH = re.compile(rf"(ethtool (?:--json )?-[kgcal] {IFACE}) && echo '(@ checksum)' && (ethtool .* \| cksum)")
    _SUM = re.compile(rf"(?:LC_ALL=C )?ethtool -([kgcal]) {IFACE} \| cksum")
    _SET_AND_SHOW = re.compile(r'(.*); echo "(.*) \$\?"; (.*)')
    _UNDO = re.compile(r'(.*) \|\| test \$\? -eq 80 \|\| test "\$\((.*)\)" = (.*)')
    _FLASH = re.compile(rf"ethtool -f {IFACE} (\S+)")

    def __init__(self, driver: Driver) -> None:
        self.driver, self.card = driver, driver.card
        self.sysctls: dict[str, str] = {}
        self.files: dict[str, str] = {}
        """Firmware images: file -> version; empty for one that the card refuses."""
        self.commands: list[str] = []

    def run(self, command: str, *, timeout_s: float = 60, check: bool = False) -> Any:
        assert timeout_s > 0 and not check
        command = command.removeprefix("export LC_ALL=C; ")
        self.commands.append(command)
        undo = self._UNDO.fullmatch(command)
        if undo is None:
            return self._one(command)
        done = self._one(undo[1])
        if done.exit_status in (0, SHARED):
            return done
        return answer(status=self._one(undo[2]).stdout.strip() != undo[3].strip("'"))

    def snapshot(self) -> dict[str, Any]:
        """The port as it is once everything late has come."""
        self.driver.look("")
        return copy.deepcopy({**vars(self.driver.shown), "features": self.driver.features()})

    def _one(self, command: str) -> Any:
        if match := self._SET_AND_SHOW.fullmatch(command):
            done, shown = self._one(match[1]), self._one(match[3])
            said = f"{done.stdout}{match[2]} {done.exit_status}\n{shown.stdout}"
            return answer(said, shown.exit_status, done.stderr + shown.stderr)
        if match := self._BOTH.fullmatch(command):
            shown = self._one(match[1])
            return answer(f"{shown.stdout}{match[2]}\n{self._one(match[3]).stdout}") if shown.succeeded else shown
        if match := self._SUM.fullmatch(command):
            return answer(f"{zlib.crc32(self._shown(match[1]).stdout.encode())} 1\n")
        if match := self._SHOW.fullmatch(command):
            return self._shown(match[1])
        if match := self._SET.fullmatch(command):
            words = match[2].split()
            return self._set(match[1], dict(zip(words[::2], words[1::2], strict=True)))
        if match := self._FLASH.fullmatch(command):
            return self._flash(match[1])
        if match := re.fullmatch(r"test -f /lib/firmware/(\S+)", command):
            return answer(status=match[1] not in self.files)
        if match := re.fullmatch(r"sysctl (-n )?([a-z0-9_.]+)(?:=(.*))?", command):
            if match[3] is not None:
                self.sysctls[match[2]] = match[3].strip("'")
            return answer(self.sysctls.get(match[2], "1") + "\n")
        raise AssertionError(f"not expected: {command}")

    def _flash(self, file: str) -> Any:
        if not self.files[file]:
            return answer(status=1, stderr=f"Flashing failed: {IMAGE_REFUSED}")
        self.driver.shown.flashed = self.files[file]
        return answer()

    # --- shown

    def _shown(self, option: str) -> Any:
        names = {
            **{"k": self._features, "g": self._rings, "c": self._coalescing, "a": self._pause, "i": self._info},
            "l": self._queues,
        }
        text = names[option]()
        return (
            answer(self.driver.look(text))
            if text
            else answer(status=1, stderr="netlink error: Operation not supported")
        )

    def _rows(self) -> dict[str, str]:
        assert self.card.offloads is not None
        return {row.name.value: row.linux.word for row in self.card.offloads.table if row.linux}

    def _features(self) -> str:
        shown, found = self.driver.features(), dict[str, Any](ifname=IFACE)
        for name, word in self._rows().items():
            fixed = name in self.driver.shown.fixed
            asked = self.driver.shown.wanted.get(name, shown[name])
            found[word] = {"active": shown[name], "fixed": fixed, "requested": asked}
        return json.dumps([found])

    def _rings(self) -> str:
        now, facts = self.driver.shown.rings, self.card.rings
        if not now or facts is None:
            return ""
        most = {"rx": facts.rx, "rx-mini": facts.rx_mini, "rx-jumbo": facts.rx_jumbo, "tx": facts.tx}

        def section(sizes: Mapping[str, object]) -> str:
            labels = {"rx": "RX", "rx-mini": "RX Mini", "rx-jumbo": "RX Jumbo", "tx": "TX"}
            return "".join(f"{label}:\t\t{sizes.get(word, 'n/a')}\n" for word, label in labels.items())

        maxima = section({word: ring.max for word, ring in most.items() if ring})
        return f"Ring parameters for {IFACE}:\nPre-set maximums:\n{maxima}Current hardware settings:\n{section(now)}"

    def _coalescing(self) -> str:
        shown = self.driver.shown
        if not shown.coalescing:
            return ""
        switch = {word: {True: "on", False: "off", None: "n/a"}[shown.adaptive.get(word)] for word in ADAPTIVE}
        rows = "".join(f"{name}:\t{value}\n" for name, value in shown.coalescing.items())
        head = f"Coalesce parameters for {IFACE}:\nAdaptive RX: {switch['adaptive-rx']}  TX: {switch['adaptive-tx']}\n"
        return f"{head}{rows}sample-interval:\tn/a\n"

    def _pause(self) -> str:
        if not self.driver.shown.pause or isinstance(self.driver, Acenic):
            return ""
        on = {name: {True: "on", False: "off"}[value] for name, value in self.driver.shown.pause.items()}
        return f"Pause parameters for {IFACE}:\nAutonegotiate:\t{on['autoneg']}\nRX:\t\t{on['rx']}\nTX:\t\t{on['tx']}\n"

    def _queues(self) -> str:
        if not self.driver.MOST_QUEUES:
            return ""

        def section(number: int) -> str:
            return f"RX:\t\tn/a\nTX:\t\tn/a\nOther:\t\t1\nCombined:\t{number}\n"

        most, now = section(self.driver.MOST_QUEUES), section(self.driver.shown.queues)
        return f"Channel parameters for {IFACE}:\nPre-set maximums:\n{most}Current hardware settings:\n{now}"

    def _info(self) -> str:
        supports = "statistics test eeprom-access register-dump priv-flags"
        return (
            f"driver: {self.card.drivers.linux.module if self.card.drivers.linux else ''}\nversion: 6.1.0\n"
            f"firmware-version: {self.driver.firmware()}\nexpansion-rom-version: \nbus-info: 0000:01:00.0\n"
            + "".join(f"supports-{each}: yes\n" for each in supports.split())
        )

    # --- set

    def _set(self, option: str, words: dict[str, str]) -> Any:
        values = {word: {"on": True, "off": False}.get(value) for word, value in words.items()}
        asked = {word: int(words[word]) if on is None else on for word, on in values.items()}
        try:
            names = {"K": self._switch, "G": self._resize, "C": self._coalesce, "A": self._flow, "L": self._share}
            names[option](asked)
        except Refused as error:
            return answer(status=1, stderr=f"netlink error: {error}")
        return answer()

    def _switch(self, asked: Values) -> None:
        by_word = {}
        assert self.card.offloads is not None
        for row in self.card.offloads.table:
            if row.linux:
                by_word |= {row.linux.word: row.name.value, row.linux.set_with: row.name.value}
        for word, on in asked.items():
            name = by_word[word]
            if name in self.driver.shown.wanted:
                self.driver.shown.wanted[name] = bool(on)
        now = self.driver.features()
        if all(now[by_word[word]] is not on for word, on in asked.items()):
            raise Refused("Could not change any device features")

    def _resize(self, asked: Values) -> None:
        facts, now = self.card.rings, self.driver.shown.rings
        assert facts is not None
        for word, size in asked.items():
            ring = getattr(facts, word.replace("-", "_"))
            if size > known(ring.max, 0):  # net/ethtool/rings.c
                raise Refused("requested ring size exceeds maximum")
        self.driver.heed_rings({**now, **asked})

    def _coalesce(self, asked: Values) -> None:
        shown = self.driver.shown
        now = {**shown.coalescing, **shown.adaptive}
        if not set(asked) <= set(now):  # net/ethtool/coalesce.c
            raise Refused("cannot modify an unsupported parameter")
        self.driver.heed_coalescing({**now, **asked})

    def _flow(self, asked: Values) -> None:
        now = self.driver.shown.pause
        if not now or isinstance(self.driver, Acenic):
            raise Refused("Operation not supported")
        if {**now, **asked} != now:  # net/ethtool/pause.c
            self.driver.heed_pause({**now, **asked})

    def _share(self, asked: Values) -> None:
        if not self.driver.MOST_QUEUES:
            raise Refused("Operation not supported")
        if int(asked["combined"]) > self.driver.MOST_QUEUES:  # net/ethtool/channels.c
            raise Refused("requested channel count exceeds maximum")
        self.driver.heed_queues(int(asked["combined"]))

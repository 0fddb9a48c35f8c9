"""The kernel's selftests, and ping with iperf3, on defects that this lab declares: what each of them sees.

    python benchmarks/rivals.py --card broadcom-bcm57810 --minutes 5
    python benchmarks/rivals.py --table

Works on a virtual bench of its own and stops it again. Each tool runs on the sound card first; with a defect, it has
seen it when a case that was ``ok`` is so no more, or when a rate is below :data:`FRACTION` of the sound one, and
all is well again without the defect. Cases that fail with the sound card as well are counted in the table: they could
not see the defect. What is done is kept in ``results/rivals/``, and the next call goes on from there:
``--minutes`` says when no further tool is begun. ``--table`` writes ``docs/rivals.md``.
"""

from __future__ import annotations

import argparse
import datetime
import json
import re
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[1]
for _folder in ("tests/controls", "tests/virtual/bench", "lab/virtual", "libraries"):
    sys.path.append(str(REPOSITORY / _folder))

from declared import Declared, declared  # noqa: E402 - as above
from rival_tools import PROGRAMS, Cases, Servers  # noqa: E402

BROADCOM, EMULEX = "broadcom-bcm57810", "emulex-oce11102"
SOLARFLARE, INTEL = "solarflare-sfn5122f", "intel-82574l"
NAME = "rivals"
KEPT = REPOSITORY / "results" / "rivals"
PAGE = REPOSITORY / "docs" / "rivals.md"
FRACTION = 0.8
SOUND = "sound"
PLAIN, CSUM, PING = "plain", "csum", "ping.py"
ALWAYS = (PLAIN, PING, CSUM)
TERMINATION, MTU = "local_termination.sh", "min_max_mtu.sh"
STANDALONE, VLAN = f"{TERMINATION} standalone", f"{TERMINATION} test_vlan"


@dataclass(frozen=True)
class Pick:
    """A defect of the matrix, and how it comes about.

    ``forwarding``: selftests of ``net/forwarding`` that are about it. ``cold``: the server is to get power again.
    ``cannot``: why the selftests about it cannot run.
    """

    card: str
    defect: str
    forwarding: tuple[str, ...] = ()
    cold: bool = False
    cannot: str = ""

    @property
    def tools(self) -> tuple[str, ...]:
        return (*ALWAYS, *self.forwarding)


PICKS = (
    Pick(BROADCOM, "card:dut.p0 rx-flip=50"),
    Pick(BROADCOM, "card:dut.p0 csum-accepted=1"),
    Pick(BROADCOM, "card:dut.p0 rx-twice=50"),
    Pick(BROADCOM, "card:dut.p0 rx-reorder=20"),
    Pick(BROADCOM, "card:dut.p0 rx-uncounted=50"),
    Pick(BROADCOM, "card:dut.p0 filter-leak=3", (STANDALONE,)),
    Pick(BROADCOM, "card:dut.p0 promisc-stays=1", (STANDALONE,)),
    Pick(BROADCOM, "card:dut.p0 groups-lost=4", (STANDALONE,)),
    Pick(BROADCOM, "card:dut.p0 mac-stays=1", (STANDALONE,)),
    Pick(BROADCOM, "card:dut vlan-wrong-tag=7", (VLAN,)),
    Pick(BROADCOM, "card:dut.p0 jumbo-drop=4096", (MTU,)),
    Pick(BROADCOM, "card:dut.p0 pause-ignored=1", cannot="stats.py, which asks for counters of pause frames"),
    Pick(BROADCOM, "card:dut.p0 ring-kills-link=1"),
    Pick(BROADCOM, "card:dut link-width=4"),
    Pick(BROADCOM, "card:dut same-mac", cold=True),
    Pick(EMULEX, "card:dut feature-lie=1"),
    Pick(EMULEX, "card:dut rx-drop=1000"),
    Pick(EMULEX, "card:dut vlan-leak=1", (VLAN,)),
    Pick(SOLARFLARE, "card:dut csum-fragments=1"),
    Pick(INTEL, "cable:a.dut rate_factor=0.02"),
    Pick(INTEL, "cable:a.dut carrier_stuck", cannot="ethtool_extended_state.sh, which needs a port without a cable"),
    Pick(INTEL, "cable:b silent", cannot="drivers/net/bonding, whose links are pairs of veth"),
)
ELSEWHERE = {
    "hw/ethtool.sh, hw/ethtool_rmon.sh": "two ports of one server on one cable",
    "hw/ethtool_extended_state.sh": "two ports of one server on one cable, and one without a cable",
    "hw/ethtool_mm.sh": "a newer ethtool than Debian 12 has, and frame preemption",
    "hw/hw_stats_l3.sh, hw/hw_stats_l3_gre.sh": "a switch that routes in hardware, and four ports",
    "hw/loopback.sh": "a card with the feature loopback",
    "netcons_basic.sh": "netdevsim: it touches no card",
    "bonding/, team/, netdevsim/, virtio_net/": "veth, netdevsim or virtio: they touch no card",
}
"""Other selftests -> what they are for or want, which this bench does not have."""


@dataclass
class Record:
    """The reports of the tools on a card, sound or with a defect: tool -> its cases, and rates in Mbit/s."""

    card: str
    defect: str
    cases: dict[str, Cases] = field(default_factory=dict)
    rates: dict[str, float] = field(default_factory=dict)
    versions: dict[str, str] = field(default_factory=dict)

    @property
    def file(self) -> Path:
        return KEPT / f"{self.card}--{re.sub(r'[^a-z0-9]+', '-', self.defect)}.json"

    def keep(self) -> None:
        KEPT.mkdir(parents=True, exist_ok=True)
        self.file.write_text(json.dumps(vars(self), indent=1))


def record_of(card: str, defect: str) -> Record:
    """The results so far."""
    found = Record(card, defect)
    return Record(**json.loads(found.file.read_text())) if found.file.exists() else found


def seen(sound: Record, found: Record, tool: str) -> list[str]:
    """The cases of a tool that were ok with the sound card and are not with the defect."""
    before, after = sound.cases.get(tool, {}), found.cases.get(tool, {})
    cases = [f"{name}: {after.get(name, 'gone')}" for name, said in before.items() if name and said == "ok"]
    worse = [case for case in cases if not case.endswith(": ok")]
    if tool == PLAIN:
        slow = [name for name, rate in found.rates.items() if rate < FRACTION * sound.rates[name]]
        worse += [f"{name}: {found.rates[name]:g} of {sound.rates[name]:g} Mbit/s" for name in slow]
    return worse


def turns_red(pick: Pick, rows: Sequence[Declared]) -> list[str]:
    """The tests of this lab that a defect turns red, by the rows of the matrix."""
    return sorted({test for row in rows if (row.card, row.defect) == (pick.card, pick.defect) for test in row.red})


def wanted_tools(pick: Pick | None, picks: Sequence[Pick]) -> tuple[str, ...]:
    """The tools for a defect; without one, those that any of the picks needs, and each program."""
    if pick is not None:
        return pick.tools
    return tuple(dict.fromkeys([*(tool for each in picks for tool in each.tools), *PROGRAMS]))


class Turn:
    """Tools on one card until the time is over.

    Args:
        card: Its name.
        minutes: No tool is begun after so many.
    """

    def __init__(self, card: str, minutes: float) -> None:
        self._end = time.monotonic() + 60 * minutes
        self._picks = [pick for pick in PICKS if pick.card == card]
        self._card = card
        self._servers = Servers(NAME)

    def run(self) -> bool:
        """Bring the bench up, work, and stop it; true when nothing is left to do."""
        self._servers.vbench("up", "--card", self._card)
        try:
            self._servers = Servers(NAME)  # with the addresses of this card
            self._servers.vbench("fault", "clear")
            self._servers.prepare()
            with self._servers.tunnel():
                return self._rest(None) and all(self._rest(pick) for pick in self._picks if not pick.cold)
        finally:
            self._servers.vbench("down")

    def run_cold(self) -> bool:
        """The same for the defects that come with the power."""
        return all(self._cold(pick) for pick in self._picks if pick.cold)

    def _cold(self, pick: Pick) -> bool:
        if not self._left(pick):
            return True
        self._servers.vbench("up", "--card", self._card)
        self._inject(pick)
        self._servers.vbench("down")
        self._servers.vbench("up")
        try:
            self._servers.prepare()
            with self._servers.tunnel():
                return self._work(pick)
        finally:
            self._servers.vbench("fault", "clear")
            self._servers.vbench("down")

    def _left(self, pick: Pick | None) -> list[str]:
        done = record_of(self._card, pick.defect if pick else SOUND).cases
        return [tool for tool in wanted_tools(pick, self._picks) if tool not in done]

    def _rest(self, pick: Pick | None) -> bool:
        if not self._left(pick):
            return True
        if pick is not None:
            self._inject(pick)
        try:
            return self._work(pick)
        finally:
            self._servers.vbench("fault", "clear")

    def _inject(self, pick: Pick) -> None:
        self._servers.vbench("fault", "set", *pick.defect.split(" "))

    def _work(self, pick: Pick | None) -> bool:
        record = record_of(self._card, pick.defect if pick else SOUND)
        self._servers.connect()
        for tool in self._left(pick):
            if time.monotonic() > self._end:
                return False
            began = time.monotonic()
            record.cases[tool] = self._tool(tool, record)
            print(f"{record.defect}: {tool}: {time.monotonic() - began:.0f} s: {record.cases[tool]}", flush=True)
            if self._is_disturbed(pick, record, tool):
                print(f"{record.defect}: {tool}: fails with the sound card as well: again in the next turn", flush=True)
                return False
            record.versions = self._servers.versions()
            record.keep()
        return True

    def _is_disturbed(self, pick: Pick | None, record: Record, tool: str) -> bool:
        """Does a tool fail that should not, whatever the card? A defect that it saw is taken away for that."""
        if pick is None:
            return tool in ALWAYS and set(record.cases[tool].values()) != {"ok"}
        sound = record_of(self._card, SOUND)
        if pick.cold or not seen(sound, record, tool):
            return False
        self._servers.vbench("fault", "clear")
        self._servers.connect()
        again = Record(self._card, SOUND)
        again.cases[tool] = self._tool(tool, again)
        self._inject(pick)
        self._servers.connect()
        return bool(seen(sound, again, tool))

    def _tool(self, tool: str, record: Record) -> Cases:
        if tool == PLAIN:
            cases, record.rates = self._servers.plain()
            return cases
        if tool == CSUM:
            return self._servers.csum()
        if tool.endswith(".py"):
            return self._servers.program(tool)
        return self._servers.forwarding(*tool.split(" "))


def cell(pick: Pick, sound: Record, found: Record, tools: Sequence[str]) -> str:
    """The result of a tool, or of several, for a defect."""
    if any(tool not in found.cases or tool not in sound.cases for tool in tools):
        return "not run"
    worse = {tool: cases for tool in tools if (cases := seen(sound, found, tool))}
    if worse:
        return "caught: " + "; ".join(_shown(tool, cases) for tool, cases in worse.items())
    lacking = pick.cannot if tools != (PLAIN,) else ""
    words = ["missed", *([f"could not run: {lacking}"] if lacking else [])]
    return "; ".join([*words, *(_blind(tool, sound.cases[tool]) for tool in tools if _failing(sound.cases[tool]))])


def _failing(cases: Cases) -> list[str]:
    """The cases that a tool itself calls failed; those that it expects to fail, or skips, are none."""
    return [name for name, said in cases.items() if said.startswith("fail")]


def _blind(tool: str, cases: Cases) -> str:
    """Say that some cases of a tool could not have seen the defect."""
    return f"`{tool}`: {len(_failing(cases))} of {len(cases)} cases fail with the sound card as well"


def _shown(tool: str, cases: Sequence[str]) -> str:
    more = f" and {len(cases) - 2} more" if len(cases) > 3 else ""
    named = ", ".join(cases[: 2 if more else 3])
    return f"{named}{more}" if tool == PLAIN else f"`{tool}` {named}{more}"


def lines(rows: Sequence[Declared]) -> Iterator[str]:
    """The table."""
    yield "| defect | card | niclab: turns red | selftests | ping and iperf3 |"
    yield "| --- | --- | --- | --- | --- |"
    for pick in PICKS:
        sound, found = record_of(pick.card, SOUND), record_of(pick.card, pick.defect)
        first, *more = turns_red(pick, rows)
        red = f"{first} and {len(more)} more" if more else first
        theirs = cell(pick, sound, found, pick.tools[1:])
        yield f"| `{pick.defect}` | {pick.card} | caught: {red} | {theirs} | {cell(pick, sound, found, (PLAIN,))} |"


def not_run(records: Sequence[Record]) -> Iterator[str]:
    """The selftests that could not run, and why: as they said themselves, then as their topology says."""
    said: dict[str, str] = {}
    for record in records:
        for tool, cases in record.cases.items():
            if "ok" not in cases.values():
                said.setdefault(tool, cases.get("", ", ".join(sorted(set(cases.values())))))
    yield from (f"| `{tool}` | {reason} |" for tool, reason in said.items())
    yield from (f"| `{names}` | wants or is for {what} |" for names, what in ELSEWHERE.items())


def page(rows: Sequence[Declared], text: str) -> str:
    """``docs/rivals.md``: what is before the marker is written by hand and stays."""
    head = text.partition(MARKER)[0]
    sounds = [record_of(card, SOUND) for card in dict.fromkeys(pick.card for pick in PICKS)]
    versions: Mapping[str, str] = next((record.versions for record in sounds if record.versions), {})
    today = datetime.datetime.now(tz=datetime.UTC).date()
    about = f"Written by `python benchmarks/rivals.py --table` on {today}, of: "
    about += "; ".join(f"{name} {version}" for name, version in versions.items()) + "."
    parts = [f"{head}{MARKER}", "", about, "", *lines(rows), "", "## Selftests that could not run", ""]
    parts += ["| selftest | reason |", "| --- | --- |", *not_run(sounds), ""]
    return "\n".join(parts)


MARKER = "<!-- all below is generated -->"


def main(arguments: Sequence[str] | None = None) -> int:
    """Work for a turn, or write the page; 0 when nothing is left to do."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--card", choices=sorted({pick.card for pick in PICKS}), help="the card of this turn")
    parser.add_argument("--minutes", type=float, default=600.0, help="begin no tool after so many")
    parser.add_argument("--table", action="store_true", help="only write docs/rivals.md, and print the table")
    options = parser.parse_args(arguments)
    rows = declared()
    complete = True
    if not options.table:
        cards = [options.card] if options.card else dict.fromkeys(pick.card for pick in PICKS)
        turns = [Turn(card, options.minutes) for card in cards]
        complete = all(turn.run() and turn.run_cold() for turn in turns)
    PAGE.write_text(page(rows, PAGE.read_text()))
    print("\n".join(lines(rows)))
    return 0 if complete else 1


if __name__ == "__main__":
    sys.exit(main())

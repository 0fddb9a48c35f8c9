"""The comparison with other tools: its defects are those of the matrix, and what the tools print is read as meant."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).resolve().parents[2]
for _folder in ("bench", "tests/controls"):
    sys.path.append(str(REPOSITORY / _folder))

import rivals  # noqa: E402 - found by the path set above
from declared import declared  # noqa: E402
from rival_tools import read_ktap, read_ping, read_shell  # noqa: E402

PINGED = "100 packets transmitted, {} received, 0% packet loss, time 5000ms\n"


def test_every_defect_is_one_of_the_matrix() -> None:
    rows = declared()
    assert [pick for pick in rivals.PICKS if not rivals.turns_red(pick, rows)] == []
    assert len({(pick.card, pick.defect) for pick in rivals.PICKS}) == len(rivals.PICKS)


def test_cases_of_a_selftest_in_python_are_read() -> None:
    text = "KTAP version 1\n1..3\nok 1 ping.test_v4\nnot ok 2 ping.test_v6\nok 3 ping.test_tcp # SKIP no socat\n"
    assert read_ktap(text) == {
        "ping.test_v4": "ok",
        "ping.test_v6": "failed",
        "ping.test_tcp": "skip: no socat",
    }


def test_a_selftest_of_which_nothing_is_ok_says_why() -> None:
    text = "not ok 1 csum.ipv4\n# Exception| Traceback\n# Exception| AttributeError: no such\n# Totals: pass:0\n"
    assert read_ktap(text) == {"csum.ipv4": "failed", "": "AttributeError: no such"}
    assert read_ktap("Traceback\nException: Family 'netdev' not supported\n") == {
        "": "Exception: Family 'netdev' not supported"
    }
    assert read_ktap("devlink output is empty, test skipped\n") == {"": "devlink output is empty, test skipped"}
    assert read_ktap("") == {"": "it said nothing"}


def test_cases_of_a_selftest_in_shell_are_read() -> None:
    text = "TEST: eth0: Unicast IPv4 to own address               [ OK ]\nTEST: eth0: Multicast   [FAIL]\n\tno\n"
    assert read_shell(text) == {"eth0: Unicast IPv4 to own address": "ok", "eth0: Multicast": "fail"}
    assert read_shell("SKIP: mausezahn not installed\n") == {"": "mausezahn not installed"}


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (PINGED.format(100), "ok"),
        (PINGED.format(98), "98 of 100 pings answered, 0 twice, 0 damaged"),
        (f"1408 bytes: icmp_seq=3 (DUP!)\n{PINGED.format(100)}", "100 of 100 pings answered, 1 twice, 0 damaged"),
        (f"wrong data byte #9 should be 0x9\n{PINGED.format(100)}", "100 of 100 pings answered, 0 twice, 1 damaged"),
        ("ping: connect: Network is unreachable\n", "ping: connect: Network is unreachable"),
    ],
)
def test_pings_must_be_answered_once_with_their_data(text: str, said: str) -> None:
    assert read_ping(text) == said


def test_a_defect_is_seen_where_the_sound_card_was_well() -> None:
    tools = {"csum": {"rx": "ok", "tx": "failed", "": "x"}, "plain": {"ping over cable a": "ok"}}
    sound = rivals.Record("card", "sound", tools, {"iperf3 out": 100.0})
    same = rivals.Record("card", "defect", tools, {"iperf3 out": 81.0})
    assert rivals.seen(sound, same, "csum") == rivals.seen(sound, same, "plain") == []
    worse = rivals.Record("card", "defect", {"csum": {"rx": "failed"}, "plain": {}}, {"iperf3 out": 79.0})
    assert rivals.seen(sound, worse, "csum") == ["rx: failed"]
    assert rivals.seen(sound, worse, "plain") == ["ping over cable a: gone", "iperf3 out: 79 of 100 Mbit/s"]


def test_a_tool_that_has_not_run_has_missed_nothing() -> None:
    pick = rivals.Pick("card", "defect", cannot="a test of veth")
    sound = rivals.Record("card", "sound", {"csum": {"rx": "ok"}})
    assert rivals.cell(pick, sound, rivals.Record("card", "defect"), ("csum",)) == "not run"
    done = rivals.Record("card", "defect", {"csum": {"rx": "ok"}})
    assert rivals.cell(pick, sound, done, ("csum",)) == "missed; could not run: a test of veth"
    seen = rivals.Record("card", "defect", {"csum": {"rx": "failed"}})
    assert rivals.cell(pick, sound, seen, ("csum",)) == "caught: `csum` rx: failed"


def test_cases_that_fail_with_the_sound_card_are_not_held_against_a_tool() -> None:
    pick = rivals.Pick("card", "defect")
    cases = {"tagged": "fail", "plain": "ok", "group": "xfail"}
    sound, found = (rivals.Record("card", name, {"vlan.sh": cases}) for name in (rivals.SOUND, "defect"))
    said = "missed; `vlan.sh`: 1 of 3 cases fail with the sound card as well"
    assert rivals.cell(pick, sound, found, ("vlan.sh",)) == said

"""Predictions and likelihoods: the Toeplitz hash, chi-square, and the verdicts on flows by queue."""

from __future__ import annotations

import math
import random
from collections import Counter

import pytest

from niclab.core.verdict import BenchFault, CardFailure, NotApplicable, Undecided
from niclab.frames.queues.chi_square import chi_square, chi_square_upper_tail
from niclab.frames.queues.flow_agents import Came, link_local
from niclab.frames.queues.flow_content import ports_of
from niclab.frames.queues.spread import CHANCE, Findings, flows_for
from niclab.frames.queues.toeplitz import hash_input, predicted_queue, toeplitz
from niclab.hosts.errors import ReadError
from niclab.hosts.steering.hash_records import ADDRESSES, PORTS

KEY = bytes.fromhex("6d5a56da255b0ec24167253d43a38fb0d0ca2bcbae7b30b477cb2da38030f20c6a42b73bbeac01fa")
VECTORS = [
    ("66.9.149.187", 2794, "161.142.100.80", 1766, 0x323E8FC2, 0x51CCC178),
    ("199.92.111.2", 14230, "65.69.140.83", 4739, 0xD718262A, 0xC626B0EA),
    ("24.19.198.95", 12898, "12.22.207.184", 38024, 0xD2D0A5DE, 0x5C2B394A),
    ("38.27.205.30", 48228, "209.142.163.6", 2217, 0x82989176, 0xAFC7327F),
    ("153.39.163.191", 44251, "202.188.127.2", 1303, 0x5D1809C5, 0x10E828A2),
    ("3ffe:2501:200:1fff::7", 2794, "3ffe:2501:200:3::1", 1766, 0x2CC18CD5, 0x40207D3D),
    ("3ffe:501:8::260:97ff:fe40:efab", 14230, "ff02::1", 4739, 0x0F0C461C, 0xDDE51BBF),
    ("3ffe:1900:4545:3:200:f8ff:fe21:67cf", 44251, "fe80::200:f8ff:fe21:67cf", 38024, 0x4B61E985, 0x02D1FEEF),
]
"""Microsoft, "Verifying the RSS Hash Calculation": source, destination, hash of the addresses, and with the ports."""
FOUR = dict.fromkeys(range(4), 0.25)


@pytest.mark.parametrize(("source", "source_port", "to", "port", "of_addresses", "of_ports"), VECTORS)
def test_the_hash_is_that_of_the_specification(
    source: str, source_port: int, to: str, port: int, of_addresses: int, of_ports: int
) -> None:
    addresses, ports = (source, to), (source_port, port)
    assert toeplitz(KEY, hash_input(ADDRESSES, addresses, ports)) == of_addresses
    assert toeplitz(KEY, hash_input(ADDRESSES | PORTS, addresses, ports)) == of_ports


def test_lowest_bits_choose_the_entry() -> None:
    data = hash_input(ADDRESSES | PORTS, ("66.9.149.187", "161.142.100.80"), (2794, 1766))
    assert predicted_queue(KEY, list(range(128)), data) == 0x78
    assert predicted_queue(KEY, list(range(16)), data) == 0x8


def test_a_key_that_is_too_short_is_an_error() -> None:
    with pytest.raises(ValueError, match="key of 15 bytes for 12 bytes; expected at least 16"):
        toeplitz(KEY[:15], bytes(12))


@pytest.mark.parametrize(
    ("value", "df", "chance"),
    [(3.841, 1, 0.05), (5.991, 2, 0.05), (7.815, 3, 0.05), (24.996, 15, 0.05), (37.697, 15, 0.001), (30.665, 3, 1e-6)],
)
def test_the_tail_is_that_of_the_tables(value: float, df: int, chance: float) -> None:
    assert chi_square_upper_tail(value, df) == pytest.approx(chance, rel=2e-3)


def test_the_tail_is_a_probability() -> None:
    assert chi_square_upper_tail(0, 3) == 1.0
    assert 0 < chi_square_upper_tail(1e3, 63) < 1e-100
    for value, df in ((1.0, 0), (-1.0, 3), (math.nan, 3)):
        with pytest.raises(ValueError, match="expected at least 0, and at least 1"):
            chi_square_upper_tail(value, df)


def test_the_tail_is_what_draws_find() -> None:
    """About a twentieth of 4000 draws of 1024 flows over four queues is beyond the value of a twentieth."""
    noise, beyond = random.Random(7), 0
    for _ in range(4000):
        counts = Counter(noise.choices(range(4), k=1024))
        beyond += chi_square_upper_tail(chi_square(counts, FOUR), 3) < 0.05
    assert 150 < beyond < 250


def came(*counts: int) -> Came:
    queues = [queue for queue, count in enumerate(counts) for _ in range(count)]
    return Came(queues=dict(enumerate(queues)))


def spread(
    found: Came, shares: dict[int, float] | None = None, *, count: int = 1024, by_ports: bool = True
) -> Findings:
    findings = Findings()
    findings.judge_spread("dut.p0: tcp4", found, count, shares or FOUR, by_ports=by_ports)
    return findings


@pytest.mark.parametrize("counts", [(256, 256, 256, 256), (290, 230, 260, 244), (224, 300, 250, 250)])
def test_chance_is_no_defect(counts: tuple[int, ...]) -> None:
    spread(came(*counts)).end()


@pytest.mark.parametrize("counts", [(410, 204, 205, 205), (1024,), (0, 340, 342, 342), (340, 200, 284, 200)])
def test_an_uneven_spread_is_red(counts: tuple[int, ...]) -> None:
    with pytest.raises(CardFailure, match="came unevenly, queue 0: "):
        spread(came(*counts)).end()


def test_parts_of_the_table_are_what_is_expected() -> None:
    weights = {0: 0.75, 2: 0.25}
    spread(came(760, 0, 264), weights).end()
    with pytest.raises(CardFailure, match="queue 0: 512, queue 2: 512; expected queue 0: 768, queue 2: 256"):
        spread(came(512, 0, 512), weights).end()
    with pytest.raises(CardFailure, match="flows came by other queues, queue 1: 4; the table has queues 0, 2"):
        spread(came(760, 4, 260), weights).end()


def test_a_queue_of_many_that_is_empty_is_red() -> None:
    """Chi-square alone does not find one of 64: its part is small."""
    shares = dict.fromkeys(range(64), 1 / 64)
    counts = [0] + [32] * 63
    assert chi_square_upper_tail(chi_square(dict(enumerate(counts)), shares), 63) > CHANCE
    with pytest.raises(CardFailure, match="queue 0: 0, queue 1: 32"):
        spread(came(*counts), shares, count=2048).end()


def test_queues_that_are_empty_where_most_flows_were_lost_decide_nothing() -> None:
    """Sixteen of 512 came, and left two of eight queues without any by chance."""
    with pytest.raises(Undecided, match="496 of 512 flows never came"):
        spread(came(3, 2, 4, 0, 1, 3, 3, 0), dict.fromkeys(range(8), 1 / 8), count=512).end()


def test_flows_that_are_not_hashed_by_ports_may_share_a_queue() -> None:
    spread(came(1024), by_ports=False).end()
    with pytest.raises(CardFailure, match="by other queues, queue 4: 1024"):
        spread(came(0, 0, 0, 0, 1024), by_ports=False).end()


def test_few_flows_that_never_come_decide_nothing() -> None:
    with pytest.raises(Undecided, match="2 of 1024 flows never came"):
        spread(came(256, 256, 255, 255)).end()
    with pytest.raises(Undecided, match="no flow of 1024 came by a queue of the table"):
        spread(Came()).end()


def test_a_problem_of_the_card_comes_before_what_is_undecided() -> None:
    findings = spread(came(256, 256, 255, 255))
    findings.judge_steered("dut.p0: table of queue 1", came(8, 1016), 1024, 1)
    with pytest.raises(CardFailure) as caught:
        findings.end()
    assert str(caught.value).splitlines()[0].endswith("flows came by other queues, queue 0: 8; expected all by 1")
    assert "never came" in str(caught.value)


@pytest.mark.parametrize(
    "later", [CardFailure("table did not come back"), BenchFault("ssh died"), Undecided("it slept")]
)
def test_a_later_error_replaces_no_finding(later: Exception) -> None:
    """A failure of its own might be waived, and a fault of the bench is no verdict: what was found before is both."""
    with pytest.raises(CardFailure, match="flows came by other queues, queue 0: 8") as caught, Findings() as findings:
        findings.judge_steered("dut.p0: table of queue 1", came(8, 1016), 1024, 1)
        raise later
    assert str(later) in "\n".join([str(caught.value), *getattr(caught.value, "__notes__", [])])


def test_an_end_amid_the_check_is_said_once() -> None:
    with pytest.raises(CardFailure) as caught, Findings() as findings:
        findings.judge_steered("dut.p0: table of queue 1", came(8, 1016), 1024, 1)
        findings.end()
    assert str(caught.value).count("flows came by other queues") == 1


@pytest.mark.parametrize("later", [BenchFault("ssh died"), NotApplicable("one queue")])
def test_without_findings_an_error_is_itself(later: Exception) -> None:
    with pytest.raises(type(later), match=str(later)), Findings():
        raise later


@pytest.mark.parametrize(("missing", "verdict"), [(0, None), (1, Undecided), (64, Undecided), (65, CardFailure)])
def test_a_queue_that_loses_more_than_a_part_is_red(missing: int, verdict: type[Exception] | None) -> None:
    findings = Findings()
    findings.judge_steered("dut.p0: table of queue 1", came(0, 1024 - missing), 1024, 1)
    if verdict is None:
        findings.end()
    else:
        with pytest.raises(verdict, match=f"{missing} of 1024 flows never came"):
            findings.end()


@pytest.mark.parametrize(
    ("entries", "queues", "flows"), [(128, 4, 512), (64, 4, 512), (512, 16, 2048), (128, 63, 2016), (2048, 64, 4096)]
)
def test_larger_tables_get_more_flows(entries: int, queues: int, flows: int) -> None:
    assert flows_for(entries, queues) == flows


def test_ports_of_flows_are_different_and_follow_from_the_seed() -> None:
    found = ports_of(7, 4096)
    assert len(set(found)) == 4096 and found[:100] == ports_of(7, 100) and found != ports_of(8, 4096)
    assert min(min(pair) for pair in found) > 0 and max(max(pair) for pair in found) < 1 << 16


def test_link_local_addresses_follow_from_the_mac() -> None:
    assert link_local("52:54:00:12:34:56") == "fe80::5054:ff:fe12:3456"


def said(**changes: object) -> dict[str, object]:
    return {"came": {"0": 1, "1": 4, "2": 0}, "moved": [], "others": 7, "dropped": 0} | changes


def test_what_the_program_says_is_added_up() -> None:
    found = Came()
    found.add(said(), "dut")
    found.add(said(came={"1": 3, "5": 2}, moved=[9]), "dut")
    assert (found.queues, found.unnoted, found.moved, found.others) == ({0: 0, 1: 3, 5: 1}, {2}, {1, 9}, 14)
    assert found.flows == 4


def test_frames_without_room_are_a_fault_of_the_tool() -> None:
    with pytest.raises(BenchFault, match="dut: the flow program had no room for 5 frames"):
        Came().add(said(dropped=5), "dut")


@pytest.mark.parametrize("words", [{}, said(came=[]), said(came={"a": 1}), said(others="many")])
def test_other_words_of_the_program_are_refused(words: dict[str, object]) -> None:
    with pytest.raises(ReadError, match="expected came, moved, others, dropped"):
        Came().add(words, "dut")


def test_flows_of_an_unknown_queue_are_blamed_on_none() -> None:
    found = came(256, 256, 256)
    found.unnoted = set(range(768, 1024))
    with pytest.raises(Undecided, match="noted no queue for 256 of 1024 packets"):
        spread(found).end()
    found.unnoted = set(range(768, 868))
    with pytest.raises(CardFailure, match=r"868 of 1024 flows came unevenly, .* queue 3: 0; expected"):
        spread(found).end()

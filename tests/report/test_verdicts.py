"""One status and message of Robot Framework, one verdict."""

from __future__ import annotations

import time

import pytest

from niclab.core.verdict import BenchFault
from niclab.report.verdicts import Verdict, classify, first_line, plain_text

FAILURES = [
    ("CardFailure: x4; expected x8", Verdict.CARD_FAILURE),
    ("CardFailure", Verdict.CARD_FAILURE),
    ("BenchFault: BMC silent", Verdict.BENCH_FAULT),
    ("ConnectionLost: dut: gone", Verdict.BENCH_FAULT),
    ("Undecided: 940 +- 80", Verdict.UNDECIDED),
    ("NotApplicable: raised where a skip is not possible", Verdict.BENCH_FAULT),
    ("No keyword with name 'X' found.", Verdict.BENCH_FAULT),
    ("1 != 2", Verdict.BENCH_FAULT),
    ("", Verdict.BENCH_FAULT),
    ("CardFailures: two of them", Verdict.BENCH_FAULT),
    # A name that stands elsewhere than at the beginning of a part is a quotation.
    ("BenchFault: dut said 'CardFailure: no'", Verdict.BENCH_FAULT),
    ("BenchFault: dut said:\nCardFailure: no", Verdict.BENCH_FAULT),
    ("Expected error 'x' but got 'CardFailure: y'.", Verdict.BENCH_FAULT),
    # Headings of fixtures.
    ("Setup failed:\nCardFailure: a", Verdict.CARD_FAILURE),
    ("Teardown failed:\nBenchFault: a", Verdict.BENCH_FAULT),
    ("Parent suite setup failed:\nCardFailure: a", Verdict.CARD_FAILURE),
    ("Parent suite setup failed:\nUndecided: a", Verdict.UNDECIDED),
    ("Parent suite teardown failed:\nBenchFault: a", Verdict.BENCH_FAULT),
    ("Keyword teardown failed:\nCardFailure: a", Verdict.CARD_FAILURE),
    ("BenchFault: a\n\nAlso teardown failed:\nCardFailure: b", Verdict.CARD_FAILURE),
    ("CardFailure: a\n\nAlso teardown failed:\nBenchFault: b", Verdict.CARD_FAILURE),
    ("Undecided: a\n\nAlso parent suite teardown failed:\nBenchFault: b", Verdict.BENCH_FAULT),
    ("NotApplicable: a\n\nAlso teardown failed:\nBenchFault: b", Verdict.BENCH_FAULT),
    # Several failures.
    ("Several failures occurred:\n\n1) BenchFault: a\n\n2) CardFailure: b", Verdict.CARD_FAILURE),
    ("Several failures occurred:\n\n1) Undecided: a\n\n2) Undecided: b", Verdict.UNDECIDED),
    ("Several failures occurred:\n\n1) Undecided: a\n\n2) 1 != 2", Verdict.BENCH_FAULT),
    ("Setup failed:\nSeveral failures occurred:\n\n1) Undecided: a\n\n2) CardFailure: b", Verdict.CARD_FAILURE),
    ("Keyword 'Look' failed after retrying 3 times. The last error was: CardFailure: a", Verdict.CARD_FAILURE),
    ("Keyword 'Look' failed after retrying 3 times. The last error was: BenchFault: a", Verdict.BENCH_FAULT),
    # Markup.
    ("*HTML* CardFailure: <b>x4</b>", Verdict.CARD_FAILURE),
    ("*HTML* <b>CardFailure</b>: x4", Verdict.CARD_FAILURE),
    (
        "*HTML* Several failures occurred:\n\n1) BenchFault: a &lt;b&gt;\n\n2) CardFailure: <i>b</i>",
        Verdict.CARD_FAILURE,
    ),
    ("*HTML* BenchFault: <i>CardFailure: quoted</i>", Verdict.BENCH_FAULT),
]

SKIPS = [
    ("NotApplicable: no switch", Verdict.NOT_APPLICABLE),
    ("the bench has no switch", Verdict.NOT_APPLICABLE),
    ("Skipped in parent suite setup:\nNotApplicable: no switch", Verdict.NOT_APPLICABLE),
    ("Skipped in teardown:\nNotApplicable: no switch", Verdict.NOT_APPLICABLE),
    ("Skipped in teardown:\nNotApplicable: a\n\nEarlier message:\nNotApplicable: b", Verdict.NOT_APPLICABLE),
    # A skip without a reason answers nothing.
    ("", Verdict.UNDECIDED),
    ("NotApplicable", Verdict.UNDECIDED),
    ("Test skipped using 'slow' tag.", Verdict.UNDECIDED),
    ("Test skipped using 'robot:skip' tag.", Verdict.UNDECIDED),
    ("Test skipped using 'a*' and 'b*' tag patterns.", Verdict.UNDECIDED),
    # A skip that hides a failure is the failure.
    (
        "Failed test skipped using 'robot:skip-on-failure' tag.\n\nOriginal failure:\nCardFailure: x4",
        Verdict.CARD_FAILURE,
    ),
    ("Failed test skipped using 'x' tag.\n\nOriginal failure:\n1 != 2", Verdict.BENCH_FAULT),
    ("Skipped in teardown:\nNotApplicable: a\n\nEarlier message:\nCardFailure: b", Verdict.CARD_FAILURE),
    ("NotApplicable: a\n\nAlso failure occurred:\nCardFailure: b", Verdict.CARD_FAILURE),
    ("NotApplicable: a\n\nAlso failures occurred:\n\n1) BenchFault: b\n\n2) CardFailure: c", Verdict.CARD_FAILURE),
    ("NotApplicable: a\n\nAlso parent suite teardown failed:\nBenchFault: b", Verdict.BENCH_FAULT),
    ("NotApplicable: a\n\nAlso teardown failed:\nUndecided: b", Verdict.UNDECIDED),
]


@pytest.mark.parametrize(("message", "verdict"), FAILURES)
def test_failed_test(message: str, verdict: Verdict) -> None:
    assert classify("FAIL", message) is verdict


@pytest.mark.parametrize(("message", "verdict"), SKIPS)
def test_skipped_test(message: str, verdict: Verdict) -> None:
    assert classify("SKIP", message) is verdict


@pytest.mark.parametrize("message", ["", "CardFailure: caught and told on purpose"])
def test_passed_test_is_a_pass_whatever_it_says(message: str) -> None:
    assert classify("PASS", message) is Verdict.PASS


@pytest.mark.parametrize("status", ["NOT RUN", "NOT SET"])
def test_test_without_an_answer_is_never_good(status: str) -> None:
    assert classify(status, "") is Verdict.BENCH_FAULT


@pytest.mark.parametrize("status", ["", "pass", "OK"])
def test_unknown_status_is_an_error(status: str) -> None:
    with pytest.raises(BenchFault, match="expected PASS, FAIL, SKIP"):
        classify(status, "")


@pytest.mark.parametrize(
    ("message", "said"),
    [
        ("CardFailure: a\nb", "CardFailure: a"),
        ("Parent suite setup failed:\nBenchFault: a\nb", "BenchFault: a"),
        (
            "Parent suite setup failed:\nSeveral failures occurred:\n\n1) BenchFault: a\n\n2) Undecided: b",
            "BenchFault: a",
        ),
        ("Skipped in suite setup:\nSheetSilent: a", "SheetSilent: a"),
        ("Setup failed:\n", "Setup failed:"),
        ("", ""),
    ],
)
def test_the_first_line_says_what_failed(message: str, said: str) -> None:
    assert first_line(message) == said


def test_markup_is_taken_out_of_html_messages_only() -> None:
    assert plain_text("*HTML* a &lt;b&gt;<br>c <b>d</b>") == "a <b>\nc d"
    assert plain_text("dut.<eth0> & more") == "dut.<eth0> & more"


NESTED = "Keyword 'A' failed after retrying 3 times. The last error was: "


@pytest.mark.parametrize(
    ("message", "verdict"),
    [
        (NESTED * 3 + "CardFailure: a", Verdict.CARD_FAILURE),
        (NESTED + f"BenchFault: it said {NESTED}CardFailure: a", Verdict.BENCH_FAULT),
        (NESTED + f"BenchFault: it said ' failed after retrying x{NESTED}CardFailure: a", Verdict.BENCH_FAULT),
    ],
)
def test_only_headings_at_the_beginning_are_taken_off(message: str, verdict: Verdict) -> None:
    assert classify("FAIL", message) is verdict


@pytest.mark.parametrize(
    "text",
    [
        "Keyword '" * 20_000,
        "Keyword '" + "' failed after retrying " * 8_000,
        NESTED * 4_000,
        "Keyword 'x' failed after retrying " + ". The last error was:" * 10_000,
        "*HTML*" + "<" * 200_000,
        "*HTML*" + "<br " * 50_000,
        "1) " * 60_000,
        "\n\n" * 100_000,
        "skipped in suite setup:\n" * 8_000,
    ],
)
def test_a_long_message_takes_no_long_time(text: str) -> None:
    begin = time.process_time()
    assert classify("FAIL", text) is Verdict.BENCH_FAULT
    assert time.process_time() - begin < 1

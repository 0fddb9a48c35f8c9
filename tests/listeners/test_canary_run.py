"""Canaries: a run at TRACE level whose secrets are unique strings; no file of it, and no output, holds one."""

from __future__ import annotations

import base64
import html
import io
import json
from pathlib import Path
from urllib.parse import quote, quote_plus

import pytest
from fake_bench import FakeBench
from fake_switch import FakeSwitch
from robot.api import ExecutionResult
from robot.run import run as robot  # type: ignore[import-untyped]  # the package has no marker

from niclab.bench.records import Role
from niclab.core.verdict import BenchFault
from niclab.files.mask import MASKED

LIBRARIES = Path(__file__).resolve().parents[2] / "libraries"
CANARIES = {
    "BMC_PASSWORD": "canary-bmc-7f3a",
    "CONSOLE_PASSWORD": "canary/console?9c 1e&<x>",
    "SWITCH_READ": "canary'snmp\"b2\\d4",
    "SWITCH_WRITE": "canärył€5e",
}

GOSSIP = '''
import base64, logging, sys
from urllib.parse import quote
from robot.api import logger
from niclab.core.undo import Action, ActionKind
from niclab.core.verdict import BenchFault
from niclab.run.run import current
import log_report

class Gossip:
    """Says every secret in every way that Robot Framework has."""

    def get_word(self, name):
        return current().secrets.get(name)

    def repeat(self, word):
        data = word.encode()
        for said in (word, repr(word), quote(word, safe=""), base64.b64encode(data).decode(), {"key": word}):
            logger.trace(said), logger.info(f"info {said}"), logger.warn(f"warn {said}"), logger.error(said)
            logger.info(f"<b>{said}</b>", html=True)
            logger.info(f"both {said}", also_console=True)
            log_report.reporter().progress(f"console {said}")
            print(f"print {said}"), print(f"stderr {said}", file=sys.stderr)
            logging.getLogger("somebody").debug("python logging %s", said)
        return [word]

    def leave_behind_what_cannot_be_undone(self):
        current().journal.register("dut", "gossips", Action(ActionKind.SHELL, "dut", "gossip"))

    def fail_with(self, word):
        raise BenchFault(f"dut console: said {word!r}, {base64.b64encode(b'admin:' + word.encode()).decode()}")
'''

SUITE = """*** Settings ***
Library           {libraries}/Bench.py
Library           {libraries}/Bmc.py
Library           {libraries}/HostLinks.py
Library           {gossip}
Suite Setup       Acquire Bench    {bench}    {card}
Suite Teardown    Run Keywords    Release Bench    AND    Fail With    ${{WORDS}}[0]

*** Test Cases ***
The Bench Works
    Ready The Bench
    BMC Should Report Power    dut    ON
    Every Link Should Be Up
    Leave Behind What Cannot Be Undone
Words Are Repeated
    VAR    @{{WORDS}}    @{{EMPTY}}    scope=SUITE
    FOR    ${{name}}    IN    {names}
        ${{word}} =    Get Word    ${{name}}
        Repeat    ${{word}}
        VAR    @{{WORDS}}    @{{WORDS}}    ${{word}}    scope=SUITE
    END
{failing}
"""


def forms(secret: str) -> set[bytes]:
    """The secret as programs write it."""
    data = secret.encode()
    texts = {secret, json.dumps(secret)[1:-1], json.dumps(secret, ensure_ascii=False)[1:-1], html.escape(secret)}
    texts |= {html.escape(secret, quote=False), quote(secret, safe=""), quote(secret), quote_plus(secret)}
    texts |= {repr(secret)[1:-1], repr(data)[2:-1], base64.b64encode(data).decode()}
    texts |= {base64.b64encode(b"admin:" + data).decode()}
    return {text.encode() for text in texts}


def found_in(content: bytes) -> list[str]:
    return [name for name, secret in CANARIES.items() if any(form in content for form in forms(secret))]


@pytest.fixture
def gossiping(bench: FakeBench, switch: FakeSwitch) -> FakeBench:
    """A bench with a switch whose secrets are canaries, and whose servers answer with them."""
    assert switch
    secrets = bench.home / ".local/state/niclab/vbench/virtual/secrets.env"
    secrets.write_text("".join(f"{name}={value}\n" for name, value in CANARIES.items()))
    for role in Role:
        bench.ssh[role].replies |= dict.fromkeys(("dmesg", "ip -s", "lspci -vv"), "\n".join(CANARIES.values()))
        fault = BenchFault("; ".join(CANARIES.values()))
        bench.ssh[role].replies |= {"cat /proc/interrupts": fault, "gossip": fault}
        bench.consoles[role].text = "\n".join(CANARIES.values())
    return bench


@pytest.mark.parametrize("listener", [False, True], ids=["the library alone", "also on the command line"])
def test_no_file_of_a_run_and_no_output_holds_a_secret(
    gossiping: FakeBench, capfd: pytest.CaptureFixture[str], listener: bool
) -> None:
    out, said = gossiping.folder / "out", (io.StringIO(), io.StringIO())
    (gossiping.folder / "Gossip.py").write_text(GOSSIP)
    suite = gossiping.folder / "toy.robot"
    suite.write_text(
        SUITE.format(
            libraries=LIBRARIES,
            gossip=gossiping.folder / "Gossip.py",
            bench=gossiping.file,
            card=gossiping.sheet,
            names="    ".join(CANARIES),
            failing="".join(f"Test {n}\n    Fail With    ${{WORDS}}[{n}]\n" for n in range(len(CANARIES))),
        )
    )
    masking = [str(LIBRARIES / "listeners" / "MessageMasking.py")] if listener else []
    allure = f"{LIBRARIES / 'listeners' / 'AllureResults.py'}:{out / 'allure-results'}"
    status = robot(
        str(suite), outputdir=str(out), loglevel="TRACE", listener=[*masking, allure], debugfile="debug.txt",
        xunit="xunit.xml", stdout=said[0], stderr=said[1],
    )  # fmt: skip
    messages = {test.name: test.message for test in ExecutionResult(out / "output.xml").suite.all_tests}
    assert status == len(messages) == 2 + len(CANARIES), messages  # the teardown fails them all
    assert f"BenchFault: dut console: said '{MASKED}'" in messages["Test 0"], messages
    printed = "".join([*(stream.getvalue() for stream in said), *capfd.readouterr()])
    assert MASKED in printed and "console" in printed
    assert found_in(printed.encode()) == [] and "canary" not in printed
    files = [path for path in gossiping.folder.rglob("*") if path.is_file() and path.name != "secrets.env"]
    names = {path.name for path in files}
    assert names >= {"output.xml", "log.html", "report.html", "xunit.xml", "debug.txt", "commands-dut.jsonl"}
    assert any(path.name.endswith("-result.json") for path in files)
    for path in files:
        assert found_in(path.read_bytes()) == [], path
    (journal,) = [path for path in files if path.name == "virtual.jsonl"]
    assert f"BenchFault: {MASKED}; {MASKED}" in journal.read_text()
    assert MASKED in (out / "log.html").read_text() and MASKED in (out / "debug.txt").read_text()

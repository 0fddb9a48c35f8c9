"""Canaries: secrets of unique strings go everywhere that a run writes, and no artefact holds one in any form."""

from __future__ import annotations

import base64
import html
import json
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote, quote_plus

import pytest

from niclab.files.mask import MASKED, MessageMask
from niclab.files.secrets import Secrets
from niclab.report.evidence.evidence import CommandLog, EvidenceStore
from niclab.report.evidence.runfolder import finish_run, new_run
from niclab.transports.console.console_log import ConsoleLog

CANARIES = {
    "BMC_PASSWORD": "canary-bmc-7f3a",
    "CONSOLE_PASSWORD": "canary/console?9c 1e&<x>",
    "SNMP_COMMUNITY": "canary'snmp\"b2\\\\d4",
    "SWITCH_PASSWORD": "canärył€5e",
}


@dataclass(frozen=True)
class Result:
    command: str
    stdout: str
    exit_status: int | None = 0
    signal: str | None = None
    stderr: str = ""
    seconds: float = 0.1


def forms(secret: str) -> dict[str, bytes]:
    """The secret as programs write it; what must be in no artefact."""
    data = secret.encode()
    texts = {
        "plain": secret,
        "JSON": json.dumps(secret)[1:-1],
        "JSON in UTF-8": json.dumps(secret, ensure_ascii=False)[1:-1],
        "HTML": html.escape(secret),
        "XML": html.escape(secret, quote=False),
        "URL": quote(secret, safe=""),
        "URL with /": quote(secret),
        "form": quote_plus(secret),
        "repr": repr(secret)[1:-1],
        "repr of bytes": repr(data)[2:-1],
        "base64": base64.b64encode(data).decode(),
        "base64 for URLs": base64.urlsafe_b64encode(data).decode(),
    }
    basic = {
        f"Basic of {user}": base64.b64encode(f"{user}:".encode() + data).decode() for user in ("admin", "root", "u")
    }
    return {name: text.encode() for name, text in (texts | basic).items()}


@pytest.fixture
def run_dir(tmp_path: Path) -> Path:
    """A finished run into which everything was written that could carry a secret, in every form."""
    secrets = Secrets(None, CANARIES)
    values = [secrets.get(name) for name in CANARIES]
    said = b"\n".join(form for value in values for form in forms(value).values())
    text = said.decode()
    folder = new_run(tmp_path / "results", card="card", bench="bench", command_line=["run", text], secrets=values)
    evidence = folder / "evidence"
    store = EvidenceStore(evidence, secrets.handed_out)
    store.add(f"output {values[0]}.txt", text, subject=values[0])
    store.add("output.bin", said)
    CommandLog(evidence, "dut", values)(Result(f"login {text}", text, stderr=text))
    log = ConsoleLog(evidence / "console-dut.log")
    log.add(said[:37])
    log.add(said[37:] + b"\n")
    log.note(text)
    log.close()
    mask = MessageMask(lambda: secrets.handed_out)
    (folder / "log.html").write_text(mask(f"BenchFault: dut console: it last said {text!r}; {text}"))
    finish_run(folder, 0, secrets.handed_out)
    return folder


def test_a_console_is_masked_as_it_is_written(tmp_path: Path) -> None:
    """A killed run leaves its log as it is, and a pipeline publishes it."""
    for value in map(Secrets(None, CANARIES).get, CANARIES):
        file, said = tmp_path / "console.log", f"Password: {value}\r\nlogin: ".encode()
        for size in (1, 7, len(said)):
            log = ConsoleLog(file)
            for start in range(0, len(said), size):
                log.add(said[start : start + size])
                assert value.encode() not in file.read_bytes()
            content = file.read_bytes()  # nobody has closed it
            assert MASKED.encode() in content and content.endswith(b"login: ")
            log.close()
            file.unlink()


@pytest.mark.parametrize("reopened", [True, False])
def test_a_secret_that_the_own_lines_of_a_log_split_is_masked(tmp_path: Path, reopened: bool) -> None:
    for value in map(Secrets(None, CANARIES).get, CANARIES):
        for cut in range(1, len(value)):
            file = tmp_path / "console.log"
            log = ConsoleLog(file)
            log.add(b"before " + value[:cut].encode())
            if reopened:
                log.close()
                log = ConsoleLog(file, after=log.tail)
            log.note("opened again")
            log.add(value[cut:].encode() + b" after\n")
            log.close()
            content = file.read_bytes()
            assert b" after\n" in content and MASKED.encode() in content and b"before " in content
            assert value[4:].encode() not in content and value[cut:].encode() + b" after" not in content
            file.unlink()


def test_bytes_that_only_look_like_a_secret_are_kept(tmp_path: Path) -> None:
    value = Secrets(None, CANARIES).get(next(iter(CANARIES)))
    log = ConsoleLog(tmp_path / "console.log")
    log.add(value[:-1].encode())
    log.add(b"? no\n" + value[:2].encode())
    log.close()
    first, second = (tmp_path / "console.log").read_text("utf-8", "replace").splitlines()
    assert first.endswith(f"{value[:-1]}? no") and second[25:] == value[:2]


def test_no_artefact_holds_a_secret_in_any_form(run_dir: Path) -> None:
    artefacts = [path for path in run_dir.rglob("*") if path.is_file()]
    masked = {path.name for path in artefacts if MASKED.encode() in path.read_bytes()}
    assert masked >= {"run.json", "output.bin", "commands-dut.jsonl", "console-dut.log", "log.html", "index.json"}
    for path in artefacts:
        content = path.read_bytes() + str(path).encode()
        found = [
            (name, form) for name, value in CANARIES.items() for form, data in forms(value).items() if data in content
        ]
        assert not found, path.name
        assert b"canary" not in content, path.name

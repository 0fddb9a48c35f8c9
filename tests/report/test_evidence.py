"""Evidence is kept whole, once, with its hash, and without secrets."""

from __future__ import annotations

import base64
import hashlib
import json
import os
import resource
import signal
import threading
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote, quote_plus

import pytest

from niclab.core.verdict import BenchFault
from niclab.files.mask import Mask, MessageMask
from niclab.report.evidence.evidence import CommandLog, EvidenceStore, read_index, seal

SECRET = 'p"ss<wörd> 1'


@dataclass(frozen=True)
class Result:
    command: str
    exit_status: int | None
    signal: str | None
    stdout: str
    stderr: str
    seconds: float


def test_file_is_stored_and_indexed(tmp_path: Path) -> None:
    store = EvidenceStore(tmp_path, current_test=lambda: "Suites.Link")
    path = store.add("lspci -vv.txt", "LnkSta: ü", subject="dut.p0")
    (entry,) = read_index(tmp_path)
    content = "LnkSta: ü".encode()
    assert path.read_bytes() == content
    assert path == tmp_path / "dut.p0-lspci-vv.txt" == tmp_path / entry.file
    assert (entry.size_bytes, entry.sha256) == (len(content), hashlib.sha256(content).hexdigest())
    assert (entry.mime, entry.subject, entry.test) == ("text/plain", "dut.p0", "Suites.Link")
    assert "@" in entry.who
    assert entry.when[:2] == "20"


@pytest.mark.parametrize(("umask", "mode"), [(0o077, 0o600), (0o027, 0o640), (0o022, 0o644)])
def test_umask_decides_who_may_read_a_file(tmp_path: Path, umask: int, mode: int) -> None:
    before = os.umask(umask)
    try:
        path = EvidenceStore(tmp_path / "evidence").add("a.txt", "x")
    finally:
        os.umask(before)
    assert path.stat().st_mode & 0o777 == mode
    assert (tmp_path / "evidence" / "index.json").stat().st_mode & 0o777 == mode


def test_same_name_never_overwrites(tmp_path: Path) -> None:
    store = EvidenceStore(tmp_path)
    paths = [
        store.add(name, str(number))
        for number, name in enumerate(["a.txt", "a.txt", "../a.txt", "index.json", ".lock"])
    ]
    assert len(set(paths)) == len(paths) == len(read_index(tmp_path))
    assert [path.read_text() for path in paths] == ["0", "1", "2", "3", "4"]
    assert all(path.parent == tmp_path for path in paths)


def test_file_that_another_program_put_there_stays(tmp_path: Path) -> None:
    store = EvidenceStore(tmp_path)
    (tmp_path / "console.log").write_text("boot")
    assert store.add("console.log", "copy").name == "console-2.log"
    assert (tmp_path / "console.log").read_text() == "boot"


def test_empty_data_is_noted_as_such_but_an_empty_name_is_refused(tmp_path: Path) -> None:
    store = EvidenceStore(tmp_path)
    store.add("console.txt", b"")
    assert read_index(tmp_path)[0].size_bytes == 0
    with pytest.raises(BenchFault, match="name of evidence"):
        store.add("  ", "x")


def test_many_writers_lose_nothing(tmp_path: Path) -> None:
    def write(number: int) -> None:
        store = EvidenceStore(tmp_path)
        for _ in range(10):
            store.add("x.txt", str(number))

    threads = [threading.Thread(target=write, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    entries = read_index(tmp_path)
    assert len({entry.file for entry in entries}) == len(entries) == 40


@pytest.mark.parametrize(
    "text",
    [SECRET, json.dumps({"pin": SECRET}), "p&quot;ss&lt;wörd&gt; 1", "p%22ss%3Cw%C3%B6rd%3E%201"],
    ids=["plain", "json", "html", "url"],
)
def test_secret_is_masked_however_it_is_quoted(tmp_path: Path, text: str) -> None:
    masked = Mask([SECRET])(f"user admin {text} end")
    assert "********" in masked
    assert masked.startswith("user admin ")
    assert masked.endswith(" end")
    assert "ss" not in masked.replace("admin", "")
    store = EvidenceStore(tmp_path, secrets=[SECRET])
    assert b"********" in store.add("a.txt", text.encode()).read_bytes()
    assert "ss" not in store.add(f"{SECRET}.txt", "x", subject=SECRET).stem
    assert SECRET not in (tmp_path / "index.json").read_text()


@pytest.mark.parametrize("secret", ["a/b+c?d e", "it's\\own\"é", "hunter2", "p\u00e4ssword&x"])
@pytest.mark.parametrize("before", ["", "u", "us", "admin:"])
def test_secret_is_masked_in_every_form_that_programs_write(secret: str, before: str) -> None:
    data = secret.encode()
    basic = base64.b64encode(before.encode() + data).decode()
    forms = [quote(secret), quote_plus(secret), repr(data), repr(secret), json.dumps(repr(secret)), ascii(secret)]
    for form in [*forms, str({"password": data})]:
        assert secret not in Mask([secret])(form)
        assert "********" in Mask([secret])(form), form
        assert b"********" in Mask([secret])(form.encode()), form
    for token in (basic, base64.urlsafe_b64encode(before.encode() + data).decode()):
        masked = Mask([secret])(f"Authorization: Basic {token}\n")
        assert "********" in masked
        assert len(masked.partition("Basic ")[2].replace("********", "").strip()) <= len(basic) - len(data) * 8 // 6 + 2
    assert b"********" in Mask([secret])(secret.encode("latin-1"))


@pytest.mark.parametrize("secret", ["a", "cafe", "admin"])
def test_secret_that_would_be_found_in_innocent_text_is_refused(secret: str) -> None:
    with pytest.raises(BenchFault, match=rf"masked: {len(secret)} characters; expected at least 6") as told:
        Mask([secret])
    assert f"{secret!r}" not in str(told.value)


def test_messages_are_masked_with_the_secrets_known_at_that_moment() -> None:
    known: list[str] = []
    mask = MessageMask(lambda: known)
    assert mask("password hunter2") == "password hunter2"
    known.append("hunter2")
    assert mask("password hunter2") == "password ********"


def test_without_the_mask_the_secret_would_be_there(tmp_path: Path) -> None:
    assert SECRET in EvidenceStore(tmp_path).add("a.txt", SECRET).read_text()


@pytest.mark.parametrize("secret", ["", " "])
def test_empty_secret_is_refused(secret: str) -> None:
    with pytest.raises(BenchFault, match="is empty"):
        Mask([secret])


@pytest.mark.parametrize("content", ["", "[]", "{}", '{"format": 2, "files": []}', '{"format": 1, "files": [{}]}'])
def test_unreadable_index_is_an_error(tmp_path: Path, content: str) -> None:
    (tmp_path / "index.json").write_text(content)
    with pytest.raises(BenchFault, match=r"index\.json"):
        read_index(tmp_path)
    with pytest.raises(BenchFault, match=r"index\.json"):
        EvidenceStore(tmp_path).add("a.txt", "x")


def test_command_log_keeps_every_command_in_order(tmp_path: Path) -> None:
    log = CommandLog(tmp_path, "dut", secrets=[SECRET])
    log(Result(f"login {SECRET}", 0, None, f"hello {SECRET}\n", "", 0.25))
    log(Result("reboot", None, "TERM", "", "gone\ud800", 1.5))
    text = log.path.read_text()
    first, second = (json.loads(line) for line in text.splitlines())
    assert log.path.name == "commands-dut.jsonl"
    assert (first["command"], first["stdout"], first["exit_status"]) == ("login ********", "hello ********\n", 0)
    assert (second["exit_status"], second["signal"], second["seconds"]) == (None, "TERM", 1.5)
    assert (first["host"], first["when"][:2]) == ("dut", "20")


def test_command_log_cuts_long_output_and_says_so(tmp_path: Path) -> None:
    log = CommandLog(tmp_path, "dut", limit_kb=1)
    log(Result("dmesg", 0, None, "a" * 2000 + "z", "b" * 1024, 0.0))
    line = json.loads(log.path.read_text())
    assert "[... 977 characters cut ...]" in line["stdout"]
    assert line["stdout"].endswith("z")
    assert line["stderr"] == "b" * 1024


@pytest.mark.parametrize(("host", "limit_kb"), [("dut", 0), ("dut", -1), (" ", 1)])
def test_command_log_refuses_nonsense(tmp_path: Path, host: str, limit_kb: int) -> None:
    with pytest.raises(BenchFault, match="expected"):
        CommandLog(tmp_path, host, limit_kb=limit_kb)


def test_seal_takes_in_what_was_written_past_the_store(tmp_path: Path) -> None:
    EvidenceStore(tmp_path).add("a.txt", "x")
    (tmp_path / "console").mkdir()
    (tmp_path / "console" / "dut.log").write_text("boot")
    assert [entry.file for entry in seal(tmp_path)] == ["a.txt", "console/dut.log"]
    assert read_index(tmp_path)[1].sha256 == hashlib.sha256(b"boot").hexdigest()
    assert seal(tmp_path) == read_index(tmp_path)


def test_seal_masks_a_console_and_hashes_it_then(tmp_path: Path) -> None:
    said = f"login: root\nPassword: {SECRET}\n\xff".encode("latin-1")
    (tmp_path / "console-dut.log").write_bytes(said)
    (entry,) = seal(tmp_path, [SECRET])
    sealed = (tmp_path / "console-dut.log").read_bytes()
    assert sealed == b"login: root\nPassword: ********\n\xff"
    assert entry.sha256 == hashlib.sha256(sealed).hexdigest()
    assert entry.size_bytes == len(sealed)


def test_command_log_on_a_full_disk_is_an_error_and_keeps_whole_lines(tmp_path: Path) -> None:
    log = CommandLog(tmp_path, "dut")
    log(Result("first", 0, None, "", "", 0.0))
    before = log.path.read_bytes()
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (len(before) + 100, limits[1]))
    try:
        with pytest.raises(BenchFault, match=r"commands-dut\.jsonl: cannot be written: .*File too large"):
            log(Result("second", 0, None, "x" * 1000, "", 0.0))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
        signal.signal(signal.SIGXFSZ, handler)
    assert log.path.read_bytes() == before
    log(Result("third", 0, None, "", "", 0.0))
    assert len([json.loads(line) for line in log.path.read_text().splitlines()]) == 2

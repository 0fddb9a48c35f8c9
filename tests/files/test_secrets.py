"""Secrets are found by name, refused when others could read them, and shown nowhere."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest

from niclab.core.verdict import BenchFault
from niclab.files.secrets import Secrets, refuse_shared, refuse_writable, without_secrets


@pytest.fixture
def file(tmp_path: Path) -> Path:
    file = tmp_path / "secrets.env"
    file.write_text("# the bench\n\nBMC_PASSWORD=hunter=2 #x\nCONSOLE_PASSWORD=tangos\n")
    file.chmod(0o600)
    return file


def test_the_environment_wins_over_the_file(file: Path) -> None:
    secrets = Secrets(file, {"BMC_PASSWORD": "from the environment"})
    assert secrets.get("BMC_PASSWORD") == "from the environment"
    assert secrets.get("CONSOLE_PASSWORD") == "tangos"
    assert Secrets(file, {}).get("BMC_PASSWORD") == "hunter=2 #x"


def test_the_process_environment_is_the_default(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BMC_PASSWORD", "from the process")
    assert Secrets(file).get("BMC_PASSWORD") == "from the process"


def test_values_handed_out_are_known_for_masking_and_not_shown(file: Path) -> None:
    secrets = Secrets(file, {"A": "tangos"})
    assert not secrets.handed_out
    assert [secrets.get(name) for name in ("A", "CONSOLE_PASSWORD", "BMC_PASSWORD")] == [
        "tangos",
        "tangos",
        "hunter=2 #x",
    ]
    assert secrets.handed_out == ("tangos", "hunter=2 #x")
    assert repr(secrets) == f"Secrets(file='{file}')"


def test_a_missing_secret_names_both_places(file: Path) -> None:
    with pytest.raises(BenchFault) as caught:
        Secrets(file, {}).get("OTHER")
    assert (
        str(caught.value)
        == f"secret OTHER is missing; expected an environment variable OTHER, or a line OTHER=... in {file}"
    )


def test_a_missing_file_names_both_places(tmp_path: Path) -> None:
    with pytest.raises(
        BenchFault, match=r"secret A is missing: .*none\.env cannot be read \(No such file.*variable A, or"
    ):
        Secrets(tmp_path / "none.env", {}).get("A")


def test_a_file_is_not_needed_when_the_environment_has_the_secret(tmp_path: Path) -> None:
    assert Secrets(tmp_path / "none.env", {"A": "hunter2"}).get("A") == "hunter2"
    with pytest.raises(BenchFault, match=r"secret B is missing; expected .* B .*names no secrets_file"):
        Secrets(None, {}).get("B")


def test_an_empty_environment_variable_is_an_error(file: Path) -> None:
    with pytest.raises(BenchFault, match="secret BMC_PASSWORD: the environment variable is empty"):
        Secrets(file, {"BMC_PASSWORD": ""}).get("BMC_PASSWORD")


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o620, 0o644])
def test_a_file_that_others_may_use_is_refused_with_the_remedy(file: Path, mode: int) -> None:
    file.chmod(mode)
    with pytest.raises(BenchFault, match=rf"\(mode 0{mode:o}\); expected nobody else: chmod 600 '{file}'"):
        Secrets(file, {}).get("BMC_PASSWORD")


def test_a_file_of_another_user_is_refused(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    owner = os.geteuid() or 1000
    os.chown(file, owner, -1)
    monkeypatch.setattr(os, "geteuid", lambda: owner + 1)
    with pytest.raises(BenchFault, match=rf"this secrets file belongs to user {owner}; expected user {owner + 1}"):
        Secrets(file, {}).get("BMC_PASSWORD")


def test_a_key_file_is_held_to_the_same(file: Path) -> None:
    refuse_shared(file, file.stat(), "key file")
    file.chmod(0o644)
    with pytest.raises(
        BenchFault, match=r"group or others may use this key file \(mode 0644\); expected nobody else: chmod 600"
    ):
        refuse_shared(file, file.stat(), "key file")


def test_an_environment_loses_its_secrets_and_nothing_else() -> None:
    environment = {"PATH": "/bin", "DUT_BMC_PASSWORD": "hunter2", "DUT_BMC_PASSWORDS": "no secret"}
    assert without_secrets(environment, ("DUT_BMC_PASSWORD", "OTHER")) == {
        "PATH": "/bin",
        "DUT_BMC_PASSWORDS": "no secret",
    }
    assert "DUT_BMC_PASSWORD" in environment


def test_a_secret_too_short_to_be_masked_is_refused() -> None:
    with pytest.raises(BenchFault, match="secret A: 5 characters; expected at least 6: a shorter one") as caught:
        Secrets(None, {"A": "admin"}).get("A")
    assert "admin" not in str(caught.value)


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("hunter2", ":1: not a secret (not shown); expected KEY=VALUE, KEY in capitals"),
        ("export A=hunter2", ":1: not a secret (not shown); expected KEY=VALUE, KEY in capitals"),
        ("A = hunter2", ":1: not a secret (not shown); expected KEY=VALUE, KEY in capitals"),
        ("A=", ":1: A is empty, or in blanks or quotes; expected the bare secret after the ="),
        ("A= hunter2", ":1: A is empty, or in blanks or quotes; expected the bare secret after the ="),
        ("A='hunter2'", ":1: A is empty, or in blanks or quotes; expected the bare secret after the ="),
        ("A=x\nA=hunter2", ":2: A is given again; expected each secret once"),
    ],
)
def test_a_malformed_line_is_named_and_not_shown(tmp_path: Path, line: str, message: str) -> None:
    file = tmp_path / "secrets.env"
    file.write_text(f"{line}\n", newline="")
    file.chmod(0o600)
    with pytest.raises(BenchFault) as caught:
        Secrets(file, {}).get("A")
    assert str(caught.value) == f"{file}{message}"


def test_a_file_that_is_not_text_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "secrets.env"
    file.write_bytes(b"A=\xff\n")
    file.chmod(0o600)
    with pytest.raises(BenchFault, match="is not UTF-8 text") as caught:
        Secrets(file, {}).get("A")
    assert caught.value.__suppress_context__


@pytest.mark.parametrize("mode", [0o644, 0o600, 0o444])
def test_a_file_that_names_servers_may_be_read_by_all(file: Path, mode: int) -> None:
    file.chmod(mode)
    refuse_writable(file, file.stat(), "known_hosts file")


@pytest.mark.parametrize("mode", [0o664, 0o646, 0o666])
def test_a_file_that_names_servers_may_be_written_by_nobody_else(file: Path, mode: int) -> None:
    file.chmod(mode)
    said = rf"group or others may write this ca_file \(mode 0{mode:o}\); expected nobody else: chmod go-w"
    with pytest.raises(BenchFault, match=rf"^{re.escape(str(file))}: {said}"):
        refuse_writable(file, file.stat(), "ca_file")

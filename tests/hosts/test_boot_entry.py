"""Entries for the boot that load a driver: written as a whole, read back, and put back to the very bytes."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from fake_shell import FakeShell
from freebsd_host_texts import host

from niclab.core.verdict import BenchFault
from niclab.hosts.drivers.boot_entry import (
    LOADER_CONF,
    BootFile,
    FreeBsdBoot,
    loader_conf_with,
    read_boot_file,
    showing,
)
from niclab.hosts.linux_host import LinuxHost

LINE = 'oce_load="YES"\n'


def in_sh(command: str) -> str:
    done = subprocess.run(["sh", "-c", command], capture_output=True, text=True)
    assert done.returncode == 0, done
    return done.stdout


@pytest.mark.parametrize(
    "text", [None, "", LINE, 'autoboot_delay="3"\n# it\'s 5 % of $HOME\\n', "no line feed at the end"]
)
def test_a_file_comes_back_to_the_very_bytes(tmp_path: Path, text: str | None) -> None:
    path = tmp_path / "loader.conf"
    if text is not None:
        path.write_text(text)
        path.chmod(0o600)
    before = read_boot_file(str(path), in_sh(showing(str(path))))
    assert before == BootFile(str(path), text)
    in_sh(BootFile(str(path), loader_conf_with(text, "oce")).writing())
    assert path.read_text().endswith(LINE)
    for _ in range(2):
        in_sh(before.writing())
        assert [file.read_text() for file in tmp_path.iterdir()] == ([] if text is None else [text])
    assert text is None or path.stat().st_mode & 0o777 == 0o600


class LoaderFiles:
    """Files of a loader in a folder of its own, on which commands work as on a server's."""

    def __init__(self, folder: Path, texts: dict[str, str | None]) -> None:
        self.folder = folder
        (folder / "loader.conf.d").mkdir()
        for name, text in texts.items():
            if text is not None:
                (folder / name).write_text(text)

    @property
    def texts(self) -> dict[str, str]:
        found = [path for path in self.folder.rglob("*") if path.is_file()]
        return {str(path.relative_to(self.folder)): path.read_text() for path in found}

    def run(self, command: str) -> str:
        return in_sh(command.replace("/boot/", f"{self.folder}/")).replace(f"{self.folder}/", "/boot/")

    @property
    def loading(self) -> FreeBsdBoot:
        dut, _ = host({"...": self.run})
        return dut.loading


@pytest.mark.parametrize(
    ("text", "loads"),
    [
        (None, False),
        ("", False),
        (LINE, True),
        ("oce_load=YES", True),
        ('  oce_load = "yes"  # the card\n', True),
        ('#oce_load="YES"\n', False),
        ('if_oce_load="YES"\n', False),
        ('oce_load="NO"\n', False),
        (f'{LINE}oce_load="NO"\n', False),
        (f'oce_load="NO"\n{LINE}', True),
    ],
)
def test_the_last_entry_counts(tmp_path: Path, text: str | None, loads: bool) -> None:
    files = LoaderFiles(tmp_path, {"loader.conf": text})
    assert files.loading.is_set_to_load("oce") is loads
    back = files.loading.restoring("oce")
    files.loading.set_to_load("oce")
    written = files.texts["loader.conf"]
    assert files.loading.is_set_to_load("oce") and written.endswith(LINE) and written.count("\noce_load") <= 1
    assert ("if_oce_load" in written) is ("if_oce_load" in (text or ""))
    files.run(back)
    assert files.texts == ({} if text is None else {"loader.conf": text})


@pytest.mark.parametrize("last", ["loader.conf.local", "loader.conf.d/the card's.conf"])
def test_the_file_that_the_loader_reads_last_has_the_entry_that_counts(tmp_path: Path, last: str) -> None:
    before = {"loader.conf": LINE, "loader.conf.d/a.conf": LINE, last: 'oce_load="NO"\n', "loader.conf.d/z.conf~": LINE}
    files = LoaderFiles(tmp_path, before)
    assert not files.loading.is_set_to_load("oce")
    back = files.loading.restoring("oce")
    files.loading.set_to_load("oce")
    assert files.loading.is_set_to_load("oce")
    assert files.texts == before | {last: LINE}
    files.run(back)
    assert files.texts == before


def test_a_file_of_the_loader_that_cannot_be_read_is_said() -> None:
    dut, _ = host({"grep -sHoE '^[[:space:]]*oce_load...": "", showing(LOADER_CONF): "cat: no"})
    with pytest.raises(BenchFault, match="expected '@ there' and the file, or '@ absent'"):
        dut.loading.restoring("oce")


def test_linux_has_a_file_of_the_labs_own() -> None:
    path = "/etc/modules-load.d/niclab-sfc_siena.conf"
    write = BootFile(path, "sfc_siena\n").writing()
    shell = FakeShell(
        {
            write: "",
            showing(path): ["@ absent\n", "@ there\nsfc_siena\n"],
            "text=$(for file in /etc/modules...": ["1\n", "0\n"],
        }
    )
    dut = LinuxHost(shell, "dut")
    assert dut.loading.restoring("sfc_siena") == f"rm -f {path} && sync"
    assert dut.loading.restoring("sfc_siena") == write
    dut.loading.set_to_load("sfc_siena")
    assert [dut.loading.is_set_to_load("sfc_siena") for _ in range(2)] == [True, False]
    assert "grep -cx 'sfc[-_]siena'" in shell.commands[-1]

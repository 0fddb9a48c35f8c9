"""Entries for the boot that load a driver: written as a whole, read back, and put back to the very bytes."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from fake_shell import FakeShell
from freebsd_host_texts import host

from niclab.core.verdict import BenchFault
from niclab.hosts.drivers.boot_entry import BootFile, is_in_loader_conf, loader_conf_with, read_boot_file, showing
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
    assert is_in_loader_conf(path.read_text(), "oce")
    for _ in range(2):
        in_sh(before.writing())
        assert [file.read_text() for file in tmp_path.iterdir()] == ([] if text is None else [text])
    assert text is None or path.stat().st_mode & 0o777 == 0o600


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
def test_the_last_entry_counts(text: str | None, loads: bool) -> None:
    assert is_in_loader_conf(text, "oce") is loads
    written = loader_conf_with(text, "oce")
    assert is_in_loader_conf(written, "oce") and written.endswith(LINE)
    assert ("if_oce_load" in written) is ("if_oce_load" in (text or ""))


def test_freebsd_writes_its_loaders_settings() -> None:
    shown = {showing("/boot/loader.conf"): [f"@ there\n{LINE}", '@ there\nx="1"\n', "@ absent\n", "cat: no"]}
    write = BootFile("/boot/loader.conf", f'x="1"\n{LINE}').writing()
    dut, shell = host({**shown, write: ""})
    assert dut.loading.is_set_to_load("oce")
    dut.loading.set_to_load("oce")
    assert shell.commands[-1] == write
    assert dut.loading.restoring("oce") == "rm -f /boot/loader.conf && sync"
    with pytest.raises(BenchFault, match="expected '@ there' and the file, or '@ absent'"):
        dut.loading.is_set_to_load("oce")


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

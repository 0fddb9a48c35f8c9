"""Entries of the boot that set a driver's parameter are found by the system's own grep."""

from __future__ import annotations

from pathlib import Path

import pytest
from local_shell import LocalShell

from niclab.core.verdict import BenchFault
from niclab.hosts.drivers.boot_entry import FreeBsdBoot, LinuxBoot

FOLDERS = ("/etc", "/run", "/usr/local/lib", "/usr/lib", "/lib", "/proc", "/boot")


def write(root: Path, file: str, text: str) -> None:
    path = root / file.lstrip("/")
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


@pytest.mark.parametrize(
    ("file", "text", "found"),
    [
        ("/etc/modprobe.d/a.conf", "options be2net num_vfs=2 rss=4\n", "options be2net num_vfs=2 rss=4"),
        ("/usr/local/lib/modprobe.d/a.conf", "options be2net rss=4\n", "options be2net rss=4"),
        ("/usr/lib/modprobe.d/a.conf", " options be2net rss\n", " options be2net rss"),
        ("/etc/modprobe.d/a.conf", "options be2net rss num_vfs=2 \n", "options be2net rss num_vfs=2"),
        ("/proc/cmdline", "quiet be2net.rss=8 ro\n", "be2net.rss=8"),
        ("/proc/cmdline", "quiet be2net.rss ro\n", "be2net.rss"),
        ("/etc/modprobe.d/a.conf", "# options be2net rss=4\noptions be2net crss=1\noptions be2net_x rss=4\n", ""),
        ("/proc/cmdline", "xbe2net.rss=8 be2net.rss_max=1 be2net.rss-max\n", ""),
    ],
)
def test_linux(tmp_path: Path, file: str, text: str, found: str) -> None:
    write(tmp_path, "/proc/cmdline", "ro\n")
    write(tmp_path, file, text)
    entries = LinuxBoot(LocalShell(tmp_path, FOLDERS), "dut").parameter_entries("be2net", "rss")
    assert entries == ((f"{file}:{found}",) if found else ())


def test_the_kernel_takes_a_hyphen_for_an_underscore(tmp_path: Path) -> None:
    write(tmp_path, "/proc/cmdline", "be2net.rx-frag-size=4096\n")
    write(tmp_path, "/etc/modprobe.d/a.conf", "options be2net rx-frag_size=8192\n")
    entries = LinuxBoot(LocalShell(tmp_path, FOLDERS), "dut").parameter_entries("be2net", "rx_frag_size")
    assert entries == (
        "/etc/modprobe.d/a.conf:options be2net rx-frag_size=8192",
        "/proc/cmdline:be2net.rx-frag-size=4096",
    )


@pytest.mark.parametrize(
    ("file", "text", "found"),
    [
        ("/boot/loader.conf", 'hw.oce.buf_size="1024"\n', 'hw.oce.buf_size="1024"'),
        ("/etc/sysctl.conf", "dev.oce.0.buf_size = 1\n", "dev.oce.0.buf_size = 1"),
        ("/etc/sysctl.conf", "#hw.oce.buf_size=1\nhw.oce.buf_sizes=1\nhw.ocex.buf_size=1\n", ""),
    ],
)
def test_freebsd(tmp_path: Path, file: str, text: str, found: str) -> None:
    write(tmp_path, file, text)
    entries = FreeBsdBoot(LocalShell(tmp_path, FOLDERS), "dut").parameter_entries("if_oce", "buf_size")
    assert entries == ((f"{file}:{found}",) if found else ())


def test_a_name_with_other_letters_is_refused(tmp_path: Path) -> None:
    with pytest.raises(BenchFault, match=r"^dut: module parameter 'a b'; expected letters"):
        LinuxBoot(LocalShell(tmp_path, FOLDERS), "dut").parameter_entries("be2net", "a b")

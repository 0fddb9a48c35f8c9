"""A module file is that of a package, of its DKMS build, or of somebody else: the commands run in a shell."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from niclab.hosts.linux_host import LinuxHost
from niclab.transports.ssh.ssh import Result

RELEASE = os.uname().release
TOOLS = {
    "dpkg-query": 'case "$1 $2" in -S*/updates/e1000e.ko) echo "diversion by x from: /lib/y"; echo "%s";;'
    ' "-L e1000e-dkms") echo /usr/src/e1000e-3.8.7/dkms.conf;; *) exit 1;; esac',
    "rpm": 'case "$*" in -qf*/updates/e1000e.ko) echo e1000e-modules;; -qf*) echo "file x is not owned by any package";'
    " exit 1;; -ql*) echo /usr/src/e1000e-3.8.7/dkms.conf;; esac",
}


class Shell:
    """Runs commands here, below a folder; ``names``: what dpkg says of a file in ``updates``."""

    def __init__(self, root: Path, system: str, names: str) -> None:
        self.root, self.system = root, system
        for tool, script in TOOLS.items():
            (root / tool).write_text(f"#!/bin/sh\n{script.replace('%s', f'{names}: /lib/modules/x.ko')}\n")
            (root / tool).chmod(0o755)

    def run(self, command: str, *, timeout_s: float = 60, check: bool = False) -> Result:
        assert timeout_s and not check
        if command.endswith("cat /etc/os-release"):
            return Result(command, 0, None, f"ID={self.system}\n", "", 0.0)
        here = command.replace("/var/lib/dkms", str(self.root / "dkms"))
        path = f"{self.root}:{os.environ['PATH']}"
        done = subprocess.run(["sh", "-c", here], capture_output=True, text=True, env={**os.environ, "PATH": path})
        return Result(command, done.returncode, None, done.stdout, done.stderr, 0.0)


def drivers(root: Path, system: str, names: str = "other:amd64, e1000e-modules") -> LinuxHost:
    return LinuxHost(Shell(root, system, names), "dut")


def module(root: Path, folder: str, content: bytes = b"driver") -> str:
    file = root / folder / "e1000e.ko"
    file.parent.mkdir(parents=True)
    file.write_bytes(content)
    return str(file)


@pytest.mark.parametrize("system", ["debian", "rocky", "sles"])
def test_a_file_that_the_package_brought_is_its(tmp_path: Path, system: str) -> None:
    host = drivers(tmp_path, {"rocky": "rocky\nID_LIKE=rhel"}.get(system, system))
    assert host.drivers.is_of_package("e1000e-modules", module(tmp_path, "updates"))
    assert not host.drivers.is_of_package("e1000e-modules", module(tmp_path, "extra/my-build"))


def test_a_package_whose_name_begins_alike_is_another(tmp_path: Path) -> None:
    host = drivers(tmp_path, "debian", "e1000e-modules-extra")
    assert not host.drivers.is_of_package("e1000e-modules", module(tmp_path, "updates"))


@pytest.mark.parametrize("system", ["debian", "sles"])
@pytest.mark.parametrize(
    ("built", "content", "is_its"),
    [("e1000e/3.8.7", b"driver", True), ("e1000e/3.8.4", b"driver", False), ("e1000e/3.8.7", b"another", False)],
)
def test_a_module_that_dkms_built_of_the_packages_source_is_its(
    tmp_path: Path, system: str, built: str, content: bytes, is_its: bool
) -> None:
    module(tmp_path, f"dkms/{built}/{RELEASE}/x86_64/module", content)
    file = module(tmp_path, "updates/dkms")
    assert drivers(tmp_path, system).drivers.is_of_package("e1000e-dkms", file) is is_its

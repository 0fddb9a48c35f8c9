"""A module file is that of a package, of its DKMS build, or of somebody else: the commands run in a shell."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from local_shell import LocalShell

from niclab.core.verdict import BenchFault
from niclab.hosts.linux_host import LinuxHost

RELEASE = os.uname().release
TOOLS = {
    "dpkg-query": 'case "$1 $2" in -S*/updates/e1000e.ko) echo "diversion by x from: /lib/y"; echo "%s";;'
    ' "-L e1000e-dkms") echo /usr/src/e1000e-3.8.7/dkms.conf;;'
    ' *) echo "dpkg-query: no path found matching pattern x" >&2; exit 1;; esac',
    "rpm": 'case "$*" in -qf*/updates/e1000e.ko) echo e1000e-modules;; -qf*) echo "file x is not owned by any package";'
    " exit 1;; -ql*) echo /usr/src/e1000e-3.8.7/dkms.conf;; esac",
}


def drivers(root: Path, system: str, names: str = "other:amd64, e1000e-modules") -> LinuxHost:
    """``names``: what dpkg says of a file in ``updates``."""
    for tool, script in TOOLS.items():
        (root / tool).write_text(f"#!/bin/sh\n{script.replace('%s', f'{names}: /lib/modules/x.ko')}\n")
        (root / tool).chmod(0o755)
    return LinuxHost(LocalShell(root, ["/var/lib/dkms"], system), "dut")


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
    module(tmp_path, f"var/lib/dkms/{built}/{RELEASE}/x86_64/module", content)
    file = module(tmp_path, "updates/dkms")
    assert drivers(tmp_path, system).drivers.is_of_package("e1000e-dkms", file) is is_its


@pytest.mark.parametrize(("system", "tool"), [("debian", "dpkg-query"), ("sles", "rpm")])
def test_a_database_of_packages_that_cannot_be_read_is_a_fault(tmp_path: Path, system: str, tool: str) -> None:
    host, file = drivers(tmp_path, system), module(tmp_path, "updates")
    (tmp_path / tool).write_text("#!/bin/sh\necho error: database is damaged >&2\nexit 2\n")
    with pytest.raises(BenchFault, match=r"failed with exit status 2, said: error: database is damaged"):
        host.drivers.is_of_package("e1000e-modules", file)

"""Whom the lab holds responsible when the real dnf and zypper do not do what they are asked: each kind of failure."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from rpm_servers import DEFECTS, NAME, NEW, OLD, REPOSITORY, Server, place, version_of, web
from rpm_servers import server as server_of

from niclab.core.verdict import BenchFault, Undecided

pytestmark = pytest.mark.slow
CARD = "refused"
LOCK = "import fcntl, time; f = open('/var/lib/rpm/.rpm.lock', 'r+'); fcntl.lockf(f, fcntl.LOCK_EX)"


def blamed(server: Server, version: str, words: str) -> object:
    """Install the version; return who is held responsible, and see the words that name the cause."""
    try:
        refused = server.host.drivers.install_package(NAME, version).refused
    except (BenchFault, Undecided) as error:
        assert words in str(error)
        return type(error)
    assert refused is None or words in refused
    return None if refused is None else CARD


OF_PACKAGES = [
    ("post fails", CARD, CARD, "scriptlet"),
    ("pre fails", CARD, CARD, "scriptlet"),
    ("file of another", Undecided, Undecided, "/lib/modules/5.14.0/extra/mlx.ko"),
    ("unsigned", CARD, None, "is not signed"),
    ("architecture", CARD, BenchFault, "13.5"),
    ("conflict", Undecided, Undecided, "conflicts with mlx-modules"),
    ("needs", Undecided, Undecided, "nothing provides dkms >= 3 needed by"),
    ("killed", BenchFault, Undecided, ""),
    ("foreign", BenchFault, None, "not correct for this package"),
    ("helper fails", None, BenchFault, "helper-modules"),
    ("helper needs", BenchFault, BenchFault, "nothing provides libnobody needed by broken-helper"),
    ("full disk", BenchFault, BenchFault, "No space left on device"),
    ("reboot", None, None, ""),
    ("large", None, None, ""),
    ("preun fails", None, None, ""),
    ("postun fails", None, None, ""),
]


@pytest.mark.parametrize(("defect", "dnf", "zypper", "words"), OF_PACKAGES, ids=[row[0] for row in OF_PACKAGES])
def test_a_package_is_charged_with_its_own_defects_alone(
    defect: str, dnf: object, zypper: object, words: str, rpm_server: Server
) -> None:
    if defect in ("conflict", "file of another"):
        rpm_server.has("mlx-modules")
    wanted = {"dnf": dnf, "zypper": zypper}[rpm_server.tool]
    assert blamed(rpm_server, rpm_server.knows(defect), words) == wanted


@pytest.mark.parametrize(("defect", "wanted"), [("unsigned", CARD), ("foreign", BenchFault)])
def test_zypper_checks_each_package_where_it_is_asked_to(defect: str, wanted: object, vendor: tuple[Path, str]) -> None:
    """``gpgcheck=1`` alone lets pass what a signed list names: zypp.conf, pkg_gpgcheck."""
    with server_of("zypper", vendor[0]) as made:
        made.add_repository("strict", f"file://{place(defect)}", "pkg_gpgcheck=1\n")
        assert blamed(made, version_of(defect), "") == wanted


def test_every_defect_is_tried() -> None:
    assert {row[0] for row in OF_PACKAGES} | {"replaces"} == set(DEFECTS)


@pytest.mark.parametrize("defect", ["preun fails", "postun fails"])
def test_a_package_whose_removal_fails_is_charged(defect: str, rpm_server: Server) -> None:
    rpm_server.has(NAME, rpm_server.knows(defect))
    refused = rpm_server.host.drivers.remove_package(NAME).refused
    assert refused is not None and "scriptlet failed" in refused


def test_a_defect_of_another_version_is_not_this_ones(rpm_server: Server) -> None:
    """The tools name every version that they have tried when they find none that fits."""
    for defect in ("needs", "conflict"):
        rpm_server.knows(defect)
    rpm_server.has(NAME, NEW)
    rpm_server.has("manager-new")
    assert blamed(rpm_server, OLD, "") in (BenchFault, Undecided)


@pytest.mark.parametrize("version", ["99", f"{NEW}-2"])
def test_a_version_that_no_repository_has_is_the_benchs(version: str, rpm_server: Server) -> None:
    assert blamed(rpm_server, version, version) == BenchFault


GONE = {"refused": "http://127.0.0.1:9/x", "no name": "http://mirror.invalid/x", "no folder": "file:///srv/none"}


@pytest.mark.parametrize("url", GONE.values(), ids=GONE)
@pytest.mark.parametrize("tool", ["dnf", "zypper"])
def test_a_mirror_that_is_gone_is_the_benchs(tool: str, url: str, vendor: tuple[Path, str]) -> None:
    with server_of(tool, vendor[0], url) as made:
        assert blamed(made, NEW, "") == BenchFault


@contextmanager
def mirror(vendor: Path, folder: Path, *, without: bool = False, damaged: bool = False) -> Iterator[str]:
    """A mirror whose lists are as they were, and whose package is gone or damaged."""
    shutil.copytree(vendor / REPOSITORY.lstrip("/"), folder)
    file = folder / f"{NAME}-{NEW}-1.x86_64.rpm"
    content = bytearray(file.read_bytes())
    content[len(content) // 2] ^= 1
    if damaged:
        file.write_bytes(content)
    if without:
        file.unlink()
    with web(folder) as url:
        yield url


@pytest.mark.parametrize("kind", ["without", "damaged"])
@pytest.mark.parametrize("tool", ["dnf", "zypper"])
def test_a_mirror_that_lost_or_damaged_the_package_is_the_benchs(
    tool: str, kind: str, vendor: tuple[Path, str], tmp_path: Path
) -> None:
    with mirror(vendor[0], tmp_path / "web", **{kind: True}) as url, server_of(tool, vendor[0], url) as made:
        assert blamed(made, NEW, NAME) == BenchFault


def test_a_second_repository_that_is_gone_harms_no_change(rpm_server: Server) -> None:
    """zypper ends with 106 then."""
    rpm_server.add_repository("extra", "http://127.0.0.1:9/x", "skip_if_unavailable=1\n")
    assert blamed(rpm_server, NEW, "") is None
    assert blamed(rpm_server, rpm_server.knows("needs"), "") == BenchFault
    rpm_server.has(NAME, OLD)


def test_a_disk_without_room_is_the_benchs(rpm_server: Server) -> None:
    rpm_server.machine.must("mkdir -p /lib/modules/5.14.0 && mount -t tmpfs -o size=1m none /lib/modules/5.14.0")
    assert blamed(rpm_server, rpm_server.knows("large"), "3MB more space") == BenchFault


def test_a_disk_that_cannot_be_written_is_the_benchs(rpm_server: Server) -> None:
    rpm_server.machine.must("mkdir -p /lib/modules/5.14.0 && mount -t tmpfs -o ro none /lib/modules/5.14.0")
    assert blamed(rpm_server, NEW, "more space on the") == BenchFault


def test_a_server_that_lacks_the_vendors_key_is_the_benchs(rpm_server: Server) -> None:
    rpm_server.machine.must("rpm -e gpg-pubkey && rm /srv/vendor/RPM-GPG-KEY-vendor")
    assert blamed(rpm_server, NEW, "") == BenchFault


@contextmanager
def held(server: Server, command: str) -> Iterator[None]:
    """Another program runs in the server: it says a line when it holds what it takes."""
    with subprocess.Popen(server.machine.entering(command), stdout=subprocess.PIPE) as holder:
        assert holder.stdout is not None and holder.stdout.readline()
        try:
            yield
        finally:
            holder.kill()


def test_a_database_that_another_program_changes_is_the_benchs(rpm_server: Server) -> None:
    rpm_server.has(NAME, OLD)
    with held(rpm_server, f"""exec python3 -c "{LOCK}; print(1, flush=True); time.sleep(60)" """):
        assert blamed(rpm_server, NEW, "transaction lock") == BenchFault
        with pytest.raises(BenchFault, match="transaction lock"):
            rpm_server.host.drivers.remove_package(NAME)


def test_a_zypper_that_runs_already_is_the_benchs(vendor: tuple[Path, str]) -> None:
    with server_of("zypper", vendor[0]) as made, held(made, "echo $$ > /run/zypp.pid; echo 1; exec sleep 60"):
        assert blamed(made, NEW, "System management is locked") == BenchFault

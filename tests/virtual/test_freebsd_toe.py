"""TCP of a Chelsio card on a FreeBSD server of the virtual bench: what its driver shows of it, and refuses."""

from __future__ import annotations

from pathlib import Path

import pytest
from guest_root import Root

from niclab.hosts.engine.tids import read_tids

OLD = 'tcp ESTAB 0 0 198.18.10.1:5201 198.18.10.2:40000 users:(("iperf3",pid=400,fd=5))'
NEW = 'tcp ESTAB 0 0 198.18.10.1:5201 198.18.10.2:4000{} users:(("iperf3",pid=501,fd={}))'
ELSEWHERE = 'tcp ESTAB 0 0 10.0.0.1:22 10.0.0.9:40000 users:(("sshd",pid=600,fd=5))'


@pytest.fixture
def root(tmp_path: Path) -> Root:
    made = Root(tmp_path, "chelsio-t580-cr")
    sockets(made, OLD)
    return made


def sockets(root: Root, *lines: str) -> None:
    root.write("tools/ss", "#!/bin/sh\ncat <<'E'\n" + "".join(f"{line}\n" for line in lines) + "E\n")
    (root.path / "tools/ss").chmod(0o755)


def said(root: Root, *words: str) -> str:
    done = root.run(*words)
    assert done.status == 0, done
    return done.out


def connections(root: Root) -> int:
    return read_tids(said(root, "sysctl", "-n", "dev.t5nex.0.misc.tids"))


def clusters(root: Root) -> int:
    lines = said(root, "sysctl", "-n", "dev.cxl.0.ofld_rxq").splitlines()
    return sum(map(int, lines))


def receives(root: Root, octets: int) -> None:
    file = root.path / "sys/class/net/cxl0/statistics/rx_bytes"
    file.write_text(f"{int(file.read_text()) + octets}\n")


def defect(root: Root, ignored: int, off: int) -> None:
    root.write("sys/module/vcard/parameters/engine", f"0 0 {ignored} {off}\n0 1 0 0\n1 0 0 0\n1 1 0 0\n")


def switched_on(root: Root) -> None:
    said(root, "kldload", "t4_tom")
    said(root, "ifconfig", "cxl0", "toe")
    sockets(root, OLD, ELSEWHERE, *(NEW.format(number, number) for number in range(4)))


def test_it_is_refused_until_its_module_is_loaded(root: Root) -> None:
    refused = root.run("ifconfig", "cxl0", "toe")
    assert (refused.status, refused.err) == (1, "ifconfig: toe: Resource temporarily unavailable\n")
    assert "You must kldload t4_tom.ko before trying to enable TOE" in (root.path / "dev/kmsg").read_text()
    switched_on(root)
    assert "TOE4" in said(root, "ifconfig", "cxl0") and "TOE4" not in said(root, "ifconfig", "cxl1")


def test_its_connections_are_those_of_programs_that_began_later(root: Root) -> None:
    assert connections(root) == 0
    switched_on(root)
    assert connections(root) == 4
    said(root, "ifconfig", "cxl0", "-toe")
    assert connections(root) == 0


def test_a_module_in_use_stays_and_takes_what_it_brought_along(root: Root) -> None:
    switched_on(root)
    for module in ("t4_tom", "if_cxgbe"):
        assert root.run("kldunload", module).err == "kldunload: can't unload file: Device busy\n"
    assert root.run("kldstat", "-q", "-n", "toecore").status == 0
    said(root, "ifconfig", "cxl0", "-toe")
    said(root, "kldunload", "t4_tom")
    assert [root.run("kldstat", "-q", "-n", name).status for name in ("t4_tom", "toecore")] == [1, 1]


def test_what_is_not_placed_takes_buffers(root: Root) -> None:
    receives(root, 64 << 14)
    switched_on(root)
    assert clusters(root) == 0
    receives(root, 64 << 14)
    assert clusters(root) == 64
    said(root, "sysctl", "dev.t5nex.0.toe.ddp=1")
    receives(root, 64 << 14)
    assert clusters(root) == 64
    said(root, "sysctl", "dev.t5nex.0.toe.ddp=0")
    receives(root, 2000 << 14)
    assert clusters(root) == 2064


def test_defects_are_not_shown_but_by_counts(root: Root) -> None:
    switched_on(root)
    defect(root, 1, 0)
    receives(root, 64 << 14)
    assert connections(root) == 0 and clusters(root) == 0 and "TOE4" in said(root, "ifconfig", "cxl0")
    defect(root, 0, 1)
    said(root, "sysctl", "dev.t5nex.0.toe.ddp=1")
    receives(root, 64 << 14)
    assert connections(root) == 4 and clusters(root) == 128
    assert said(root, "sysctl", "-n", "dev.t5nex.0.toe.ddp") == "1\n"


def test_what_the_driver_marks_to_be_skipped_is_shown_only_if_asked_for(root: Root) -> None:
    assert "misc" not in said(root, "sysctl", "dev.t5nex.0") and "toecaps: 1<TOE>" in said(
        root, "sysctl", "dev.t5nex.0"
    )
    wrong = root.run("sysctl", "dev.t5nex.0.toe.ddp=on")
    assert (wrong.status, wrong.err) == (1, "sysctl: invalid integer 'on'\n")

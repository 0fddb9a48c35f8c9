"""A record of an interface in open-iscsi: made with each value, read back, removed; those of others stay."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest
from fake_bench import FakeBench
from fake_parts import changes

from niclab.bench.records import Role
from niclab.core.verdict import BenchFault
from niclab.hosts.errors import ReadError
from niclab.run.run import Run
from niclab.storage.offload.iface_record import IfaceRecord, read, recorded

VALUES = {"transport_name": "bnx2i", "hwaddress": "02:00:00:00:00:02", "ipaddress": "198.18.10.254", "vlan_id": "0"}
RECORD = IfaceRecord("niclab.a", VALUES)
SHOWN = """# BEGIN RECORD 2.1.8
iface.iscsi_ifacename = niclab.a
iface.net_ifacename = <empty>
iface.ipaddress = 198.18.10.254
iface.hwaddress = 02:00:00:00:00:02
iface.transport_name = bnx2i
iface.initiatorname = <empty>
iface.vlan_id = 0
# END RECORD
"""
SHOWS, MAKES, REMOVES = "iscsiadm -m iface -I niclab.a", "iscsiadm -m iface -I niclab.a -o new", "! iscsiadm"


@pytest.fixture
def shown(bench: FakeBench) -> dict[str, str]:
    """The record as the dut shows it, by ``text``."""
    now = {"text": SHOWN}
    ssh = bench.ssh[Role.DUT]
    ssh.replies |= {MAKES: "", REMOVES: "", SHOWS: lambda command: now["text"] if command == SHOWS else ""}
    return now


@pytest.mark.usefixtures("shown")
def test_a_record_is_made_read_back_and_removed(bench: FakeBench, taken: Run) -> None:
    before = len(changes(taken.journal))
    with recorded(taken, taken.server(Role.DUT), RECORD):
        assert len(changes(taken.journal)) == before + 1
    assert len(changes(taken.journal)) == before
    commands = bench.ssh[Role.DUT].commands
    (made,) = (each for each in commands if each.startswith(MAKES))
    assert all(f"-o update -n iface.{name} -v {value} " in made for name, value in VALUES.items())
    assert [each for each in commands if each.startswith(REMOVES) and "-o delete" in each]


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("vlan_id = 0", "vlan_id = 7", r"iface\.vlan_id is 7; expected 0"),
        ("hwaddress = 02:00:00:00:00:02", "hwaddress = <empty>", r"iface\.hwaddress is <empty>; expected 02:00"),
        ("iface.ipaddress = 198.18.10.254\n", "", r"iface\.ipaddress is <empty>; expected 198"),
    ],
)
def test_a_value_that_open_iscsi_does_not_take_is_the_benchs_fault(
    taken: Run, shown: dict[str, str], old: str, new: str, words: str
) -> None:
    shown["text"] = SHOWN.replace(old, new)
    before = len(changes(taken.journal))
    with pytest.raises(BenchFault, match=words), recorded(taken, taken.server(Role.DUT), RECORD):
        pytest.fail("no session may begin")
    assert len(changes(taken.journal)) == before


@pytest.mark.parametrize("text", ["iface.transport_name = tcp\ngossip\n", "iface.mtu = 0\n", ""])
def test_other_words_are_refused(text: str) -> None:
    with pytest.raises(ReadError, match="expected iface"):
        read(text)


def test_what_nobody_has_set_is_left_out() -> None:
    assert read(SHOWN) == VALUES | {"iscsi_ifacename": "niclab.a"}


class OpenIscsi:
    """``iscsiadm`` as a script that keeps records as files, in a real shell."""

    def __init__(self, folder: Path) -> None:
        self.records = folder / "ifaces"
        self.records.mkdir()
        (folder / "iscsiadm").write_text(
            f"""#!/bin/sh
f={self.records}/$4
case "$*" in
  *"-o new") : > $f ;;
  *"-o update"*) echo "$8 = ${{10}}" >> $f ;;
  *"-o delete") rm $f ;;
  *) cat $f ;;
esac
"""
        )
        (folder / "iscsiadm").chmod(0o755)
        self._path = f"{folder}:{os.environ['PATH']}"

    def run(self, command: str) -> str:
        done = subprocess.run(["sh", "-c", command], env={"PATH": self._path}, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        return done.stdout


def test_the_commands_make_and_remove_a_record_in_a_real_shell(tmp_path: Path) -> None:
    program = OpenIscsi(tmp_path)
    (program.records / "other").touch()
    program.run(RECORD.make)
    assert read((program.records / "niclab.a").read_text()) == VALUES
    program.run(RECORD.remove)
    program.run(RECORD.remove)  # also where a boot or a former undo has removed it
    assert [each.name for each in program.records.iterdir()] == ["other"]

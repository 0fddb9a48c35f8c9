"""The bench file of a virtual bench."""

from __future__ import annotations

from pathlib import Path

import pytest

import benchfile
import layout
from niclab.bench.bench_file import load_bench
from niclab.bench.records import Role
from niclab.core.verdict import BenchFault

KEPT = Path(__file__).parents[2] / "lab" / "benches" / "virtual.yaml"


def test_the_kept_file_is_what_the_default_bench_renders() -> None:
    assert KEPT.read_text() == benchfile.render(layout.bench()), f"write {KEPT.name} again with: vbench bench-file"


@pytest.fixture
def rendered(tmp_path: Path) -> Path:
    file = tmp_path / "vt.yaml"
    file.write_text(benchfile.render(layout.bench("vt")))
    return file


def test_the_lab_takes_the_file_of_another_bench(rendered: Path) -> None:
    laid_out, taken = layout.bench("vt"), load_bench(rendered)
    for role in Role:
        server, wanted = taken.server(role), laid_out.server(role.value)
        assert server.ssh.address == wanted.address
        assert server.ssh.port == layout.SSH_PORT
        assert server.bmc is not None
        assert server.bmc.ipmi is not None
        assert server.bmc.ipmi.address == wanted.bmc_address
    for port in taken.ports:
        wanted_port = next(p for p in laid_out.server(port.role.value).ports if p.name == port.name.split(".")[1])
        assert str(port.mac) == wanted_port.mac
        assert str(port.pci) == wanted_port.pci


def test_its_commands_name_the_bench(rendered: Path) -> None:
    commands = [line for line in rendered.read_text().splitlines() if "lab/virtual/vbench " in line]
    assert len(commands) == 1 + 7 + 4 + 2
    assert all(line.endswith(" --name vt") for line in commands)
    assert " --name" not in benchfile.render(layout.bench())


def test_the_lab_refuses_the_file_when_a_port_is_there_twice(rendered: Path) -> None:
    first, second = (port.mac for port in layout.bench("vt").server("dut").ports)
    rendered.write_text(rendered.read_text().replace(second, first))
    with pytest.raises(BenchFault, match=first):
        load_bench(rendered)

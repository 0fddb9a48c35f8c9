"""The layers stay apart: who may import whom, and what may not stand where."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from parsed_tree import imports

REPOSITORY = Path(__file__).resolve().parents[1]
NICLAB = REPOSITORY / "libraries" / "niclab"
VIRTUAL = REPOSITORY / "lab" / "virtual"
TRANSPORTS = {
    "asyncssh": "ssh",
    "pyipmi": "ipmi",
    "requests": "redfish",
    "serial": "serial",
    "pysnmp": "snmp",
}


def offenders(folder: Path, forbidden: str) -> list[str]:
    """Files below ``folder`` that import the package ``forbidden``."""
    files = sorted(folder.rglob("*.py"))
    assert files
    return [
        str(file.relative_to(REPOSITORY))
        for file in files
        if any(name.split(".")[0] == forbidden for name in imports(file))
    ]


def test_niclab_knows_nothing_of_robot_framework() -> None:
    assert offenders(NICLAB, "robot") == []
    assert offenders(NICLAB, "SSHLibrary") == []


def test_the_virtual_bench_knows_nothing_of_the_framework() -> None:
    assert offenders(VIRTUAL, "niclab") == []
    assert offenders(VIRTUAL, "robot") == []


def test_the_framework_knows_nothing_of_the_virtual_bench() -> None:
    modules = {file.stem for file in VIRTUAL.glob("*.py")} | {"bmc"}
    for file in (*NICLAB.rglob("*.py"), *(REPOSITORY / "libraries").glob("*.py")):
        assert not modules & set(imports(file)), file
        assert "vbench" not in file.read_text(), file


@pytest.mark.parametrize(("package", "module"), TRANSPORTS.items())
def test_each_transport_package_is_imported_by_its_module_only(package: str, module: str) -> None:
    found = {Path(name).stem for name in offenders(REPOSITORY / "libraries", package)}
    assert all(name.split("_")[0] in (module, "console") for name in found), found


def test_suites_and_resources_hold_no_addresses_interfaces_or_loops() -> None:
    data = re.compile(r"\b\d{1,3}(\.\d{1,3}){3}\b|\b(eth|enp)\d|\b[0-9a-f]{4}:[0-9a-f]{2}:[0-9a-f]{2}\.")
    control = re.compile(r"^\s+(IF|FOR|WHILE|Evaluate)\b", re.MULTILINE)
    files = [*(REPOSITORY / "suites").rglob("*.robot"), *(REPOSITORY / "resources").glob("*.resource")]
    assert files
    for file in files:
        assert not data.search(file.read_text()), file
        assert not control.search(file.read_text()), file
        assert "virtual" not in file.read_text().replace("lab/benches/virtual.yaml", ""), file


def test_tags_are_from_the_closed_list() -> None:
    equipment, rows = "needs:(bmc|console|cable|switch)", "per:(offload|ring|coalescing|setting)"
    allowed = re.compile(
        rf"(?:req|touches):[A-Z]{{3,4}}-\d\d(?:/[a-z0-9-]+)?|{equipment}|{rows}|disruptive|slow|allure\.[a-z]+:\S+"
    )
    for file in (REPOSITORY / "suites").rglob("*.robot"):
        for line in file.read_text().splitlines():
            if match := re.match(r"\s*(?:Test Tags|\[Tags\])\s+(.*)", line):
                for tag in re.split(r"\s{2,}", match[1].strip()):
                    assert allowed.fullmatch(tag), f"{file}: {tag}"


def test_the_mtu_is_changed_in_one_module() -> None:
    """Only there do both ends of the path go down and up after it."""
    files = [file for file in (REPOSITORY / "libraries").rglob("*.py") if "hosts" not in file.parts]
    assert files
    assert [file.name for file in files if ".set_mtu(" in file.read_text()] == ["mtu.py"]


def test_a_breach_would_be_found(tmp_path: Path) -> None:
    """Negative control of this file's own search."""
    file = tmp_path / "module.py"
    file.write_text("import os\nfrom robot.api import logger\n")
    assert "robot.api" in set(imports(file))

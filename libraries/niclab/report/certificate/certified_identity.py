"""The identity of the card, its slots and the bench on a certificate, by the files that the run kept."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from niclab.bench.bench_file import load_bench
from niclab.bench.records import Bench, Role
from niclab.card import Card, load_card, unknown_facts
from niclab.core.verdict import BenchFault
from niclab.report.certificate.unknown_facts import passed_over
from niclab.report.evidence.inputs import Input, kept

MEASUREMENTS = "measurements.json"


def identity_of(run_dir: Path) -> dict[str, Any]:
    """Return the identity of the card: PCI id and ports on the sheet; empty where no sheet was kept.

    Args:
        run_dir: Folder of the run.
    """
    sheet = _sheet(run_dir)
    if sheet is None:
        return {}
    card = sheet.identity
    return {
        "pci_id": f"{card.vendor_id}:{card.device_id}",
        "ports": card.ports,
        "known_issues": [erratum.text for erratum in sheet.errata],
        "unknown": [f"{field}: {fact.unknown}" for field, fact in unknown_facts(sheet)],
    }


def bench_of(run_dir: Path, run: Mapping[str, Any]) -> dict[str, Any]:
    """Return the servers with ports and software, and the paths between them; empty where no bench file was kept.

    Args:
        run_dir: Folder of the run.
        run: Content of ``run.json``: it may have been called with other systems on the servers.
    """
    try:
        sheet = _sheet(run_dir)
        bench = _bench(run_dir, run)
        bench = bench.with_card(sheet.name) if sheet else bench
    except BenchFault:
        return {}
    links = _pcie_links(run_dir)
    return {
        "description": bench.description,
        "deviations": [
            f"{each.fact.value}: {each.how} ({each.source})"
            for each in bench.deviations
            if sheet and each.is_of(sheet.name, bench.servers.dut.os)
        ],
        "servers": {
            role.value: {**_server(bench, role, links), "software": (run.get("software") or {}).get(role.value, {})}
            for role in Role
        },
        "paths": [
            {"name": path.name, "ends": list(path.ends), "through": path.through.value, "rate_scale": path.rate_scale}
            for path in bench.paths
        ],
        "switch": bench.switch.name if bench.switch else None,
    }


def unknown_of(run_dir: Path, run: Mapping[str, Any]) -> dict[str, list[str]]:
    """Return the unknown facts of the sheet that tests pass over, by the parts of requirements that they decide.

    Args:
        run_dir: Folder of the run.
        run: Content of ``run.json``: it may have been called with another system on the dut.

    Raises:
        BenchFault: Sheet or bench file were not kept.
    """
    system = _bench(run_dir, run).server(Role.DUT).os
    found: dict[str, list[str]] = {}
    for part, text in passed_over(load_card(str(kept(run_dir, Input.SHEET))), system):
        found.setdefault(part, []).append(text)
    return found


def _bench(run_dir: Path, run: Mapping[str, Any]) -> Bench:
    """The bench with the systems that the run was called with.

    Raises:
        BenchFault: No bench file was kept.
    """
    called = run.get("called") or {}
    return load_bench(kept(run_dir, Input.BENCH)).with_systems({role: called.get(role.value, "") for role in Role})


def _server(bench: Bench, role: Role, links: dict[str, str]) -> dict[str, Any]:
    ports = [port for port in bench.ports if port.role is role]
    return {
        "os": bench.server(role).boots,
        "ports": [
            {
                "name": port.name,
                "pci": port.pci,
                "slot": port.slot,
                "mac": port.mac,
                "pcie_link": links.get(port.pci) if role is Role.DUT else None,
            }
            for port in ports
        ],
    }


def _sheet(run_dir: Path) -> Card | None:
    try:
        return load_card(str(kept(run_dir, Input.SHEET)))
    except BenchFault:
        return None


def _pcie_links(run_dir: Path) -> dict[str, str]:
    """PCI address of the dut -> its link, as the measurements say it."""
    try:
        measured = json.loads((run_dir / MEASUREMENTS).read_text("utf-8"))["measurements"]
        return {str(each["key"]["slot"]): str(each["key"]["pcie_link"]) for each in measured}
    except (OSError, ValueError, KeyError, TypeError):
        return {}

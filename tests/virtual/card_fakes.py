"""Benches with virtual cards, for tests without machines."""

from __future__ import annotations

import subprocess
from pathlib import Path

import cardmodel
import layout
import nvram

CARD = "emulex-oce11102"


def card_bench(folder: Path, dut: str = CARD, peer: str = CARD) -> layout.Bench:
    """A bench with these cards whose state is below ``folder``; the memories of its virtual cards are laid out."""
    saved, layout.STATE = layout.STATE, folder
    try:
        bench = layout.bench("t", {"dut": cardmodel.card(dut), "peer": cardmodel.card(peer)})
    finally:
        layout.STATE = saved
    for server in bench.servers:
        server.folder.mkdir(parents=True, exist_ok=True)
        if server.card.virtual:
            nvram.lay_out(server.nvram, server.card.name, server.serial, {p.place: p.mac for p in server.ports})
    return bench


def compiled(source: str, folder: Path) -> str:
    """Compile and run a C program against the card's own header; what it prints."""
    (folder / "probe.c").write_text(source)
    include = nvram.HEADER.parent
    subprocess.run(["cc", "-I", str(include), "-o", "probe", "probe.c"], cwd=folder, check=True)
    return subprocess.run([folder / "probe"], check=True, capture_output=True, text=True).stdout

"""Negative controls: a defect is injected on a virtual bench of their own; exactly the intended tests must go red."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from control_bench import NAME, Bench


@pytest.fixture(scope="session")
def bench(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bench]:
    scratch = tmp_path_factory.mktemp("controls")
    bench = Bench(scratch / f"{NAME}.yaml", scratch)
    bench.vbench("up", "--fresh")
    bench.file.write_text(bench.vbench("bench-file"))
    try:
        yield bench
    finally:
        bench.vbench("down", "--now", "--purge")


@pytest.fixture(autouse=True)
def mended(bench: Bench) -> Iterator[None]:
    """Whatever a control has broken is whole again for the next one."""
    yield
    bench.vbench("up")
    bench.vbench("fault", "clear")
    for cable in ("a", "b"):
        bench.vbench("cable", "plug", cable)
    bench.vbench("switch", "reset")
    bench.vbench("wiring", "direct")

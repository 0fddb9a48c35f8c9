"""The needs of a storage workload: servers that run Linux, and programs that are installed on them."""

from __future__ import annotations

from collections.abc import Sequence

from niclab.bench.records import OperatingSystem
from niclab.core.verdict import NotApplicable
from niclab.run.run import Run
from niclab.run.server import Server


def require_linux(run: Run, why: str) -> None:
    """Require that both servers run Linux.

    Args:
        run: The current run.
        why: The reason.

    Raises:
        NotApplicable: One does not.
    """
    for server in run.servers.values():
        if server.description.os is not OperatingSystem.LINUX:
            system = server.description.os.value
            raise NotApplicable(f"{server.name} runs {system}: {why}")


def missing_programs(server: Server, names: Sequence[str]) -> list[str]:
    """Return the programs that are not installed on a server.

    Args:
        server: The server.
        names: Their names.
    """
    has = "; ".join(f"command -v {name} >/dev/null || echo {name}" for name in names)
    return server.run(f"{{ {has}; }}").stdout.split()

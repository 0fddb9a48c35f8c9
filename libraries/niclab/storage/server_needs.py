"""The needs of a storage workload: servers that run Linux, and programs that are installed on them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from niclab.bench.records import OperatingSystem
from niclab.core.verdict import BenchFault, NotApplicable
from niclab.run.run import Run
from niclab.run.server import Server

_ANY = ("0.0.0.0", "*", "[::]")


@dataclass(frozen=True)
class Needs:
    """The needs of one server: programs and kernel modules by name, and memory for what it offers, in bytes."""

    programs: tuple[str, ...] = ()
    modules: tuple[str, ...] = ()
    memory_bytes: int = 0

    def __str__(self) -> str:
        named = [*self.programs, *(f"module {name}" for name in self.modules)]
        return ", ".join([*named, *([f"{self.memory_bytes >> 10} KiB of memory"] if self.memory_bytes else [])])


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


def missing(server: Server, needs: Needs) -> list[str]:
    """Return what a server lacks, in words. Nothing is loaded.

    Args:
        server: The server.
        needs: Its needs.
    """
    looks = [f"command -v {name} >/dev/null || echo {name}" for name in needs.programs]
    looks += [f"modprobe -n -q {name} || echo module {name}" for name in needs.modules]
    if needs.memory_bytes:
        kib = needs.memory_bytes >> 10
        look = f"[ $n != MemAvailable: ] || [ $v -ge {kib} ] || echo {kib} KiB of memory"
        looks.append(f"while read -r n v u; do {look}; done </proc/meminfo")
    return server.run("\n".join([*looks, ":"])).stdout.splitlines()


def begin_target(server: Server, what: str, folder: str, modules: Sequence[str]) -> None:
    """Load the modules of the kernel's own target, and mount ``configfs`` where it is not.

    Args:
        server: The server.
        what: The target, for messages.
        folder: Its folder in configfs.
        modules: Its modules, those that they need included.

    Raises:
        BenchFault: The kernel has no such target.
    """
    asked = server.ssh.run(
        f"modprobe -a {' '.join(modules)} && "
        f"{{ [ -d {folder} ] || mount -t configfs configfs {folder.rpartition('/')[0]}; }}"
    )
    if not asked.succeeded:
        raise BenchFault(
            f"{server.name}: cannot offer {what}: {asked.stderr.strip()[-200:]}; "
            f"expected the modules {' and '.join(modules)} of its kernel"
        )


def require_absent(server: Server, paths: Sequence[str]) -> None:
    """Require that nothing of the lab is left where it is to make something.

    Args:
        server: The server.
        paths: Files and folders.

    Raises:
        BenchFault: One is there.
    """
    left = server.run("; ".join(f"[ ! -e {each} ] || echo {each}" for each in paths)).stdout.split()
    if left:
        raise BenchFault(f"{server.name}: {' and '.join(left)} exist already; expected none (niclab restore)")


def require_port_free(server: Server, address: str, port: int) -> None:
    """Require that nobody listens where a target of the lab is to listen.

    Args:
        server: The server.
        address: Of the server, on a path.
        port: The TCP port.

    Raises:
        BenchFault: Somebody does.
    """
    for line in server.host.links.listeners(port):
        if any(f" {each}:{port} " in line for each in (address, *_ANY)):
            raise BenchFault(f"{server.name}: {' '.join(line.split())}; expected nobody at {address}:{port}")

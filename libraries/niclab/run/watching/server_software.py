"""The software of both servers on the certificate: what they say that they run when the bench is acquired."""

from __future__ import annotations

from niclab.bench.records import Role
from niclab.core.parallel import side_by_side
from niclab.core.verdict import BenchFault
from niclab.hosts.system.common import UNKNOWN_VERSION
from niclab.run.driver_in_use import driver_in_words
from niclab.run.run import Run

NOT_READ = "not read"


def software_of(run: Run) -> dict[str, dict[str, str]]:
    """Read system, kernel, the origin of the driver and the versions of the programs that the lab uses on both servers.

    A program that does not say its version is left out. What cannot be read has the reason in its place and judges
    nothing: a server that is lost is found by others.

    Args:
        run: The run.

    Returns:
        Role -> name -> version.
    """
    programs = ("ssh", run.bench.traffic.value)
    found = side_by_side(lambda role: _read(run, role, programs), Role)
    return {role.value: versions for role, versions in zip(Role, found, strict=True)}


def _read(run: Run, role: Role, programs: tuple[str, ...]) -> dict[str, str]:
    system = run.server(role).host.system
    try:
        found = system.software((*system.needed_tools(), *programs))
        driver = driver_in_words(run, role)
    except BenchFault as fault:
        return {NOT_READ: str(fault)}
    names = {"system": found.release.pretty_name or found.release.id, "kernel": found.kernel, "driver": driver}
    return names | {name: version for name, version in found.tools.items() if version and version != UNKNOWN_VERSION}

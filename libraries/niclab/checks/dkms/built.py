"""A driver that DKMS builds of its package's source: was it built, for which kernels, and who is at fault if not."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, ExitStack
from typing import NoReturn

from niclab.checks.asked import Say
from niclab.core.undo import SLOW_DEADLINE_S
from niclab.core.verdict import BenchFault, CardFailure, Collected, NotApplicable, Undecided
from niclab.hosts.drivers.build_records import Build, BuildEnd, InstalledKernel, Source
from niclab.hosts.host import Host
from niclab.run.run import Run
from niclab.run.server import Server
from niclab.run.temporary import put_back

Kept = Callable[[Source, str], AbstractContextManager[None]]
"""Puts back what is built of a source for a kernel when its ``with`` block ends."""
_CARDS = (BuildEnd.OF_DRIVER, BuildEnd.NO_SOURCE, BuildEnd.NOT_NEWER)


def require_built(host: Host, package: str, module: str, refused: str | None) -> None:
    """Check that DKMS has built and installed a package's driver for the running kernel.

    A driver that is not there is built once more, to see why. A package that brings its modules built is not asked.

    Args:
        host: The server.
        package: Name of the package; some of it must be installed.
        module: Name of the driver's module.
        refused: The package system's words where it has refused the package.

    Raises:
        CardFailure: The driver's source cannot be built, or the package's script has not had it built.
        BenchFault: The server has no headers of its kernel, or can build no module at all.
        Undecided: Nothing names the cause, or the source is not for this kernel.
    """
    sources, judged = host.builds.sources(package), Collected()
    kernels = host.builds.kernels() if sources else ()
    for kernel in sorted(kernels, key=lambda each: not each.is_running):
        if not kernel.is_running and (refused is None or not kernel.has_headers):
            continue  # a package that is refused may have failed for the newest kernel, for which it is built, too
        for source in sources:
            with judged.one():
                if not host.builds.is_installed(source, kernel.release):
                    _require_buildable(host, package, source, kernel, refused)
        if kernel.is_running and not judged.problems and not judged.doubts:
            with judged.one():
                _require_of_kernel(host, module, kernel)
    judged.end()


def _require_buildable(host: Host, package: str, source: Source, kernel: InstalledKernel, refused: str | None) -> None:
    subject = f"{host.name}: package {package}: DKMS has no module of {source} for kernel {kernel.release}"
    build = host.builds.build(source, kernel.release)
    if build.end is BuildEnd.EXCLUDED and not kernel.is_running:
        return
    if build.end is not BuildEnd.DONE:
        _judge(subject, build, kernel)
    if refused is not None:
        raise Undecided(f"{subject}: {refused}; it can be built now")
    if not host.builds.is_at_installation():
        raise BenchFault(
            f"{subject}: /etc/dkms/no-autoinstall is there; expected a server that builds what it installs"
        )
    raise CardFailure(f"{subject} after the installation, and can build one; expected the package to do it")


def kept_builds(run: Run, server: Server) -> Kept:
    """Return what has the journal put back the builds of a server.

    Args:
        run: The current run.
        server: The server.
    """

    def kept(source: Source, release: str) -> AbstractContextManager[None]:
        what, restoring = f"{source} is built again for {release}", server.host.builds.restoring(source, release)
        return put_back(run, server, f"{server.name} builds", what, restoring, deadline_s=SLOW_DEADLINE_S)

    return kept


def require_built_for_others(host: Host, package: str, module: str, say: Say, kept: Kept) -> None:
    """Let the server build the driver as when a kernel is installed, for each that is installed and does not run.

    Args:
        host: The server.
        package: Name of the package, which is installed.
        module: Name of the driver's module.
        say: Takes what was seen of each kernel.
        kept: Puts back what was built for a kernel.

    Raises:
        CardFailure: The driver's source cannot be built, is not built by itself, or the module is of another kernel.
        BenchFault: The server can build no module at all.
        NotApplicable: The package brings its modules built, or no other kernel can be built for.
        Undecided: Nothing names the cause.
    """
    sources = host.builds.sources(package)
    if not sources:
        raise NotApplicable(f"{host.name}: package {package} brings its modules built; DKMS builds none of it")
    others, judged, seen = [kernel for kernel in host.builds.kernels() if not kernel.is_running], Collected(), 0
    for kernel in others:
        if not kernel.has_headers:
            say(f"{host.name}: kernel {kernel.release} has no headers (package {kernel.headers})")
            continue
        with judged.one(), ExitStack() as undoing:
            for source in sources:
                undoing.enter_context(kept(source, kernel.release))
            ends = [_build_again(host, package, source, kernel) for source in sources]
            if BuildEnd.EXCLUDED in ends:
                say(f"{host.name}: package {package} says that it is not for kernel {kernel.release}")
                continue
            _require_of_kernel(host, module, kernel)
            say(f"{host.name}: DKMS has built {module} for kernel {kernel.release}")
            seen += 1
    judged.end()
    if not seen:
        found = ", ".join(f"{kernel.release} (headers: {kernel.headers})" for kernel in others)
        said = f"{host.name}: kernels that do not run: {found or 'none'}"
        raise NotApplicable(f"{said}; expected one with headers, that package {package} is for")


def require_nothing_left(host: Host, package: str, before: Sequence[str]) -> None:
    """Check that a package's removal has removed what DKMS had built of it; what is left is removed then.

    Args:
        host: The server.
        package: Name of the package.
        before: What there was of it before.

    Raises:
        CardFailure: Something is left.
    """
    left = host.builds.remaining(before)
    if left:
        host.builds.remove_remaining(left)
        found = ", ".join(left)
        raise CardFailure(f"{host.name}: package {package} has left {found}; expected nothing of what DKMS built")


def _build_again(host: Host, package: str, source: Source, kernel: InstalledKernel) -> BuildEnd:
    host.builds.build_again(source, kernel.release)
    if host.builds.is_installed(source, kernel.release):
        return BuildEnd.DONE
    build = host.builds.build(source, kernel.release)
    subject = f"{host.name}: package {package}: `dkms autoinstall -k {kernel.release}` leaves {source} without a module"
    if build.end is BuildEnd.DONE:
        expected = "expected AUTOINSTALL=yes in its dkms.conf (dkms(8))"
        raise CardFailure(f"{subject}, and `dkms install` does not; {expected}")
    if build.end is not BuildEnd.EXCLUDED:
        _judge(subject, build, kernel)
    return build.end


def _require_of_kernel(host: Host, module: str, kernel: InstalledKernel) -> None:
    file = host.builds.module_for(module, kernel.release)
    built_for = (file.vermagic or "").partition(" ")[0]
    place = (file.filename or "").removeprefix("/usr")
    is_own = file.in_tree is not False and place.startswith(f"/lib/modules/{kernel.release}/kernel/")
    if built_for == kernel.release and not is_own:
        return
    said = f"{host.name}: module {module} of kernel {kernel.release} is {file.place}, built for {built_for or 'none'}"
    if not kernel.has_headers:
        raise BenchFault(f"{said}; expected package {kernel.headers}, to build it with")
    why = " (dkms replaces no module of the kernel that is as new)" if is_own else ""
    raise CardFailure(f"{said}; expected DKMS's, built for {kernel.release}{why}")


def _judge(subject: str, build: Build, kernel: InstalledKernel) -> NoReturn:
    if build.end is BuildEnd.NO_HEADERS:
        raise BenchFault(f"{subject}: it has no headers; expected package {kernel.headers}")
    if build.end is BuildEnd.OF_SERVER:
        raise BenchFault(f"{subject}: the server cannot build modules: {build.words}; expected compiler, headers, room")
    if build.end in _CARDS:
        raise CardFailure(f"{subject}: {build.words}; expected a driver that can be built and installed")
    if build.end is BuildEnd.EXCLUDED:
        raise Undecided(f"{subject}, which the package excludes: {build.words}; expected a kernel that it is for")
    raise Undecided(f"{subject}: {build.words}")

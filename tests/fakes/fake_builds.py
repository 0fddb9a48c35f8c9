"""A fake DKMS: the sources of one package, the kernels of a server, and how builds for them end."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from niclab.hosts.drivers.build_records import Build, BuildEnd, InstalledKernel, Source
from niclab.hosts.drivers.modinfo import read_modinfo
from niclab.hosts.host_records import ModuleFile

RUNNING = InstalledKernel("6.1.0-56-amd64", True, True, "linux-headers-6.1.0-56-amd64")
OTHER = InstalledKernel("6.1.0-57-amd64", False, True, "linux-headers-6.1.0-57-amd64")
SOURCE = Source("e1000e", "3.8.7")
FILE = read_modinfo(
    f"filename: /lib/modules/{OTHER.release}/updates/dkms/e1000e.ko\nvermagic: {OTHER.release} SMP mod_unload\n"
)


class FakeBuilds:
    """Builds nothing by itself: ``installed`` are the kernels that have a module, ``ends`` how a build for one ends."""

    def __init__(self) -> None:
        self.of_package: tuple[Source, ...] = ()
        self.known: tuple[InstalledKernel, ...] = (RUNNING,)
        self.installed: set[str] = set()
        self.by_itself: set[str] = set()
        """The kernels for which a module is built when they are installed."""
        self.ends: dict[str, Build] = {}
        self.at_installation = True
        self.file = FILE
        self.running_file = replace(
            FILE, filename=f"/lib/modules/{RUNNING.release}/updates/dkms/e1000e.ko", vermagic=f"{RUNNING.release} SMP"
        )
        self.made: tuple[str, ...] = ()
        self.left: tuple[str, ...] = ()
        self.calls: list[str] = []

    def sources(self, package: str) -> tuple[Source, ...]:
        assert package
        return self.of_package

    def kernels(self) -> tuple[InstalledKernel, ...]:
        return self.known

    def is_installed(self, source: Source, release: str) -> bool:
        assert source in self.of_package
        return release in self.installed

    def is_at_installation(self) -> bool:
        return self.at_installation

    def build(self, source: Source, release: str) -> Build:
        self.calls.append(f"build {source} {release}")
        found = self.ends.get(release, Build(BuildEnd.DONE))
        if found.end is BuildEnd.DONE:
            self.installed.add(release)
        return found

    def build_again(self, source: Source, release: str) -> None:
        self.calls.append(f"again {source} {release}")
        self.installed.discard(release)
        if release in self.by_itself:
            self.installed.add(release)

    def restoring(self, source: Source, release: str) -> str:
        is_installed = self.is_installed(source, release)
        return f"dkms: {source} for {release} {'is' if is_installed else 'is not'} installed"

    def module_for(self, module: str, release: str) -> ModuleFile:
        assert module == "e1000e"
        return self.file if release == OTHER.release else self.running_file

    def files(self, sources: Sequence[Source]) -> tuple[str, ...]:
        return self.made if sources else ()

    def remaining(self, files: Sequence[str]) -> tuple[str, ...]:
        return tuple(file for file in files if file in self.left)

    def remove_remaining(self, files: Sequence[str]) -> None:
        self.calls.append(f"remove {' '.join(files)}")
        self.left = ()

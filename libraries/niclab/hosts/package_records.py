"""Packages as the package manager of a host lists them."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Package:
    """One package, of dpkg or rpm.

    ``installed``: it is there, whole and configured; None when the text does not say it. A package that the tool says
    it does not have is a readable answer: ``installed`` False, the rest None. ``status`` is the tool's own word:
    ``ii`` or ``install ok installed`` of dpkg. ``desired`` and ``state`` are what dpkg means by it: ``install``,
    ``hold``, ``deinstall``, ``purge``, ``unknown`` and ``installed``, ``config-files``, ``half-configured`` and so on;
    ``broken``: it must be installed again.
    ``release``: of rpm only, where it is no part of the version. ``architecture`` None: not said.
    """

    name: str
    version: str | None
    architecture: str | None
    status: str | None
    installed: bool | None
    desired: str | None = None
    state: str | None = None
    broken: bool | None = None
    epoch: int | None = None
    release: str | None = None
    description: str | None = None
    vendor: str | None = None
    source: str | None = None
    install_time: str | None = None

    def as_json(self) -> dict[str, object]:
        """``arch`` beside ``architecture``: rpm calls it so."""
        values: dict[str, object] = {name: getattr(self, name) for name in self.__dataclass_fields__}
        return values | {"arch": self.architecture}


@dataclass(frozen=True)
class Packages:
    """All packages of one answer, in its order."""

    packages: tuple[Package, ...]

    def as_json(self) -> dict[str, object]:
        """The list, and of a single package its values beside it."""
        values = self.packages[0].as_json() if len(self.packages) == 1 else {}
        return values | {"packages": self.packages}

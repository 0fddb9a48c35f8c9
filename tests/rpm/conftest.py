"""The vendor's repositories, made once, and servers of dnf and of zypper."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from rpm_servers import RELEASES, Server, make_vendor, server

import image
import rpmroot


@pytest.fixture(scope="session")
def vendor(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """The vendor's files on every server, and the id of the vendor's key."""
    if missing := image.missing_tools(rpmroot.TOOLS):
        pytest.skip(f"this machine lacks {', '.join(missing)}")
    folder = tmp_path_factory.mktemp("vendor")
    return folder, make_vendor(folder)


@pytest.fixture(params=RELEASES)
def rpm_server(request: pytest.FixtureRequest, vendor: tuple[Path, str]) -> Iterator[Server]:
    """A server as new, of each of the tools."""
    with server(request.param, vendor[0]) as made:
        yield made

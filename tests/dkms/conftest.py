"""The vendor's repository, made once, and servers with DKMS."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from dkms_servers import Server, make_vendor, server

import image
import rpmroot


@pytest.fixture(scope="session")
def vendor(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The vendor's files on every server."""
    if missing := image.missing_tools({**rpmroot.TOOLS, "dpkg-deb": "dpkg"}):
        pytest.skip(f"this machine lacks {', '.join(missing)}")
    folder = tmp_path_factory.mktemp("vendor")
    make_vendor(folder)
    return folder


@pytest.fixture
def dkms_server(vendor: Path) -> Iterator[Server]:
    """A server as new, with two kernels and the headers of both."""
    with server(vendor) as made:
        yield made

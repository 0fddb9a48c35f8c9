"""Bringing a bench up, without guests: names are checked first, a long step is announced, no proxy is asked."""

from __future__ import annotations

import fcntl
import socket
import ssl
import subprocess
from pathlib import Path
from types import SimpleNamespace

import pytest
from bench.real_bench import boot_id_in

import image
import layout
import lifecycle
from cardmodel import Card, ModelError
from layout import Bench
from qemu import Qemu, QemuError


class Built(Exception):
    """The image is built now."""


@pytest.fixture
def bench(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Bench:
    """A bench without an image; building one is an error that the test sees."""

    def build(suite: str) -> Path:
        raise Built(suite)

    monkeypatch.setattr(layout, "STATE", tmp_path)
    monkeypatch.setattr(image, "CACHE", tmp_path / "cache")
    monkeypatch.setattr(image, "ensure", build)
    monkeypatch.setattr(image, "missing_tools", dict)
    return layout.bench("vt")


def test_a_card_without_a_sheet_is_refused_before_an_image_is_built(bench: Bench) -> None:
    said: list[str] = []
    with pytest.raises(ModelError, match="nosuch"):
        lifecycle.up(bench, fresh=False, cards={"dut": "nosuch"}, say=said.append)
    assert said == []


@pytest.mark.parametrize("there", [False, True])
def test_building_the_image_is_announced(bench: Bench, monkeypatch: pytest.MonkeyPatch, there: bool) -> None:
    monkeypatch.setattr(image, "built", lambda _: there)
    said: list[str] = []
    with pytest.raises(Built, match=r"^bookworm$"):
        lifecycle.up(bench, fresh=False, say=said.append)
    assert said == ([] if there else ["building the guest image of Debian bookworm, once, about a minute"])


def test_the_image_is_that_of_the_system_that_is_asked_for(bench: Bench) -> None:
    with pytest.raises(Built, match=r"^trixie$"):
        lifecycle.up(bench, fresh=False, systems={"dut": "debian13"}, say=lambda _: None)


def test_the_qemu_is_that_of_the_card_that_is_put_in(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []

    def refuse(card: Card) -> Qemu:
        asked.append(card.name)
        raise QemuError

    monkeypatch.setattr(image, "ensure", lambda _: bench.folder)
    monkeypatch.setattr(lifecycle.qemu, "ensure", refuse)
    with pytest.raises(QemuError):
        lifecycle.up(bench, fresh=False, cards=dict.fromkeys(layout.ROLES, "intel-82576"), say=lambda _: None)
    assert asked == ["intel-82576"]


class TestJournal:
    """Notes of a killed run about servers that are thrown away would make every later run a bench fault."""

    @pytest.fixture
    def other(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
        """The journals of this bench and of another one, whose is returned."""
        folder = tmp_path / "journal"
        folder.mkdir()
        for name in ("vt.jsonl", "vt.old.jsonl", "vt.state.json", "vt-2.jsonl"):
            (folder / name).write_text("")
        monkeypatch.setattr(lifecycle, "JOURNALS", folder)
        return folder / "vt-2.jsonl"

    def test_goes_with_purged_servers(self, bench: Bench, other: Path) -> None:
        bench.folder.mkdir(parents=True)
        lifecycle.down(bench, now=True, purge=True)
        assert list(lifecycle.JOURNALS.iterdir()) == [other]

    @pytest.mark.usefixtures("other")
    def test_of_a_run_that_works_keeps_its_servers(self, bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(image, "ensure", lambda _: bench.folder)
        monkeypatch.setattr(lifecycle.qemu, "ensure", lambda _: None)
        bench.folder.mkdir(parents=True)
        with (lifecycle.JOURNALS / "vt.jsonl").open() as held:
            fcntl.flock(held, fcntl.LOCK_EX)
            with pytest.raises(lifecycle.BenchError, match="a run uses it"):
                lifecycle.down(bench, now=True, purge=True)
            with pytest.raises(lifecycle.BenchError, match="a run uses it"):
                lifecycle.up(bench, fresh=True, say=lambda _: None)
        assert len(list(lifecycle.JOURNALS.iterdir())) == 4 and bench.folder.exists()

    @pytest.mark.usefixtures("other")
    def test_stays_with_servers_that_stay(self, bench: Bench) -> None:
        bench.folder.mkdir(parents=True)
        lifecycle.down(bench, now=True, purge=False)
        assert len(list(lifecycle.JOURNALS.iterdir())) == 4

    @pytest.mark.usefixtures("other")
    @pytest.mark.parametrize(("fresh", "left"), [(True, 1), (False, 4)])
    def test_goes_with_the_disks_of_a_fresh_bench(
        self, bench: Bench, monkeypatch: pytest.MonkeyPatch, fresh: bool, left: int
    ) -> None:
        monkeypatch.setattr(image, "ensure", lambda _: bench.folder)
        monkeypatch.setattr(lifecycle.qemu, "ensure", lambda _: None)

        def refuse(*_: object) -> Bench:
            raise lifecycle.BenchError

        monkeypatch.setattr(lifecycle, "exchange", refuse)
        with pytest.raises(lifecycle.BenchError):
            lifecycle.up(bench, fresh=fresh, say=lambda _: None)
        assert len(list(lifecycle.JOURNALS.iterdir())) == left


def test_a_bmc_is_asked_directly_whatever_proxy_the_environment_names(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("https_proxy", "http://no-such-proxy.invalid:3128")
    monkeypatch.setattr(lifecycle.ssl, "create_default_context", lambda **_: ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT))
    dut = bench.server("dut")
    # A bench of this name that runs has a BMC at the port of the layout; nobody can listen at one that is taken here.
    with socket.socket() as taken:
        taken.bind((dut.bmc_address, 0))
        monkeypatch.setattr(lifecycle, "REDFISH_PORT", taken.getsockname()[1])
        with pytest.raises(lifecycle.BenchError, match=r"BMC does not answer: .*Connection refused"):
            lifecycle.redfish(dut, SimpleNamespace(secret=str, certificate=""), "On")  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("status", "said", "boot"),
    [
        (0, "", None),
        (0, "Connection closed\n", None),
        (255, "3f8e6a80-5d1c-4d5b-8ad1-6f1e2b8a9c77\n", None),
        (0, "3f8e6a80-5d1c-4d5b-8ad1-6f1e2b8a9c77\n", "3f8e6a80-5d1c-4d5b-8ad1-6f1e2b8a9c77"),
    ],
)
def test_an_empty_answer_is_no_boot(status: int, said: str, boot: str | None) -> None:
    assert boot_id_in(subprocess.CompletedProcess([], status, said, "")) == boot

"""The kit that makes a server FreeBSD's: its facts are the sheet's; a fresh one is as the vendor's manual leaves it."""

from __future__ import annotations

import os
import subprocess
import tarfile
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from guest_root import Root
from guest_shell import GuestShell

import cardmodel
import layout
import slots
from freebsd import facts, kit, ports
from niclab.hosts.settings.driver_settings import firmware_module
from vendor import medium

SHEETS = [file.stem for file in sorted((Path(__file__).resolve().parents[2] / "lab/cards").glob("*.yaml"))]


@pytest.mark.parametrize("card", SHEETS)
def test_there_are_facts_of_every_card(card: str) -> None:
    found = facts.of(card)
    (driver,) = found["drivers"].values()
    assert driver["linux"] == cardmodel.read(card)["driver"]
    assert driver["options"] and all(rule["bit"] >= 0 and rule["label"].isupper() for rule in driver["options"])
    scope: dict[str, object] = {}
    exec(facts.rendered(card), scope)
    assert scope["FACTS"] == found


def test_the_facts_are_those_of_the_sheet() -> None:
    oce = facts.of("emulex-oce11102")["drivers"]["oce"]
    assert sum(1 << rule["bit"] for rule in oce["options"]) == 0x507BB
    assert oce["tunables"] == {"max_rsp_handled": "64"} and oce["version_text"] == "///4.2.116.0///"
    rules = {rule["label"]: rule for rule in oce["options"]}
    assert rules["TXCSUM"]["clears"] == ["tso4", "tso6"] and rules["TSO4"]["words"] == ["tso4", "tso"]
    assert {label for label, rule in rules.items() if rule["change"] == "not-off"} == {
        "VLAN_HWCSUM",
        "TSO6",
        "VLAN_HWTSO",
    }
    cxl = facts.of("chelsio-t580-cr")["drivers"]["t5nex"]
    assert (cxl["port"], cxl["ports_per_function"], cxl["plug_and_play"]) == ("cxl", 2, True)


def test_a_packaged_driver_is_installed_and_loaded_at_boot(tmp_path: Path) -> None:
    ports.lay(tmp_path, "emulex-oce11102")
    once = tmp_path / "once"
    assert (once / "boot/loader.conf").read_text() == 'oce_load="YES"\n'
    assert (once / "boot/modules/oce.ko").read_bytes() == ports.module_file("amd64")
    assert (once / "var/db/pkg/oce-4.2.313.0/+COMMENT").read_text() == "oce driver for freebsd\n"
    folder = once / ports.PACKAGES
    assert sorted(path.name for path in folder.iterdir()) == [
        "oce-4.2.313.0-amd64.tbz",
        "oce-4.2.313.0-i386.tbz",
        "oce-4.2.313.0.tbz",
    ]
    with tarfile.open(folder / "oce-4.2.313.0-i386.tbz") as archive:
        module = archive.extractfile("boot/modules/oce.ko")
        assert module is not None and module.read() == ports.module_file("i386")
    assert (folder / "oce-4.2.313.0.tbz").read_bytes() == (folder / "oce-4.2.313.0-amd64.tbz").read_bytes()


def test_a_driver_of_the_kernel_needs_no_step(tmp_path: Path) -> None:
    ports.lay(tmp_path, "chelsio-t580-cr")
    once = tmp_path / "once"
    assert (once / "boot/loader.conf").read_text() == ""
    assert [folder.name for folder in (once / "var/db/pkg").iterdir()] == ["pkg-1.3.8_3"]
    assert (once / "boot/kernel/if_cxgbe.ko").exists() and not list((once / "boot/modules").iterdir())


def test_firmware_images_of_a_driver_that_takes_modules_are_modules(tmp_path: Path) -> None:
    ports.lay(tmp_path, "emulex-oce11102")
    folder, images = tmp_path / "once/boot/modules", medium.firmware_of("emulex-oce11102")
    content = (folder / "oc11_4_4_249_3.ko").read_bytes()
    assert content[:4] == b"\x7fELF" and content[ports.IMAGE_AT :] == images["oc11-4.4.249.3.ufi"]
    assert {file.name for file in folder.glob("*.ko")} == {"oce.ko", *ports.firmware_modules("emulex-oce11102")}
    assert len(images) == len(ports.firmware_modules("emulex-oce11102"))
    for file in images:
        assert (folder / f"{firmware_module(file)}.ko").exists(), "the lab looks for this name"
    assert f"\nIMAGE_AT = {ports.IMAGE_AT}\n" in (kit.HERE / "guest/flashing.py").read_text()


def test_the_client_compiles_without_a_warning(tmp_path: Path) -> None:
    program, source = tmp_path / "uname", kit.HERE / "guest/client.c"
    subprocess.run(["gcc", "-O2", "-Wall", "-Wextra", "-Werror", "-o", str(program), str(source)], check=True)


@pytest.fixture
def served(tmp_path: Path) -> Iterator[Callable[..., subprocess.CompletedProcess[str]]]:
    """Calls of tools by the compiled client, answered by a resident program over a root of files."""
    root = Root(tmp_path)
    with GuestShell(root).served():
        (root.path / "names/nothing").symlink_to(root.path / "client")

        def call(name: str, *words: str, **how: Any) -> subprocess.CompletedProcess[str]:
            command = [root.path / "names" / name, *words]
            return subprocess.run(command, capture_output=True, text=True, timeout=30, **how)

        yield call


class TestResident:
    def test_output_errors_and_status_are_the_callers(self, served: Callable[..., Any]) -> None:
        done = served("uname", "-sr")
        assert (done.returncode, done.stdout, done.stderr) == (0, "FreeBSD 9.1-RELEASE\n", "")
        done = served("ifconfig", "oce0", "lso")
        assert (done.returncode, done.stdout, done.stderr) == (1, "", "ifconfig: lso: bad value\n")
        assert served("nothing").returncode == 127

    def test_calls_do_not_know_of_each_other(self, served: Callable[..., Any]) -> None:
        with ThreadPoolExecutor(8) as pool:
            found = list(pool.map(lambda number: served("kenv", f"x{number}={number}").stdout, range(8)))
        assert found == [f'x{number}="{number}"\n' for number in range(8)]
        assert set(served("kenv").stdout.splitlines()) == {f'x{number}="{number}"' for number in range(8)}

    def test_folder_and_package_path_are_the_callers(self, served: Callable[..., Any], tmp_path: Path) -> None:
        folder = {"PKG_PATH": "/usr/ports/packages/All", "PATH": os.environ["PATH"]}
        assert served("pkg_delete", "oce-4.2.313.0").returncode == 0
        assert served("pkg_add", "oce-4.2.313.0", env=folder, cwd=tmp_path).returncode == 0


class TestLayout:
    def test_each_system_has_its_own_disk(self) -> None:
        card = cardmodel.card("emulex-oce11102")
        cards = dict.fromkeys(layout.ROLES, card)
        bench = layout.bench("x", cards, {"dut": "freebsd"})
        assert bench.server("dut").disk.name == "disk-freebsd-emulex-oce11102.qcow2"
        assert layout.bench("x", cards, {"dut": "debian13"}).server("dut").disk.name == "disk-debian13.qcow2"
        assert (bench.server("peer").system, bench.server("peer").disk.name) == ("linux", "disk.qcow2")

    def test_the_bench_remembers_its_systems(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(layout, "STATE", tmp_path)
        (tmp_path / "x").mkdir()
        slots.remember(slots.exchanged(layout.bench("x"), {}, {"peer": "freebsd"}))
        assert [server.system for server in slots.bench("x").servers] == ["linux", "freebsd"]
        (tmp_path / "x/systems.json").write_text('{"dut": "plan9", "peer": "linux"}')
        with pytest.raises(slots.SlotError, match=r"systems\.json: .*plan9.*expected linux or debian13 or freebsd"):
            slots.bench("x")
        (tmp_path / "x/systems.json").write_text('{"dut": "linux"}')
        with pytest.raises(slots.SlotError, match="expected the operating systems of dut and peer"):
            slots.bench("x")

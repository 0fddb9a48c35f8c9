"""The table of models: every sheet becomes C, and what a sheet lacks is said."""

from __future__ import annotations

import copy
import re
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).parents[3]
sys.path.append(str(ROOT / "lab/virtual/card"))

import models  # noqa: E402
import predict  # noqa: E402

CARDS = ROOT / "lab/cards"
NAMES = sorted(sheet["card"] for sheet in models.sheets(CARDS))


def sheet_of(name: str) -> dict[str, Any]:
    loaded: dict[str, Any] = yaml.safe_load((CARDS / f"{name}.yaml").read_text())
    return copy.deepcopy(loaded)


def test_every_vendor_has_a_card() -> None:
    assert {sheet["drivers"]["linux"]["module"] for sheet in models.sheets(CARDS)} == set(models.DRIVERS)


@pytest.mark.parametrize("name", NAMES)
def test_a_model_has_the_facts_of_its_sheet(name: str) -> None:
    sheet = sheet_of(name)
    row = models.model(sheet)
    assert row["name"] == f'"{name}"'
    assert row["vendor"] == f"0x{sheet['identity']['vendor_id']}"
    assert row["mbps"] == str(sheet["link"]["speed_mbps"])
    assert row["mtu_max"] == str(sheet["mtu"]["max"])
    assert row["firmware"] == f'"{sheet["firmware"]["required"][0]}"'
    if sheet["card"] == "alteon-acenic":
        assert (row["rings_shown"], row["pause_known"]) == ("false", "false"), "its driver shows neither"
    elif sheet.get("rings"):
        for ring in ("rx", "tx"):
            wanted = f"{sheet['rings'][ring]['max']}, {sheet['rings'][ring]['default']} }}"
            assert row[ring].endswith(wanted)


def test_the_firmware_string_is_the_example_with_another_version() -> None:
    row = models.model(sheet_of("broadcom-bcm57810"))
    assert row["firmware_format"] == '"%s bc 6.2.26 phy aa0.406"'
    assert models.model(sheet_of("emulex-oce11102"))["firmware_pending"] == "true"


def test_a_fixed_offload_cannot_be_changed_and_one_that_is_off_is_nowhere() -> None:
    row = models.model(sheet_of("emulex-oce11102"))
    assert "VLAN_CTAG_RX" in row["fixed"]
    assert "VLAN_CTAG_RX" not in row["changeable"]
    assert "NETIF_F_LRO" not in row["changeable"] + row["on"] + row["fixed"]


def test_only_what_ethtool_can_flash_is_flashable() -> None:
    assert models.model(sheet_of("emulex-oce11102"))["flashable"] == "true"
    assert models.model(sheet_of("solarflare-sfn5122f"))["flashable"] == "false"


def test_a_card_of_conventional_pci_has_no_generation_and_a_bus_rate() -> None:
    row = models.model(sheet_of("alteon-acenic"))
    assert row["gen"] == "0"
    assert ".bus_mbps = 3168" in row["cost"]


def test_an_unknown_offload_is_refused() -> None:
    sheet = sheet_of("emulex-oce11102")
    sheet["offloads"]["table"].append({"name": "warp", "linux": {"default": True, "change": "both"}})
    with pytest.raises(models.SheetError, match="emulex-oce11102: offload 'warp': wanted one of rx-checksum"):
        models.table([sheet])


def test_frames_that_no_buffer_of_the_wire_holds_are_refused() -> None:
    """The buffer has the headers of virtio (12) and Ethernet (14), two VLAN tags (8), and the MTU."""
    (buffer,) = re.findall(r"#define BUFFER_BYTES (\d+)", (ROOT / "lab/virtual/card/silicon/wire.c").read_text())
    assert int(buffer) >= models.MTU_MAX + 34
    sheet = sheet_of("intel-x520")
    sheet["mtu"]["max"] = models.MTU_MAX + 1
    with pytest.raises(
        models.SheetError, match=r"^intel-x520: mtu\.max 10001: the virtual wire carries at most 10000$"
    ):
        models.table([sheet])


def test_a_sheet_without_what_the_model_needs_is_refused() -> None:
    sheet = sheet_of("emulex-oce11102")
    del sheet["link"]["speed_mbps"]
    with pytest.raises(models.SheetError, match="emulex-oce11102: no 'speed_mbps', which the model needs"):
        models.table([sheet])


def test_an_example_that_is_not_of_its_shape_is_refused() -> None:
    sheet = sheet_of("emulex-oce11102")
    sheet["firmware"]["example"] = "four"
    with pytest.raises(models.SheetError, match=r"example 'four' is not of firmware\.shape"):
        models.table([sheet])


@pytest.mark.parametrize(
    ("case", "mbps", "limit"),
    [
        (predict.Case(), 47.1, "wire"),
        (predict.Case(tso=False), 31.8, "tx processor"),
        (predict.Case(tx_checksum=False), 26.3, "tx processor"),
        (predict.Case(merging=False), 36.7, "rx processor"),
        (predict.Case(mtu=9000), 49.5, "wire"),
        (predict.Case(width=1), 18.3, "tx bus"),
    ],
)
def test_the_formula_gives_what_was_computed_by_hand(case: predict.Case, mbps: float, limit: str) -> None:
    assert predict.tcp_mbps(sheet_of("emulex-oce11102"), case) == (pytest.approx(mbps, abs=0.05), limit)


def test_the_frame_rate_limits_acenic_until_frames_are_large() -> None:
    sheet = sheet_of("alteon-acenic")
    assert predict.tcp_mbps(sheet, predict.Case())[0] == pytest.approx(14.48, abs=0.01)
    assert predict.tcp_mbps(sheet, predict.Case(mtu=9000))[1] == "wire"

"""The table of models: every model becomes C, and what one lacks is said."""

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

import predict  # noqa: E402

import models  # noqa: E402

MODELS = ROOT / "lab/virtual/models"
NAMES = sorted(model["name"] for model in models.read(MODELS))


def model_of(name: str) -> dict[str, Any]:
    loaded: dict[str, Any] = yaml.safe_load((MODELS / f"{name}.yaml").read_text())
    return copy.deepcopy(loaded)


def test_every_driver_has_a_card() -> None:
    assert {model["driver"] for model in models.read(MODELS)} == set(models.DRIVERS)


@pytest.mark.parametrize("name", NAMES)
def test_a_model_is_named_after_its_file_and_says_where_its_facts_come_from(name: str) -> None:
    model = model_of(name)
    row = models.row(model)
    assert row["name"] == f'"{name}"'
    assert {"pci", "driver", "firmware", "house"} <= set(model["sources"])


def test_firmware_is_printed_as_the_driver_prints_it() -> None:
    assert models.row(model_of("broadcom-bcm57810"))["firmware_format"] == '"FFV%s bc 7.8.24"'
    assert models.row(model_of("emulex-oce11102"))["firmware_pending"] == "true"


def test_a_fixed_feature_cannot_be_changed_and_one_that_is_off_is_nowhere() -> None:
    row = models.row(model_of("emulex-oce11102"))
    assert "VLAN_CTAG_RX" in row["fixed"]
    assert "VLAN_CTAG_RX" not in row["changeable"]
    assert "NETIF_F_LRO" not in row["changeable"] + row["on"] + row["fixed"]
    ixgbe = models.row(model_of("intel-x520"))
    assert "NETIF_F_LRO" in ixgbe["changeable"] and "NETIF_F_LRO" not in ixgbe["on"]


def test_what_drivers_do_unexpectedly_is_in_the_table() -> None:
    assert models.row(model_of("intel-x520"))["coalesce_vectors"] == "VCARD_VECTORS_REFUSE_SENDING"
    assert models.row(model_of("solarflare-sfn5122f"))["coalesce_vectors"] == "VCARD_VECTORS_SENDING_FOLLOWS"
    assert models.row(model_of("solarflare-sfn5122f"))["pause_tx_needs_rx"] == "true"
    assert models.row(model_of("broadcom-bcm57810"))["rx_shared"] == "true"
    assert models.row(model_of("chelsio-t580-cr"))["rings_busy_once_up"] == "true"
    assert models.row(model_of("chelsio-t580-cr"))["need_rxcsum"] == "NETIF_F_GRO"


def test_a_module_reads_in_its_own_units_between_its_limits() -> None:
    """SFF-8472: 1/256 degree, 0.1 mV, 2 uA, 0.1 uW; the low ones of temperature below zero."""
    assert models.row(model_of("intel-x520"))["optics"] == (
        "{ VCARD_SFP, { { (u16)-1280, (u16)0, (u16)9728, (u16)17920, (u16)19200 }, "
        "{ (u16)29700, (u16)31350, (u16)33000, (u16)34650, (u16)36300 }, "
        "{ (u16)1000, (u16)1500, (u16)3000, (u16)4500, (u16)5000 }, "
        "{ (u16)1480, (u16)1860, (u16)5000, (u16)7940, (u16)10000 }, "
        "{ (u16)510, (u16)1020, (u16)4200, (u16)7940, (u16)10000 } } }"
    )
    assert models.row(model_of("chelsio-t580-cr"))["optics"].startswith("{ VCARD_QSFP, ")
    assert models.row(model_of("alteon-acenic"))["optics"] == "{ VCARD_NO_CAGE }", "acenic.c shows no module"


@pytest.mark.parametrize("levels", [[1, 2, 3, 4], [1, 3, 2, 4, 5]])
def test_a_reading_without_its_limits_around_it_is_refused(levels: list[int]) -> None:
    model = model_of("intel-x520")
    model["optics"]["supply_mv"] = levels
    with pytest.raises(
        models.ModelError, match=r"^intel-x520: optics\.supply_mv: .*; expected 5 numbers, the lowest first"
    ):
        models.table([model])


def test_only_what_ethtool_can_flash_is_flashable() -> None:
    assert models.row(model_of("emulex-oce11102"))["flashable"] == "true"
    assert models.row(model_of("solarflare-sfn5122f"))["flashable"] == "false"


def test_a_card_of_conventional_pci_has_no_generation_and_a_bus_rate() -> None:
    row = models.row(model_of("alteon-acenic"))
    assert (row["gen"], row["rings_shown"], row["pause_known"]) == ("0", "false", "false")
    assert ".bus_mbps = 3168" in row["cost"]


@pytest.mark.parametrize(
    ("section", "field", "wanted"),
    [
        ("firmware", "activation", "'warp'; expected one of driver-reload, reset, power-cycle"),
        ("coalescing", "vectors", "'warp'; expected one of refuse-sending, sending-follows"),
        ("optics", "form", "'warp'; expected one of sfp, qsfp"),
    ],
)
def test_an_unknown_word_is_refused(section: str, field: str, wanted: str) -> None:
    model = model_of("emulex-oce11102")
    model[section][field] = "warp"
    with pytest.raises(models.ModelError, match=f"emulex-oce11102: {wanted}"):
        models.table([model])


def test_frames_that_no_buffer_of_the_wire_holds_are_refused() -> None:
    """The buffer has the headers of virtio (12) and Ethernet (14), two VLAN tags (8), and the MTU."""
    (buffer,) = re.findall(r"#define BUFFER_BYTES (\d+)", (ROOT / "lab/virtual/card/silicon/wire.c").read_text())
    assert int(buffer) >= models.MTU_MAX + 34
    model = model_of("intel-x520")
    model["mtu"]["max"] = models.MTU_MAX + 1
    with pytest.raises(
        models.ModelError, match=r"^intel-x520: mtu\.max 10001: the virtual wire carries at most 10000$"
    ):
        models.table([model])


def test_a_model_without_what_the_tables_need_is_refused() -> None:
    model = model_of("emulex-oce11102")
    del model["link"]["mbps"]
    with pytest.raises(models.ModelError, match="emulex-oce11102: no 'mbps', which the tables need"):
        models.table([model])


@pytest.mark.parametrize(
    ("case", "mbps", "limit"),
    [
        (predict.Case(), 23.54, "wire"),
        (predict.Case(tso=False), 15.90, "tx processor"),
        (predict.Case(tx_checksum=False), 13.16, "tx processor"),
        (predict.Case(merging=False), 18.36, "rx processor"),
        (predict.Case(mtu=9000), 24.75, "wire"),
        (predict.Case(width=1), 9.13, "tx bus"),
    ],
)
def test_the_formula_gives_what_was_computed_by_hand(case: predict.Case, mbps: float, limit: str) -> None:
    assert predict.tcp_mbps(model_of("emulex-oce11102"), case) == (pytest.approx(mbps, abs=0.01), limit)


def test_the_frame_rate_limits_acenic_until_frames_are_large() -> None:
    model = model_of("alteon-acenic")
    assert predict.tcp_mbps(model, predict.Case())[0] == pytest.approx(7.24, abs=0.01)
    assert predict.tcp_mbps(model, predict.Case(mtu=9000))[1] == "wire"

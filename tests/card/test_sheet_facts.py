"""The reader of driver sources, on a driver of a few lines, and how a sheet is compared with it."""

from __future__ import annotations

from pathlib import Path

import driver_source
import pytest
import sheet_facts
from driver_places import PLACES, Places

from niclab.card import load_card

ROOT = Path(__file__).parents[2]
HEADER = """
/* #define RX_MAX 1 */
#define SHIFT 4
#define RX_MAX	(1 << SHIFT) /* largest */
#define PAGES (4096 / sizeof(struct eth_rx_bd) - 2)
enum {
	TX_MAX = 0x40u,
};
"""
SOURCE = """
static unsigned int usecs = 60;
#define TSO_FLAGS (NETIF_F_TSO | \\
	NETIF_F_TSO6)
static void probe(struct net_device *);

static int other(struct net_device *dev)
{
	dev->hw_features = NETIF_F_LRO;
}

static void probe(struct net_device *dev)
{
	dev->hw_features = NETIF_F_SG | TSO_FLAGS;
	if (maybe)
		dev->hw_features |= NETIF_F_RXHASH;
	if (chip_is_new)
		dev->hw_features |= NETIF_F_NTUPLE;
	dev->features |= dev->hw_features | NETIF_F_HW_VLAN_CTAG_RX;
	dev->features &= ~NETIF_F_TSO6;
	dev->vlan_features = NETIF_F_RXCSUM;
}

static const struct ethtool_ops ops = {
	.supported_coalesce_params = ETHTOOL_COALESCE_USECS |
		ETHTOOL_COALESCE_USE_ADAPTIVE_RX,
	.get_channels	= get_channels,
	.set_ringparam	= set_rings,
};
"""


@pytest.fixture
def driver(tmp_path: Path) -> driver_source.Driver:
    (tmp_path / "a.h").write_text(HEADER)
    (tmp_path / "a.c").write_text(SOURCE)
    (tmp_path / "Makefile").write_text("obj-$(CONFIG_A) += a-new.o\n")
    return driver_source.Driver(tmp_path)


@pytest.mark.parametrize(
    ("file", "expression", "value"),
    [
        ("a.h", "RX_MAX", 16),
        ("a.h", "RX_MAX >> 1", 8),
        ("a.h", "TX_MAX", 64),
        ("a.c", "usecs", 60),
        ("a.h", "PAGES", 510),
    ],
)
def test_numbers_are_computed(driver: driver_source.Driver, file: str, expression: str, value: int) -> None:
    assert driver.value(file, expression) == value


@pytest.mark.parametrize("expression", ["NOTHING", "RX_MAX ?", "f(RX_MAX)"])
def test_what_is_not_there_is_an_error(driver: driver_source.Driver, expression: str) -> None:
    with pytest.raises(driver_source.SourceError):
        driver.value("a.h", expression)


def test_features_are_followed_statement_by_statement(driver: driver_source.Driver) -> None:
    sets = driver.features("a.c", "probe", 1, ("chip_is_new",))
    assert sets["hw_features"] == {"SG", "TSO", "TSO6", "NTUPLE"}
    assert sets["features"] == {"SG", "TSO", "NTUPLE", "HW_VLAN_CTAG_RX"}


def test_operations_and_parameters_are_those_of_the_table(driver: driver_source.Driver) -> None:
    assert {"get_channels", "set_ringparam"} <= driver.operations("a.c")
    assert driver.coalescing("a.c") == {"rx-usecs", "tx-usecs", "adaptive-rx"}


def test_a_sheet_is_compared_field_by_field(driver: driver_source.Driver) -> None:
    places = Places(
        "", "a.c", "CONFIG_A", ("a.c", "ops"), {"rings.rx.max": ("a.h", "NEW", "RX_MAX")}, ("a.c", "probe", 1, ())
    )
    found = {each.field: each for each in sheet_facts.differences(load_card("intel-82574l"), "6.1", driver, places)}
    assert (found["rings.rx.max"].sheet, found["rings.rx.max"].source) == (4096, 16)
    assert found["drivers.linux.module"].source == "a_new"
    assert found["channels (shown)"].source is True
    assert (found["offloads.tso6"].sheet, found["offloads.tso6"].source) == ("on, settable", "off, settable")
    assert "offloads.scatter-gather" not in found


def test_every_sheet_has_places() -> None:
    assert {file.stem for file in (ROOT / "lab/cards").glob("*.yaml")} <= set(PLACES)
    assert all(places.numbers for places in PLACES.values())

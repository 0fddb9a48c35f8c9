"""Virtual cards in real machines: each comes up, carries traffic, keeps its memory; vendors' packages do as designed.

The tests share one bench and run in this order.
"""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator

import pytest
from real_bench import RealBench, wait_for

import cardmodel
import cardsheet
import slots
from layout import Bench, Port

pytestmark = pytest.mark.slow

CARDS = cardmodel.virtual_names()
CARD = "emulex-oce11102"
NEWER, REQUIRED = "10.6.144.21", "4.4.249.3"
LINK_S = 10.0
VENDOR = "/srv/vendor"


def now(at: RealBench) -> Bench:
    """The layout with the cards that are in."""
    return slots.bench(at.layout.name)


def interface(at: RealBench, role: str, port: Port) -> str:
    """The interface of a port: that of its PCI function which has its MAC address."""
    net = f"/sys/bus/pci/devices/{port.pci}/net"
    return at.ssh(role, f"for i in {net}/*; do grep -q {port.mac} $i/address && basename $i; done")


def set_up(at: RealBench) -> None:
    """Every port up, with an address: 198.18.<10 + port>.<1 for dut, 2 for peer>."""
    for host, server in enumerate(now(at).servers, 1):
        lines = [
            f"i={interface(at, server.role, port)}; ip link set $i up; ip addr add 198.18.{10 + n}.{host}/24 dev $i"
            for n, port in enumerate(server.ports)
        ]
        at.ssh(server.role, "; ".join(lines))


def carriers(at: RealBench, role: str) -> list[str]:
    server = now(at).server(role)
    return [at.ssh(role, f"cat /sys/class/net/{interface(at, role, port)}/carrier") for port in server.ports]


def failing(at: RealBench, role: str, command: str) -> subprocess.CompletedProcess[str]:
    """Run a command on the server that must fail."""
    done = at.vbench("ssh", role, command)
    assert done.returncode not in (0, 255), done.stdout + done.stderr
    return done


def firmware(at: RealBench, role: str = "dut") -> str:
    iface = interface(at, role, now(at).server(role).ports[0])
    return at.ssh(role, f"ethtool -i {iface} | sed -n 's/^firmware-version: //p'")


@pytest.mark.parametrize("card", CARDS)
def test_a_card_comes_up_and_carries_traffic_on_both_ports(at: RealBench, card: str) -> None:
    at.must("up", "--card", card)
    status = json.loads(at.must("status", "--json"))
    assert status["cards"] == {"dut": card, "peer": card}
    pci, driver = cardmodel.read(card)["pci"], cardmodel.read(card)["driver"]
    for server in now(at).servers:
        for place in {port.pci for port in server.ports}:
            shown = at.ssh(
                server.role, f"lspci -n -s {place}; basename $(readlink /sys/bus/pci/devices/{place}/driver)"
            )
            assert shown.split()[2] == f"{pci['vendor']}:{pci['device']}"
            assert shown.split()[-1] == driver
    set_up(at)
    for role in ("dut", "peer"):
        wait_for(lambda role=role: carriers(at, role) == ["1", "1"], f"{role}: {card} has both links", LINK_S)  # type: ignore[misc]
    for port in range(2):
        assert " 0% packet loss" in at.ssh("dut", f"ping -q -c 3 -i 0.3 -W 5 198.18.{10 + port}.2")


def test_different_cards_at_both_ends_are_connected(at: RealBench) -> None:
    at.must("up", "--dut", "emulex-oce11102", "--peer", "intel-x520")
    assert at.must("cards") == "dut emulex-oce11102\npeer intel-x520\n"
    set_up(at)
    wait_for(lambda: carriers(at, "dut") == ["1", "1"], "both links", LINK_S)
    assert " 0% packet loss" in at.ssh("dut", "ping -q -c 3 -i 0.3 -W 5 198.18.10.2")


def test_carrier_follows_the_cable(at: RealBench) -> None:
    at.must("cable", "pull", "b")
    wait_for(lambda: carriers(at, "dut") == ["1", "0"], "carrier is lost at dut", LINK_S)
    wait_for(lambda: carriers(at, "peer") == ["1", "0"], "carrier is lost at peer", LINK_S)
    at.must("cable", "plug", "b")
    wait_for(lambda: carriers(at, "dut") == ["1", "1"], "carrier returns", LINK_S)


def test_a_port_that_is_set_down_takes_its_partners_carrier(at: RealBench) -> None:
    port = interface(at, "dut", now(at).server("dut").ports[0])
    at.ssh("dut", f"ip link set {port} down")
    wait_for(lambda: carriers(at, "peer") == ["0", "1"], "the partner sees it", LINK_S)
    at.ssh("dut", f"ip link set {port} up")
    wait_for(lambda: carriers(at, "peer") == ["1", "1"], "the partner sees it back", LINK_S)


def test_a_fault_acts_on_a_running_card_and_goes_again(at: RealBench) -> None:
    width = "cat /sys/bus/pci/devices/0000:81:00.0/current_link_width"
    assert at.ssh("dut", width) == "8"
    at.must("fault", "set", "card:dut", "link-width=4")
    wait_for(lambda: at.ssh("dut", width) == "4", "the link is narrow", 5)
    assert at.ssh("peer", width) == "8"
    at.must("fault", "clear")
    wait_for(lambda: at.ssh("dut", width) == "8", "the link is as wide as before", 5)


def test_images_the_card_must_refuse_are_refused(at: RealBench) -> None:
    at.must("up", "--card", CARD)
    iface = interface(at, "dut", now(at).server("dut").ports[0])
    for image in ("t5fw-1.27.1.0.bin", f"oc11-{REQUIRED}-truncated.ufi", f"oc11-{REQUIRED}-bit-flipped.ufi"):
        at.ssh("dut", f"! ethtool -f {iface} {image}")  # its exit status is 255, as that of a lost connection
    assert firmware(at) == REQUIRED


def test_flashed_firmware_survives_power_cycle_and_another_card_in_its_place_but_not_fresh(at: RealBench) -> None:
    for port in now(at).server("dut").ports:
        at.ssh("dut", f"ethtool -f {interface(at, 'dut', port)} oc11-{NEWER}.ufi")
    boot = at.boot_id("dut")
    at.redfish("dut", "PowerCycle")
    wait_for(lambda: at.boot_id("dut") not in (None, boot), "a new boot", 120)
    assert firmware(at) == NEWER
    at.must("up", "--dut", "intel-x520")
    at.must("up", "--dut", CARD)
    assert firmware(at) == NEWER
    assert firmware(at, "peer") == REQUIRED
    at.must("up", "--fresh")
    assert at.must("cards") == f"dut {CARD}\npeer {CARD}\n"
    assert firmware(at) == REQUIRED


def test_a_bench_that_is_down_gets_another_card_without_power(at: RealBench) -> None:
    at.must("down")
    assert at.must("cards", "--dut", "intel-x520") == f"dut intel-x520\npeer {CARD}\n"
    assert at.pids() == {}
    at.must("cards", "--card", CARD)
    at.must("up")


# --- packages


def module(at: RealBench) -> tuple[str, str]:
    """Folder below ``updates`` or ``kernel`` and version of the module that modprobe would load."""
    file, version = at.ssh("dut", "modinfo -n be2net; modinfo -F version be2net; echo").split("\n")[:2]
    return file.split("/")[4], version


@pytest.fixture
def versions(at: RealBench) -> Iterator[tuple[str, str, str]]:
    """Old, required, and new version of be2net's packages; what is installed is removed afterwards."""
    package = cardsheet.read(CARD)["drivers"]["linux"]["package"]
    at.ssh("dut", "apt-get update -q")
    found = at.ssh("dut", f"apt-cache madison {package['name']} | cut -d'|' -f2").split()
    yield str(package["previous"]), str(package["required"][0]), found[0]
    at.vbench("ssh", "dut", "dpkg --purge be2net-modules be2net-dkms; modprobe -r be2net; modprobe be2net")


@pytest.mark.parametrize("style", ["modules", "dkms"])
def test_packages_install_upgrade_and_remove(at: RealBench, versions: tuple[str, str, str], style: str) -> None:
    in_box = module(at)
    assert in_box[0] == "kernel"
    install = "DEBIAN_FRONTEND=noninteractive apt-get install -q -y --allow-downgrades"
    for version in versions[:2]:
        at.ssh("dut", f"{install} be2net-{style}={version}")
        assert module(at) == ("updates", version)
        at.ssh("dut", "modprobe -r be2net && modprobe be2net")
        iface = interface(at, "dut", now(at).server("dut").ports[0])
        assert f"version: {version}\n" in at.ssh("dut", f"ethtool -i {iface}")
    at.ssh("dut", f"dpkg --purge be2net-{style}")
    assert module(at) == in_box


def test_a_package_of_another_architecture_is_refused(at: RealBench, versions: tuple[str, str, str]) -> None:
    done = failing(at, "dut", f"dpkg -i {VENDOR}/defective/wrong-architecture/*.deb")
    assert "architecture (arm64) does not match system (amd64)" in done.stderr + done.stdout
    assert module(at)[1] != versions[1]


def test_a_module_that_does_not_load_installs_all_the_same(at: RealBench, versions: tuple[str, str, str]) -> None:
    at.ssh("dut", f"dpkg -i {VENDOR}/defective/unloadable/*.deb")
    assert module(at) == ("updates", versions[1])
    failing(at, "dut", "modprobe -r be2net; modprobe be2net")
    assert "be2net: Unknown symbol" in at.ssh("dut", "dmesg | tail -3")


def test_a_post_install_script_that_fails_leaves_the_package_half_configured(
    at: RealBench, versions: tuple[str, str, str]
) -> None:
    failing(at, "dut", f"dpkg -i {VENDOR}/defective/postinst-fails/*.deb")
    state = at.ssh("dut", "dpkg-query -W -f='${db:Status-Abbrev}${Version}' be2net-modules")
    assert state == f"iF {versions[1]}"


def test_a_module_may_say_another_version_than_its_package(at: RealBench, versions: tuple[str, str, str]) -> None:
    at.ssh("dut", f"dpkg -i {VENDOR}/defective/other-version/*.deb")
    assert at.ssh("dut", "dpkg-query -W -f='${Version}' be2net-modules") == versions[1]
    assert module(at) == ("updates", versions[0])


def test_the_signature_is_good_and_the_checksums_name_the_damaged_package(at: RealBench) -> None:
    at.ssh("dut", f"gpgv --keyring {VENDOR}/vendor.gpg {VENDOR}/SHA256SUMS.asc {VENDOR}/SHA256SUMS")
    done = failing(at, "dut", f"cd {VENDOR} && sha256sum --quiet --check SHA256SUMS")
    wrong = [line for line in done.stdout.splitlines() if line.endswith("FAILED")]
    assert len(wrong) == 1
    assert wrong[0].startswith("defective/damaged/")

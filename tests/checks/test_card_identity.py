"""Identity, driver and firmware checks: green on a good card, red on each faulty one, with all that a reader needs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest
from bench_fixtures import continued
from fake_bench import FakeBench
from fake_parts import KERNEL, Nic

from Card import Card
from Driver import Driver
from niclab.bench.records import OperatingSystem, Role
from niclab.core.verdict import BenchFault, CardFailure, NotApplicable, SheetSilent, SheetUnknown, Undecided
from niclab.hosts.kernel.kernel_log import KernelLine
from niclab.hosts.pci.pci_records import Vpd
from niclab.report.evidence.runfolder import read_run
from niclab.run.run import Run
from niclab.transports import ConnectionLost
from Pcie import Pcie

Spoil = Callable[[Nic], None]
CHECKS = {
    "identity": Card.every_port_should_be_the_card_on_the_sheet,
    "count": Card.dut_should_show_as_many_ports_as_the_sheet_says,
    "mac": Card.every_port_should_have_a_mac_address_of_its_own,
    "bound": Driver.every_port_should_be_driven_by_the_driver_on_the_sheet,
    "version": Driver.driver_version_should_be_as_on_the_sheet,
    "same firmware": Card.all_ports_should_run_the_same_firmware,
    "installed": Driver.loaded_driver_should_be_the_installed_one,
    "loaded": Driver.driver_should_be_loaded,
    "pcie": Pcie.pcie_link_should_be_as_on_the_sheet,
}


def device(**changes: object) -> Spoil:
    def spoil(nic: Nic) -> None:
        nic.device = replace(nic.device, **changes)  # type: ignore[arg-type]  # the names are the test's

    return spoil


def info(**changes: object) -> Spoil:
    def spoil(nic: Nic) -> None:
        nic.info = replace(nic.info, **changes)  # type: ignore[arg-type]  # the names are the test's

    return spoil


def mac(value: str | None) -> Spoil:
    return lambda nic: setattr(nic, "mac", value)


def sheet(bench: FakeBench, taken: Run, *changes: tuple[str, str]) -> None:
    """Give the taken lab an edited sheet."""
    bench.edit(bench.sheet, *changes)
    taken.card = bench.load()[1]


@pytest.mark.parametrize("check", CHECKS.values(), ids=CHECKS.keys())
@pytest.mark.usefixtures("taken")
def test_a_good_card_is_green(check: Callable[[Card], None]) -> None:
    check(Card())


SHEET = "(sheet intel-82574l)"
WRONG: list[tuple[str, Spoil, str]] = [
    ("identity", device(device_id="10d4"), f"{{where}} is 8086:10d4; expected 8086:10d3 {SHEET}"),
    ("identity", device(vendor_id="8087"), f"{{where}} is 8087:10d3; expected 8086:10d3 {SHEET}"),
    ("identity", device(class_code="0280"), f"{{where}} has PCI class 0280; expected 0200 {SHEET}"),
    ("identity", device(dead=True), "{where} answers with all ones: it is gone from the bus"),
    ("identity", device(dead=True, vendor_id="ffff"), "{where} answers with all ones: it is gone from the bus"),
    ("mac", mac(None), "{where} has MAC address None; expected a unicast address"),
    ("mac", mac("00:00:00:00:00:00"), "{where} has MAC address 00:00:00:00:00:00; expected a unicast address"),
    ("mac", mac("01:54:00:00:00:01"), "{where} has MAC address 01:54:00:00:00:01; expected a unicast address"),
    ("mac", mac("ff:ff:ff:ff:ff:ff"), "{where} has MAC address ff:ff:ff:ff:ff:ff; expected a unicast address"),
    ("bound", info(driver="igb"), f"{{where}} is driven by igb (interface), e1000e (PCI); expected e1000e {SHEET}"),
    ("bound", device(driver="igb"), f"{{where}} is driven by e1000e (interface), igb (PCI); expected e1000e {SHEET}"),
    ("bound", device(driver=None), f"{{where}} is driven by e1000e (interface), None (PCI); expected e1000e {SHEET}"),
    ("version", info(version="5.10"), f"{{where}} runs driver 5.10, the kernel is {KERNEL}"),
    ("loaded", device(driver="vfio-pci"), f"{{where}} has driver vfio-pci after boot; expected e1000e {SHEET}"),
]


@pytest.mark.parametrize("index", [0, 1])
@pytest.mark.parametrize(("check", "spoil", "message"), WRONG, ids=[f"{row[0]}-{row[2][:40]}" for row in WRONG])
@pytest.mark.usefixtures("taken")
def test_one_wrong_port_is_named(bench: FakeBench, index: int, check: str, spoil: Spoil, message: str) -> None:
    """Whichever port it is: it is named, and the good one is not."""
    nic = bench.dut.nics[index]
    spoil(nic)
    with pytest.raises(CardFailure) as caught:
        CHECKS[check](Card())
    assert str(caught.value) == message.format(where=f"dut.p{index} ({nic.pci})")


@pytest.mark.usefixtures("taken")
def test_a_driver_in_the_kernel_itself_has_no_file_to_compare(bench: FakeBench) -> None:
    """As FreeBSD's GENERIC has ix, em and ti, and a kernel of one's own any."""
    bench.dut.loaded, bench.dut.file = None, replace(bench.dut.file, filename=None, built_in=True)
    with pytest.raises(NotApplicable, match="driver e1000e is part of the kernel"):
        CHECKS["installed"](Card())
    CHECKS["loaded"](Card())


OWN = f"/lib/modules/{KERNEL}/kernel/e1000e.ko"


@pytest.mark.usefixtures("taken")
@pytest.mark.parametrize("reported", ["1.7.0.0-k", "1.7.0.0-k-NAPI"])
def test_a_module_of_the_kernel_may_have_a_version_of_its_own(bench: FakeBench, reported: str) -> None:
    """As vmxnet3 of Linux 6.1, and most drivers before 5.7; measured with QEMU's card."""
    bench.dut.file = replace(bench.dut.file, filename=OWN, version="1.7.0.0-k")
    for nic in bench.dut.nics:
        nic.info = replace(nic.info, version=reported)
    CHECKS["version"](Card())


@pytest.mark.usefixtures("taken")
def test_the_version_of_another_module_is_not_that_of_the_kernel(bench: FakeBench) -> None:
    bench.dut.file = replace(bench.dut.file, filename="/lib/modules/6.1/updates/e1000e.ko", version="3.8.7")
    for nic in bench.dut.nics:
        nic.info = replace(nic.info, version="3.8.7")
    with pytest.raises(CardFailure, match=f"runs driver 3.8.7, the kernel is {KERNEL}"):
        CHECKS["version"](Card())


@pytest.mark.usefixtures("taken")
def test_a_port_does_not_report_the_version_of_the_module(bench: FakeBench) -> None:
    bench.dut.file = replace(bench.dut.file, filename=OWN, version="1.7.0.0-k")
    with pytest.raises(CardFailure, match=r"the kernel's module has version 1\.7\.0\.0-k"):
        CHECKS["version"](Card())


@pytest.mark.usefixtures("taken")
def test_every_wrong_port_is_named(bench: FakeBench) -> None:
    for nic in bench.dut.nics:
        nic.device = replace(nic.device, device_id="10d4")
    with pytest.raises(CardFailure, match=r"dut\.p0[^\n]*\ndut\.p1"):
        Card().every_port_should_be_the_card_on_the_sheet()


@pytest.mark.usefixtures("taken")
def test_the_peers_card_is_not_judged(bench: FakeBench) -> None:
    """The peer is the known-good end: another card may be there."""
    for nic in bench.peer.nics:
        nic.device = replace(nic.device, device_id="1521", driver="igb", dead=True)
        nic.info, nic.path = replace(nic.info, driver="igb", version="x", firmware="y"), ()
    bench.peer.loaded = None
    for name in CHECKS.keys() - {"mac"}:
        CHECKS[name](Card())


class TestSubsystem:
    def test_one_of_the_list_is_right(self, bench: FakeBench, taken: Run) -> None:
        sheet(bench, taken, ("subsystems: any", 'subsystems: ["8086:0001", "8086:a01f"]'))
        Card().every_port_should_be_the_card_on_the_sheet()

    def test_one_that_is_not_is_wrong(self, bench: FakeBench, taken: Run) -> None:
        sheet(bench, taken, ("subsystems: any", 'subsystems: ["8086:0001", "103c:0002"]'))
        bench.dut.nics[0].device = replace(bench.dut.nics[0].device, subvendor="103c", subdevice="0002")
        with pytest.raises(CardFailure) as caught:
            Card().every_port_should_be_the_card_on_the_sheet()
        wanted = "dut.p1 (0000:02:00.0) has subsystem 8086:a01f; expected 8086:0001, 103c:0002 (sheet intel-82574l)"
        assert str(caught.value) == wanted


class TestNumberOfPorts:
    @pytest.mark.parametrize(
        ("shown", "message"),
        [
            ("", r"dut shows 0 ports \(none\); expected 2 \(sheet intel-82574l\)"),
            (
                "0000:01:00.0 0200: 8086:10d3\n",
                r"dut shows 1 ports \(0000:01:00\.0\); expected 2 \(sheet intel-82574l\)",
            ),
            (
                "0000:01:00.0 x\n0000:01:00.1 x\n0000:02:00.0 x\n",
                r"dut shows 3 ports \(0000:01:00.0, 0000:01:00.1, 0000:02:00.0\); expected 2 \(sheet intel-82574l\)",
            ),
            (
                "0000:01:00.0 x\n0000:03:00.0 x\n",
                r"dut shows 1 ports \(0000:01:00.0\); expected 2 \(sheet intel-82574l\);"
                " 0000:03:00.0 in no slot of the bench file",
            ),
        ],
    )
    @pytest.mark.usefixtures("taken")
    def test_another_number_is_wrong(self, bench: FakeBench, shown: str, message: str) -> None:
        bench.ssh[Role.DUT].replies["lspci"] = shown
        with pytest.raises(CardFailure, match=rf"^{message}$"):
            Card().dut_should_show_as_many_ports_as_the_sheet_says()

    @pytest.mark.usefixtures("taken")
    def test_a_card_of_the_same_kind_in_another_slot_is_not_counted(self, bench: FakeBench) -> None:
        bench.ssh[Role.DUT].replies["lspci"] = "0000:01:00.0 x\n0000:02:00.0 x\n0000:81:00.0 x\n"
        Card().dut_should_show_as_many_ports_as_the_sheet_says()


class TestMac:
    @pytest.mark.usefixtures("taken")
    @pytest.mark.parametrize("other", ["dut.p1", "peer.p0", "peer.p1"])
    def test_twice_is_wrong_on_any_two_ports(self, bench: FakeBench, other: str) -> None:
        bench.nic(other).mac = bench.nic("dut.p0").mac
        with pytest.raises(CardFailure, match=rf"^{other} .* has MAC address 52:\S+, which dut\.p0 has too$"):
            Card().every_port_should_have_a_mac_address_of_its_own()

    @pytest.mark.usefixtures("taken")
    @pytest.mark.parametrize("given", ["dut.p1", "peer.p0"])
    def test_one_that_somebody_has_given_a_port_is_not_its_own(self, bench: FakeBench, given: str) -> None:
        """Such as a bond, or the system of a server."""
        nic = bench.nic(given)
        nic.mac, nic.permanent_mac = bench.nic("dut.p0").mac, nic.mac
        Card().every_port_should_have_a_mac_address_of_its_own()
        bench.nic("dut.p0").permanent_mac = nic.permanent_mac
        with pytest.raises(CardFailure, match=rf"^{given} .* which dut\.p0 has too$"):
            Card().every_port_should_have_a_mac_address_of_its_own()

    def test_one_of_the_card_at_a_peer_that_had_another_is_the_benchs(
        self, bench: FakeBench, taken: Run, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """The bench file knows the peer's; without it the known-good peer is right."""
        own, entry = bench.nic("peer.p0").mac, taken.bench.server(Role.PEER).ports["p0"]
        monkeypatch.setitem(taken.bench.server(Role.PEER).ports, "p0", entry.model_copy(update={"mac": own}))
        bench.nic("peer.p0").mac = bench.nic("dut.p0").mac
        with pytest.raises(BenchFault, match=r"^peer\.p0 .* which dut\.p0 has too\npeer\.p0 .* the bench file says"):
            Card().every_port_should_have_a_mac_address_of_its_own()
        bench.nic("peer.p0").mac, bench.nic("dut.p0").mac = own, own
        with pytest.raises(CardFailure, match=r"^peer\.p0 .* which dut\.p0 has too$"):
            Card().every_port_should_have_a_mac_address_of_its_own()

    def test_another_than_in_the_bench_file_is_the_benchs(self, bench: FakeBench, taken: Run) -> None:
        first, second = '{pci: "0000:01:00.0"}', '{pci: "0000:02:00.0"}'
        given = ('{pci: "0000:01:00.0", mac: "52:54:00:00:00:00"}', '{pci: "0000:02:00.0", mac: "52:54:00:00:00:77"}')
        bench.edit(bench.file, (first, given[0]), (second, given[1]))
        taken.bench = bench.load()[0]
        with pytest.raises(BenchFault) as caught:
            Card().every_port_should_have_a_mac_address_of_its_own()
        found = "has MAC address 52:54:00:00:00:01, the bench file says 52:54:00:00:00:77"
        assert str(caught.value) == f"dut.p1 (0000:02:00.0) {found}"

    @pytest.mark.usefixtures("taken")
    def test_the_peers_own_trouble_is_the_benchs(self, bench: FakeBench) -> None:
        bench.nic("peer.p1").mac = bench.nic("peer.p0").mac
        with pytest.raises(BenchFault, match=r"^peer\.p1 .* which peer\.p0 has too$"):
            Card().every_port_should_have_a_mac_address_of_its_own()
        bench.nic("dut.p1").mac = None
        with pytest.raises(
            CardFailure, match=r"^dut\.p1 .* has MAC address None; expected a unicast address\npeer\.p1 "
        ):
            Card().every_port_should_have_a_mac_address_of_its_own()

    @pytest.mark.parametrize(
        ("ouis", "message"),
        [
            ('["52:54:00"]', None),
            ("any", None),
            (
                '["00:1b:21", "90:e2:ba"]',
                "{where} has MAC address {mac}; expected one of maker 00:1b:21, 90:e2:ba " + SHEET,
            ),
        ],
    )
    def test_of_another_maker_is_wrong(self, bench: FakeBench, taken: Run, ouis: str, message: str | None) -> None:
        """Only the dut's: the peer may have another card."""
        bench.nic("peer.p0").mac = "90:e2:ba:00:00:01"
        sheet(bench, taken, ("subsystems: any", f"subsystems: any\n  mac_ouis: {ouis}"))
        if message is None:
            Card().every_port_should_have_a_mac_address_of_its_own()
            return
        with pytest.raises(CardFailure) as caught:
            Card().every_port_should_have_a_mac_address_of_its_own()
        wanted = [message.format(where=f"dut.{nic.key} ({nic.pci})", mac=nic.mac) for nic in bench.dut.nics]
        assert str(caught.value) == "\n".join(wanted)


PRODUCT = Vpd(part_number="SFN5122F-R7", items={"PN": "SFN5122F-R7", "SN": "1"})


class TestProductData:
    VPD = "subsystems: any\n  vpd: {keywords: [PN, SN], part_number: SFN5122F, source: test}"

    @pytest.fixture
    def nic(self, bench: FakeBench, taken: Run) -> Nic:
        sheet(bench, taken, ("subsystems: any", self.VPD))
        for nic in bench.dut.nics:
            nic.device = replace(nic.device, vpd=PRODUCT)
        return bench.dut.nics[1]

    def test_keywords_and_the_beginning_of_the_part_number_are_right(self, nic: Nic, taken: Run) -> None:
        assert nic
        continued(taken)  # it has a folder with a record now
        Card().every_port_should_be_the_card_on_the_sheet()
        assert read_run(taken.run_dir)["facts"] == {"part_numbers": "SFN5122F-R7"}

    @pytest.mark.parametrize(
        ("vpd", "message"),
        [
            (
                None,
                "has no PN in its product data; expected it SHEET\n"
                "{where} has no SN in its product data; expected it SHEET",
            ),
            (
                replace(PRODUCT, items={"PN": "SFN5122F", "SN": None}),
                "has no SN in its product data; expected it SHEET",
            ),
            (replace(PRODUCT, part_number="SFN7322F"), "has part number SFN7322F; expected SFN5122F SHEET"),
            (
                replace(PRODUCT, checksum_good=False),
                "has product data with a wrong checksum; expected the one of its contents (RV)",
            ),
        ],
    )
    def test_another_is_wrong(self, nic: Nic, vpd: Vpd | None, message: str) -> None:
        nic.device = replace(nic.device, vpd=vpd)
        with pytest.raises(CardFailure) as caught:
            Card().every_port_should_be_the_card_on_the_sheet()
        where = f"dut.p1 ({nic.pci})"
        assert str(caught.value) == f"{where} {message.format(where=where)}".replace("SHEET", SHEET)

    @pytest.mark.parametrize("vpd", [None, Vpd(items={"SN": "1"}), Vpd(items={"PN": None})])
    @pytest.mark.parametrize("keywords", ["", "keywords: [PN], "])
    def test_a_part_number_that_is_not_shown_is_wrong(
        self, bench: FakeBench, taken: Run, vpd: Vpd | None, keywords: str
    ) -> None:
        facts = f"subsystems: any\n  vpd: {{{keywords}part_number: SFN5122F, source: test}}"
        sheet(bench, taken, ("subsystems: any", facts))
        first, second = bench.dut.nics
        first.device, second.device = replace(first.device, vpd=PRODUCT), replace(second.device, vpd=vpd)
        with pytest.raises(CardFailure) as caught:
            Card().every_port_should_be_the_card_on_the_sheet()
        assert str(caught.value) == f"dut.p1 ({second.pci}) has no PN in its product data; expected it {SHEET}"

    def test_a_sheet_that_names_none_asks_for_none(self, bench: FakeBench, taken: Run) -> None:
        sheet(bench, taken, ("subsystems: any", "subsystems: any\n  vpd: {source: test}"))
        Card().every_port_should_be_the_card_on_the_sheet()

    def test_a_system_that_shows_none_is_not_asked(self, nic: Nic, monkeypatch: pytest.MonkeyPatch) -> None:
        nic.device = replace(nic.device, vpd=None)
        monkeypatch.setattr("niclab.checks.identity.dut_system", lambda _: OperatingSystem.FREEBSD)
        Card().every_port_should_be_the_card_on_the_sheet()


def link(**changes: object) -> Spoil:
    def spoil(nic: Nic) -> None:
        assert nic.settings is not None
        nic.settings = replace(nic.settings, **changes)  # type: ignore[arg-type]  # the names are the test's

    return spoil


class TestAbilities:
    CAGE = "autoneg: true\n  speeds_mbps: [1000, 10000]\n  media: [fibre, direct-attach]"
    COPPER = "autoneg: true\n  speeds_mbps: [100, 1000]\n  media: [twisted-pair]"

    @pytest.mark.parametrize(
        ("facts", "modes"),
        [
            (CAGE, ("1000baseX/Full",)),
            (CAGE, ("1000baseX/Full", "10000baseSR/Full")),
            (CAGE, ("1000baseSX/Full", "10Gbase-SR/Full")),
            (COPPER, ("100baseT/Half", "1000baseT/Full")),
        ],
    )
    def test_speeds_of_the_sheet_are_right(
        self, bench: FakeBench, taken: Run, facts: str, modes: tuple[str, ...]
    ) -> None:
        sheet(bench, taken, ("autoneg: true", facts))
        for nic in bench.dut.nics:
            link(supported=modes)(nic)
        Card().every_port_should_offer_the_speeds_on_the_sheet()

    @pytest.mark.parametrize(
        ("facts", "modes", "message"),
        [
            (
                CAGE,
                ("10000baseSR/Full",),
                "offers 10000 Mbit/s; expected 1000, 10000 Mbit/s, at least 1000 Mbit/s SHEET",
            ),
            (
                CAGE,
                ("1000baseX", "25000baseSR"),
                "offers 1000, 25000 Mbit/s; expected 1000, 10000 Mbit/s, at least 1000 Mb",
            ),
            (
                COPPER,
                ("1000baseT/Full",),
                "offers 1000 Mbit/s; expected 100, 1000 Mbit/s, at least 100, 1000 Mbit/s SHEET",
            ),
        ],
    )
    def test_others_are_wrong(
        self, bench: FakeBench, taken: Run, facts: str, modes: tuple[str, ...], message: str
    ) -> None:
        sheet(bench, taken, ("autoneg: true", facts))
        link(supported=("100baseT", "1000baseT") if facts == self.COPPER else ("1000baseX",))(bench.dut.nics[0])
        link(supported=modes)(bench.dut.nics[1])
        with pytest.raises(CardFailure) as caught:
            Card().every_port_should_offer_the_speeds_on_the_sheet()
        wanted = f"dut.p1 ({bench.dut.nics[1].pci}) {message}".replace("SHEET", SHEET)
        assert str(caught.value).startswith(wanted) and "dut.p0" not in str(caught.value)

    def test_a_port_that_shows_nothing_is_not_judged(self, bench: FakeBench, taken: Run) -> None:
        with pytest.raises(SheetSilent, match=r"link\.speeds_mbps"):
            Card().every_port_should_offer_the_speeds_on_the_sheet()
        with pytest.raises(SheetSilent, match=r"link\.media"):
            Card().every_port_should_have_a_medium_on_the_sheet()
        sheet(bench, taken, ("autoneg: true", self.CAGE))
        for nic in bench.dut.nics:
            link(supported=None, port="Other")(nic)
        with pytest.raises(NotApplicable, match="no port shows the speeds"):
            Card().every_port_should_offer_the_speeds_on_the_sheet()
        with pytest.raises(NotApplicable, match="linux names the medium of no port"):
            Card().every_port_should_have_a_medium_on_the_sheet()

    @pytest.mark.parametrize(
        ("facts", "up", "excused"), [(CAGE, True, False), (CAGE, False, True), (COPPER, False, False)]
    )
    def test_one_port_that_shows_nothing_is_undecided_unless_its_cage_may_be_empty(
        self, bench: FakeBench, taken: Run, facts: str, up: bool, excused: bool
    ) -> None:
        sheet(bench, taken, ("autoneg: true", facts))
        first, second = bench.dut.nics
        copper = facts == self.COPPER
        link(
            supported=("100baseT", "1000baseT") if copper else ("1000baseX",),
            port="Twisted Pair" if copper else "FIBRE",
        )(first)
        link(supported=None, port="None", link=up)(second)
        for keyword, what in (
            (Card().every_port_should_offer_the_speeds_on_the_sheet, "the speeds that it offers"),
            (Card().every_port_should_have_a_medium_on_the_sheet, "its medium"),
        ):
            if excused:
                keyword()
                continue
            with pytest.raises(Undecided) as caught:
                keyword()
            said = f"dut.p1 ({second.pci}): the driver does not show {what}; expected it, as of the other ports"
            assert str(caught.value) == said

    def test_a_medium_of_the_sheet_is_right_and_another_is_wrong(self, bench: FakeBench, taken: Run) -> None:
        sheet(bench, taken, ("autoneg: true", self.CAGE))
        first, second = bench.dut.nics
        link(port="FIBRE")(first)
        link(port="Direct Attach Copper")(second)
        Card().every_port_should_have_a_medium_on_the_sheet()
        link(port="Twisted Pair")(second)
        with pytest.raises(CardFailure) as caught:
            Card().every_port_should_have_a_medium_on_the_sheet()
        assert (
            str(caught.value)
            == f"dut.p1 ({second.pci}) connects to twisted-pair; expected fibre, direct-attach {SHEET}"
        )


class TestSerialNumber:
    @pytest.mark.usefixtures("taken")
    @pytest.mark.parametrize("spoil", [lambda s: device(serial_number=s), lambda s: device(vpd=Vpd(serial_number=s))])
    def test_one_on_both_servers_is_wrong(self, bench: FakeBench, spoil: Callable[[str], Spoil]) -> None:
        spoil("00-1b-21")(bench.nic("dut.p1"))
        spoil("00-1b-21")(bench.nic("peer.p0"))
        with pytest.raises(CardFailure) as caught:
            Card().no_serial_number_should_be_on_both_servers()
        said = "have both serial number 00-1b-21; expected each its own"
        assert str(caught.value) == f"dut.p1 (0000:02:00.0) and peer.p0 (0000:01:00.0) {said}"

    @pytest.mark.usefixtures("taken")
    def test_different_ones_and_one_on_all_ports_of_a_card_are_right(self, bench: FakeBench) -> None:
        for name, serial in (("dut.p0", "1"), ("dut.p1", "1"), ("peer.p0", "2"), ("peer.p1", "2")):
            device(serial_number=serial)(bench.nic(name))
        Card().no_serial_number_should_be_on_both_servers()

    @pytest.mark.usefixtures("taken")
    def test_a_peer_that_shows_none_compares_nothing(self, bench: FakeBench, taken: Run) -> None:
        for name in ("dut.p0", "dut.p1"):
            device(serial_number="1")(bench.nic(name))
        continued(taken)  # it has a folder with a record now
        said = r"^peer: its card shows no serial number, to compare that of the dut with: 1$"
        with pytest.raises(NotApplicable, match=said):
            Card().no_serial_number_should_be_on_both_servers()
        assert read_run(taken.run_dir)["facts"] == {"serial_numbers": "1"}

    @pytest.mark.usefixtures("taken")
    def test_a_card_that_shows_none_is_not_applicable(self, bench: FakeBench) -> None:
        device(serial_number="2")(bench.nic("peer.p0"))
        with pytest.raises(NotApplicable, match="the card shows no serial number"):
            Card().no_serial_number_should_be_on_both_servers()


LISTS = 'version: {required: ["3.1"], allowed: [">=2, <3"], forbidden: ["2.5"]}'


class TestDriverVersionOfItsOwn:
    @pytest.fixture(autouse=True)
    def _lists(self, bench: FakeBench, taken: Run) -> None:
        sheet(bench, taken, ("in_kernel: true", LISTS))

    @pytest.mark.parametrize("version", ["3.1", "2.4"])
    def test_required_and_allowed_are_right(self, bench: FakeBench, version: str) -> None:
        for nic in bench.dut.nics:
            nic.info = replace(nic.info, version=version)
        Driver().driver_version_should_be_as_on_the_sheet()

    @pytest.mark.parametrize(("version", "said"), [("2.5", "forbids it"), ("4", "neither requires nor allows it")])
    def test_forbidden_and_unlisted_are_wrong(self, bench: FakeBench, version: str, said: str) -> None:
        first, second = bench.dut.nics
        first.info, second.info = replace(first.info, version="3.1"), replace(second.info, version=version)
        with pytest.raises(CardFailure) as caught:
            Driver().driver_version_should_be_as_on_the_sheet()
        assert str(caught.value) == f"dut.p1 (0000:02:00.0) runs driver {version}, sheet intel-82574l {said}"

    @pytest.mark.parametrize("version", [None, "kernel-5"])
    def test_none_or_incomparable_is_undecided(self, bench: FakeBench, version: str | None) -> None:
        first, second = bench.dut.nics
        first.info, second.info = replace(first.info, version="3.1"), replace(second.info, version=version)
        with pytest.raises(Undecided, match=r"^dut\.p1 \(0000:02:00\.0\)"):
            Driver().driver_version_should_be_as_on_the_sheet()

    def test_a_wrong_port_counts_more_than_an_undecided_one(self, bench: FakeBench) -> None:
        first, second = bench.dut.nics
        first.info, second.info = replace(first.info, version=None), replace(second.info, version="2.5")
        with pytest.raises(CardFailure, match=r"^dut\.p1 .* forbids it\nundecided: dut\.p0 "):
            Driver().driver_version_should_be_as_on_the_sheet()


@pytest.mark.usefixtures("taken")
def test_a_kernels_driver_without_version_is_undecided(bench: FakeBench) -> None:
    bench.dut.nics[1].info = replace(bench.dut.nics[1].info, version=None)
    with pytest.raises(Undecided, match=r"^dut\.p1 \(0000:02:00\.0\) reports no driver version$"):
        Driver().driver_version_should_be_as_on_the_sheet()


def test_a_sheet_without_driver_versions_gives_no_answer(bench: FakeBench, taken: Run) -> None:
    sheet(bench, taken, ("in_kernel: true", "version: {required: {unknown: nobody measured it}}"))
    with pytest.raises(SheetUnknown, match=r"^sheet intel-82574l names no driver versions$"):
        Driver().driver_version_should_be_as_on_the_sheet()
    driver = taken.card.drivers.linux
    assert driver is not None
    drivers = taken.card.drivers.model_copy(update={"linux": driver.model_copy(update={"version": None})})
    taken.card = taken.card.model_copy(update={"drivers": drivers})
    with pytest.raises(SheetSilent, match=r"^sheet intel-82574l says nothing about driver versions$"):
        Driver().driver_version_should_be_as_on_the_sheet()


def test_a_sheet_without_a_driver_for_the_system_is_silent(bench: FakeBench, taken: Run) -> None:
    sheet(bench, taken, ("  linux:\n", "  freebsd:\n"))
    for check in ("bound", "version", "installed", "loaded"):
        with pytest.raises(SheetSilent, match=r"names no driver for linux"):
            CHECKS[check](Card())


class TestFirmware:
    @pytest.fixture(autouse=True)
    def _lists(self, bench: FakeBench, taken: Run) -> None:
        lists = 'required: ["2.1-0"]\n  allowed: ["2.0-0"]\n  forbidden: ["1.9-0"]'
        sheet(bench, taken, ("required: {unknown: nobody measured it}", lists))

    def check(self, bench: FakeBench, first: str | None, second: str | None) -> None:
        for nic, version in zip(bench.dut.nics, (first, second), strict=True):
            nic.info = replace(nic.info, firmware=version)
        Card().firmware_should_be_as_on_the_sheet()

    def test_required_and_allowed_are_right(self, bench: FakeBench) -> None:
        self.check(bench, "2.1-0", "2.0-0")

    @pytest.mark.parametrize(
        ("version", "said"), [("1.9-0", "forbids it"), ("2.2-0", "neither requires nor allows it")]
    )
    def test_forbidden_and_unlisted_are_wrong(self, bench: FakeBench, version: str, said: str) -> None:
        with pytest.raises(CardFailure) as caught:
            self.check(bench, "2.1-0", version)
        assert str(caught.value) == f"dut.p1 (0000:02:00.0) runs firmware {version}, sheet intel-82574l {said}"

    def test_none_is_undecided(self, bench: FakeBench) -> None:
        with pytest.raises(Undecided, match=r"^dut\.p0 \(0000:01:00\.0\) reports no firmware version$"):
            self.check(bench, None, "2.1-0")

    def test_a_wrong_port_counts_more_than_a_silent_one(self, bench: FakeBench) -> None:
        with pytest.raises(CardFailure, match=r"^dut\.p1 .* forbids it\nundecided: dut\.p0 "):
            self.check(bench, None, "1.9-0")


@pytest.mark.usefixtures("taken")
def test_a_sheet_without_firmware_versions_is_not_applicable() -> None:
    with pytest.raises(NotApplicable, match=r"^sheet intel-82574l names no firmware versions$"):
        Card().firmware_should_be_as_on_the_sheet()


BOOT_CODE = """  freebsd:
    module: if_em
    in_kernel: true
    firmware: {required: {unknown: em shows the boot code alone}, source: test}
    source: test

firmware:
"""


@pytest.mark.parametrize("shown", [None, "bc 7.10.4"])
def test_a_driver_that_does_not_show_the_firmware_is_not_judged_by_it(
    bench: FakeBench, taken: Run, monkeypatch: pytest.MonkeyPatch, shown: str | None
) -> None:
    sheet(bench, taken, ("\nfirmware:\n", BOOT_CODE))
    taken.card = taken.card.of_system(OperatingSystem.FREEBSD)
    monkeypatch.setattr("niclab.checks.asked.dut_system", lambda _: OperatingSystem.FREEBSD)
    for nic in bench.dut.nics:
        nic.info = replace(nic.info, firmware=shown)
    said = r"^dut: driver if_em does not show the firmware that sheet intel-82574l names: em shows the boot code alone$"
    with pytest.raises(NotApplicable, match=said):
        Card().firmware_should_be_as_on_the_sheet()
    if shown is None:
        with pytest.raises(NotApplicable, match=said):
            Card().all_ports_should_run_the_same_firmware()
        return
    Card().all_ports_should_run_the_same_firmware()
    bench.dut.nics[1].info = replace(bench.dut.nics[1].info, firmware="bc 7.4.22")
    with pytest.raises(CardFailure, match="ports run different firmware"):
        Card().all_ports_should_run_the_same_firmware()


@pytest.mark.usefixtures("taken")
class TestSameFirmware:
    @pytest.mark.parametrize("other", ["2.0-0", None])
    def test_mixed_is_wrong(self, bench: FakeBench, other: str | None) -> None:
        bench.dut.nics[1].info = replace(bench.dut.nics[1].info, firmware=other)
        with pytest.raises(CardFailure) as caught:
            Card().all_ports_should_run_the_same_firmware()
        shown = f"dut.p0 2.1-0, dut.p1 {other}"
        assert str(caught.value) == f"dut: ports run different firmware: {shown}; expected the same on all"

    def test_none_at_all_is_undecided_where_the_sheet_wants_one(self, bench: FakeBench, taken: Run) -> None:
        sheet(bench, taken, ("required: {unknown: nobody measured it}", 'required: ["2.1-0"]'))
        for nic in bench.dut.nics:
            nic.info = replace(nic.info, firmware=None)
        with pytest.raises(Undecided, match=r"^dut: none of dut\.p0, dut\.p1 reports a firmware version$"):
            Card().all_ports_should_run_the_same_firmware()

    def test_none_at_all_is_not_applicable_where_the_sheet_names_none(self, bench: FakeBench) -> None:
        """As vmxnet3, whose driver shows none."""
        for nic in bench.dut.nics:
            nic.info = replace(nic.info, firmware=None)
        with pytest.raises(NotApplicable, match=r"firmware version, and sheet intel-82574l names none$"):
            Card().all_ports_should_run_the_same_firmware()


SHAPE = ("firmware:\n", 'firmware:\n  shape: "(?P<version>[0-9.-]+)( \\\\[(?P<flashed>[0-9.-]+)\\\\])?"\n')


class TestFirmwareInALongerText:
    @pytest.fixture(autouse=True)
    def _shaped(self, bench: FakeBench, taken: Run) -> None:
        sheet(bench, taken, SHAPE, ("required: {unknown: nobody measured it}", 'required: ["2.1-0"]'))

    @pytest.mark.parametrize("text", ["2.1-0", "2.1-0 [2.2-0]"])
    def test_the_version_in_it_is_judged(self, bench: FakeBench, text: str) -> None:
        for nic in bench.dut.nics:
            nic.info = replace(nic.info, firmware=text)
        Card().firmware_should_be_as_on_the_sheet()

    def test_another_version_in_it_is_wrong(self, bench: FakeBench) -> None:
        nic = bench.dut.nics[1]
        nic.info = replace(nic.info, firmware="2.2-0 [2.1-0]")
        with pytest.raises(CardFailure, match=r"^dut\.p1 \S+ runs firmware 2\.2-0 \[2\.1-0\], sheet intel-82574l nei"):
            Card().firmware_should_be_as_on_the_sheet()

    def test_another_shape_cannot_be_judged(self, bench: FakeBench) -> None:
        nic = bench.dut.nics[0]
        nic.info = replace(nic.info, firmware="bc 2.1-0")
        with pytest.raises(Undecided, match=r"^dut\.p0 \S+: firmware: firmware 'bc 2\.1-0' is not built like"):
            Card().firmware_should_be_as_on_the_sheet()


@pytest.mark.parametrize("role", list(Role))
def test_the_driver_of_either_server_is_reloaded(bench: FakeBench, role: Role, taken: Run) -> None:
    pending = taken.journal.pending()
    Driver().reload_driver(role)
    assert bench.hosts[role].calls == ["reload e1000e"]
    assert taken.journal.pending() == pending


@pytest.mark.usefixtures("taken")
class TestReloadThatFails:
    @pytest.fixture(autouse=True)
    def _oops(self, bench: FakeBench) -> None:
        for host in bench.hosts.values():
            host.reload_fault = BenchFault(f"{host.name}: `modprobe -r e1000e` failed with exit status 137")
            host.said_when_reloaded = (KernelLine(1.0, "BUG: kernel NULL pointer dereference"), KernelLine(1.0, " x"))

    def test_of_the_dut_is_the_cards_failure_with_the_kernels_words(self, taken: Run) -> None:
        with pytest.raises(CardFailure) as caught:
            Driver().reload_driver()
        said = "dut: `modprobe -r e1000e` failed with exit status 137; the kernel said: BUG: kernel NULL pointer"
        assert str(caught.value) == f"dut: driver e1000e cannot be loaded again: {said} dereference"
        assert taken.journal.pending(), "it is not loaded"

    def test_of_the_peer_is_a_bench_fault(self) -> None:
        with pytest.raises(BenchFault, match=r"^peer: `modprobe"):
            Driver().reload_driver(Role.PEER)

    def test_a_lost_connection_is_a_bench_fault(self, bench: FakeBench) -> None:
        bench.dut.reload_fault = ConnectionLost("dut: gone")
        with pytest.raises(ConnectionLost):
            Driver().reload_driver()

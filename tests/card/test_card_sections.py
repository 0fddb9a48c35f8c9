"""The sections of a card sheet beyond identity and link: what may be wrong with one, and what they answer."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from niclab.bench.records import OperatingSystem
from niclab.card import (
    CARDS,
    Activation,
    Card,
    Changeable,
    Figure,
    FreebsdOffload,
    LinuxOffload,
    OffloadName,
    Unknown,
    VersionVerdict,
    load_card,
)
from niclab.core.verdict import BenchFault, NotApplicable, Undecided

SHEETS = sorted(CARDS.glob("*.yaml"))


def edited(folder: Path, name: str, *changes: tuple[str, str]) -> Path:
    """A copy of a sheet with each ``(old, new)`` replaced at its first place."""
    text = (CARDS / f"{name}.yaml").read_text(encoding="utf-8")
    for old, new in changes:
        assert old in text, f"{old!r} is not on {name}"
        text = text.replace(old, new, 1)
    file = folder / f"{name}.yaml"
    file.write_text(text, encoding="utf-8")
    return file


def fault(file: Path) -> str:
    with pytest.raises(BenchFault) as caught:
        load_card(file)
    return str(caught.value)


EMULEX, CHELSIO, ALTEON = "emulex-oce11102", "chelsio-t580-cr", "alteon-acenic"
RX_MAX = '{max: {"<6.2": 4096, ">=6.2": 8192}'
BROADCOM, INTEL, SOLARFLARE = "broadcom-bcm57810", "intel-x520", "solarflare-sfn5122f"

PAIRED = 'pair that it works"\n'


def _pair(driver: str, firmware: str = "1.8") -> str:
    return f"    - {{os: freebsd, driver: ['{driver}'], firmware: ['{firmware}'], source: test}}\n"


def _command(line: str = "x {interface} {image}", needs: str = "bash", refused: str = "no") -> str:
    said = f"line: '{line}', needs: ['{needs}'], refused: '{refused}'"
    return f"\n    command: {{{said}, source: test}}"


ENGINE = "iscsi_offload: {transport: x, mac_offset: 0, transfer_bytes: 512, wanted: {more_percent: 1}, source: test}"
OF_ENGINE = '  wanted: {loses_at_most_percent: 50}\n  source: "transport'

RULES = [
    # effects
    (SOLARFLARE, "kind: sysctl, name", "kind: sysctls, name", "effects.0.change.0.kind", "one of: offload, mtu,"),
    (SOLARFLARE, "{ratio: 1.25, within", "{ratio: 0, within", "effects.2.wanted.ratio", "a number of more than 0 and"),
    (SOLARFLARE, "{ratio: 1.25, within_percent: 10}", "{}", "effects.2.wanted", "one of ratio, more_percent"),
    (SOLARFLARE, "ratio: 0.25,", "more_percent: 1, ratio: 0.25,", "effects.3.wanted", "one of ratio, more_percent"),
    (SOLARFLARE, "{ratio: 0.25, within_percent: 20}", "{ratio: 0.25}", "effects.3.wanted", "both or neither"),
    (SOLARFLARE, "name: gro-off", "name: tso-off", "effects", "each effect once"),
    (
        SOLARFLARE,
        "kind: bond, to",
        "kind: bond, name: x, to",
        "effects.8.change.0",
        "none",
    ),
    (SOLARFLARE, "kind: offload, name: gro,", "kind: offload,", "effects.4.change.0", "a name"),
    (SOLARFLARE, "workload: TCP_RR", "workload: TCP_CRR", "effects.2.workload", "TCP_STREAM, TCP_SENDFILE or TCP_RR"),
    (SOLARFLARE, "change: [{kind: bond, to: active-backup}]", "change: []", "effects.8.change", "at least one"),
    (BROADCOM, "name: reno", "name: jumbo", "sequence.steps", "each step once"),
    (
        BROADCOM,
        "iscsi: {gains_at_most_percent: 10}",
        "iscsi: {window_bytes: 65535}",
        "sequence.steps.2.iscsi",
        "a change in percent, or unknown",
    ),
    (EMULEX, "\nerrata:", f"\n{ENGINE}\nerrata:", "iscsi_offload", "the section iscsi, whose loads it is asked for"),
    (BROADCOM, "mac_offset: 1", "mac_offset: 256", "iscsi_offload.mac_offset", "a number 0..255"),
    (BROADCOM, "transfer_bytes: 65024", "transfer_bytes: 16", "iscsi_offload.transfer_bytes", "512..16777216 bytes"),
    (BROADCOM, OF_ENGINE, '  wanted: {}\n  source: "transport', "iscsi_offload.wanted", "one of ratio, more_percent"),
    (
        BROADCOM,
        OF_ENGINE,
        '  wanted: {window_bytes: 65535}\n  source: "transport',
        "iscsi_offload.wanted",
        "a change in percent",
    ),
    # values
    (EMULEX, 'pci_class: "020000"', 'pci_class: "2000"', "identity.pci_class", "a PCI class of 6 hex digits"),
    (
        EMULEX,
        "mac_ouis: any",
        'mac_ouis: ["01:00:c9"]',
        "identity.mac_ouis.0",
        "the first three bytes of a unicast MAC",
    ),
    (EMULEX, "function-per-port", "port-per-function", "identity.port_layout", "function-per-port or one-function"),
    (CHELSIO, "[PN, EC, SN]", "[PN, part]", "identity.vpd.keywords.1", "a VPD keyword"),
    (EMULEX, "where: sysctl", "where: registry", "drivers.freebsd.tunables.0.where", "sysctl or module-parameter"),
    (EMULEX, "name: be2net-modules", "name: be2net modules", "drivers.linux.package.name", "the name of a package"),
    (
        EMULEX,
        "tool: ethtool",
        "tool: screwdriver",
        "firmware.update.tool",
        "ethtool, devlink, vendor, host-loaded or unknown",
    ),
    (EMULEX, "activation: reset", "activation: never", "firmware.update.activation", "driver-reload, reset"),
    (EMULEX, "file: oc11-4.4.249.3.ufi", "file: ../oc11.ufi", "firmware.update.images.0.file", "a file name"),
    (EMULEX, "(?P<version>", "(", "firmware.shape", "a regular expression in quotes, with a group (?P<version>"),
    (EMULEX, "(?P<version>", "(?P<version", "firmware.shape", "a regular expression in quotes"),
    (EMULEX, "order: numbers", "order: random", "firmware.order", "numbers, numbers-suffix, numbers-or-names or exact"),
    (EMULEX, "width: 8", "width: 9", "pcie.width", "1, 2, 4, 8, 12, 16 or 32 lanes"),
    (EMULEX, "media: [fibre,", "media: [SFP+,", "link.media.0", "twisted-pair, fibre, direct-attach or backplane"),
    (EMULEX, "vlan_fraction_of_untagged: 0.9", "vlan_fraction_of_untagged: 1", "limits.vlan_fraction", "less than 1"),
    (ALTEON, "width_bits: 64", "width_bits: 16", "conventional_pci.width_bits", "32 or 64 bits"),
    (ALTEON, "clock_mhz: 66", "clock_mhz: 60", "conventional_pci.clock_mhz", "33, 66, 100 or 133 MHz"),
    (EMULEX, "speeds_mbps: [10000]", "speeds_mbps: [1]", "link.speeds_mbps.0", "a link speed of 10..1600000"),
    (INTEL, RX_MAX, "{max: 0", "rings.rx.max", "a number of descriptors"),
    (EMULEX, "name: rx-usecs,", "name: rx usecs,", "coalescing.parameters.0.name", "a name without blanks"),
    (
        EMULEX,
        "adaptive_rx: true",
        'adaptive_rx: "yes"',
        "coalescing.adaptive_rx",
        "true, false, or {unknown: the reason}",
    ),
    (BROADCOM, "autoneg: true", "autoneg: 1", "pause.autoneg", "true, false, or {unknown: the reason}"),
    (INTEL, "{max: 63,", "{max: -1,", "channels.combined.max", "a number of queues"),
    (EMULEX, "min: 256", "min: 45", "mtu.min", "an MTU of 46..65535 bytes"),
    (EMULEX, "name: vlan-mtu", "name: vlan-magic", "offloads.table.3.name", "rx-checksum, tx-checksum"),
    (EMULEX, "label: TSO4", "label: tso4", "offloads.table.9.freebsd.label", "a label in capitals"),
    (EMULEX, "bit: 9,", "bit: 64,", "offloads.table.10.freebsd.bit", "a bit 0..63"),
    (EMULEX, "at_least: 1.5", "at_least: 1", "offloads.table.9.linux.proof.at_least", "a number more than 1"),
    (EMULEX, "os: freebsd", "os: windows", "firmware.with_driver.0.os", "linux or freebsd"),
    (EMULEX, "os: freebsd\n      word", "os: windows\n      word", "offloads.refused.0.os", "linux or freebsd"),
    (
        EMULEX,
        "jumbo_tcp_fraction_of_line_rate: 0.95",
        "jumbo_tcp_fraction_of_line_rate: 95",
        "limits.jumbo",
        "a fraction",
    ),
    (
        ALTEON,
        "frames_per_s: 22500",
        "zero_loss: [{frame_bytes: 63, frames_per_s: 1, source: x}]",
        "limits.zero_loss.0.frame_bytes",
        "bytes of a frame with FCS, 64..9216",
    ),
    (ALTEON, "frames_per_s: 22500", "frames_per_s: 0", "limits.frames_per_s", "a whole number of at least 1"),
    (EMULEX, "requirement: EMX-08", "requirement: emx8", "effects.0.requirement", "the ID of a requirement"),
    (EMULEX, "metric: mbps", "metric: furlongs", "references.0.metric", "mbps, mbytes-per-s"),
    # what spans several fields
    (
        EMULEX,
        'previous: "4.4.161.0"',
        'previous: "4.2.0.0"',
        "drivers.linux.package.previous",
        "a version that may run",
    ),
    (EMULEX, 'previous: "4.4.161.0"', 'previous: "12.0.0.0"', "drivers.linux.package.previous", "another version than"),
    (EMULEX, 'example: "4.4.249.3"', 'example: "4.4"', "firmware.example", "a string that is"),
    (EMULEX, 'version: "10.6.144.21"', 'version: "4.4.249.3"', "firmware.update.images", "one image a version"),
    (EMULEX, "t5fw-1.27.1.0.bin", "oc11-4.4.249.3.ufi", "firmware.update.foreign_image", "an image of another card"),
    (
        EMULEX,
        "tool: ethtool",
        "tool: vendor",
        "firmware.update.images",
        "images only where ethtool, devlink or a command writes",
    ),
    (EMULEX, "order: numbers", "order: exact", "firmware.forbidden.0", "an exact version"),
    (
        EMULEX,
        PAIRED,
        f"{PAIRED}{_pair('4.2.116.0')}",
        "firmware.with_driver.1.driver.0",
        "each version of a driver in one",
    ),
    (EMULEX, PAIRED, f"{PAIRED}{_pair('1', '>=x')}", "firmware.with_driver.1.firmware.0", "an exact version such"),
    (EMULEX, PAIRED, f"{PAIRED}{_pair('1', '>=1.8-k')}", "firmware.with_driver.1.firmware.0", "an exact version"),
    (
        EMULEX,
        "tool: ethtool",
        f"tool: ethtool{_command()}",
        "firmware.update.command",
        "a command only with tool: vendor",
    ),
    (
        EMULEX,
        "tool: ethtool",
        f"tool: vendor{_command('x')}",
        "firmware.update.command.line",
        "one line for sh with {image}",
    ),
    (EMULEX, "tool: ethtool", f"tool: vendor{_command('x {image} {mac}')}", "firmware.update.command.line", "one line"),
    (
        EMULEX,
        "tool: ethtool",
        f"tool: vendor{_command(needs='a b')}",
        "firmware.update.command.needs.0",
        "the name of a",
    ),
    (
        EMULEX,
        "tool: ethtool",
        f"tool: vendor{_command(refused='(')}",
        "firmware.update.command.refused",
        "a regular exp",
    ),
    (INTEL, "      order: numbers-suffix\n", "", "drivers.linux.package.allowed.0", "an exact version"),
    (INTEL, RX_MAX, "{max: 256", "rings.rx.default", "at most max"),
    (INTEL, "default: 512, min: 64", "default: 32, min: 64", "rings.rx.default", "at least min"),
    (EMULEX, "default: 128, max: 128", "default: 129, max: 128", "coalescing.parameters.2.default", "at most max"),
    (EMULEX, "name: rx-usecs-low", "name: rx-usecs", "coalescing.parameters", "each parameter once"),
    (
        INTEL,
        "max: 63, default: {unknown: it depends on the processors of the server}",
        "max: 63, default: 64",
        "channels.combined.default",
        "at most max",
    ),
    (EMULEX, "max: 9000", "max: 1400", "mtu.default", "at most max"),
    (EMULEX, "speeds_mbps: [10000]", "speeds_mbps: [1000]", "link.speeds_mbps", "every speed of the card"),
    (EMULEX, "    baseline: 9000\n", "", "references.0.defect", "a baseline: their ratio is judged"),
    (EMULEX, "value: 6000", "value: 8500", "references.0.defect", "an effect that a card with the defect fails"),
    (EMULEX, "name: tso6", "name: tso4", "offloads.table", "each offload once"),
    (EMULEX, "label: TSO6", "label: TSO4", "offloads.table", "one row a name"),
    (EMULEX, "clears: [tso4, tso6]", "clears: [ntuple]", "offloads.table.1.linux.clears.0", "another row's name"),
    (EMULEX, "clears: [tso4, tso6]", "clears: [tx-checksum]", "offloads.table.1.linux.clears.0", "another row's name"),
    (
        EMULEX,
        "change: both, clears: [tso4, tso6]",
        "change: fixed, clears: [tso4]",
        "offloads.table.1.linux.clears",
        "none: it never goes off",
    ),
    (
        EMULEX,
        "set_words: [vlanhwtso], default: true",
        "set_words: [vlanhwtso], default: false",
        "offloads.table.14.freebsd.change",
        "not-on, both or fixed",
    ),
    (EMULEX, "set_words: [rxcsum], ", "", "offloads.table.0.freebsd.set_words", "the words of ifconfig"),
    (EMULEX, ", at_least: 1.5", "", "offloads.table.9.linux.proof", "both or neither"),
    (EMULEX, "word: lso", "word: lro", "offloads.refused.0.word", "another word"),
    (
        CHELSIO,
        "rx-usecs, default: 5, max: 200}\n      source",
        "rx-usecs, default: 500, max: 200}\n      source",
        "drivers.freebsd.coalescing.parameters.0.default",
        "at most max",
    ),
    (
        CHELSIO,
        "    in_kernel: true\n    package:",
        "    in_kernel: true\n    channels: {settable: false, source: t}\n    package:",
        "drivers.linux.channels",
        "them in the card's own section channels",
    ),
    (BROADCOM, "      min: 72", "      min: 9999", "drivers.freebsd.mtu.min", "at most max"),
    (
        "intel-82574l",
        'example: "EEPROM V2.1-0"',
        'example: "2.1-0"',
        "drivers.freebsd.firmware.example",
        "a string that is",
    ),
    (BROADCOM, "  mtu: 9000", "  mtu: 9700", "recommended.mtu", "an MTU the card takes"),
    (BROADCOM, "rings: {rx: 4078}", "rings: {rx: 4096}", "recommended.rings.rx", "a size the card takes"),
    (BROADCOM, "  settable: true", "  settable: false", "recommended.rings", "no rings"),
    (
        SOLARFLARE,
        "rx-usecs, default: 60}",
        "rx-usecs, default: 60, max: 99}",
        "recommended.coalescing.0.value",
        "a value",
    ),
    (SOLARFLARE, "rx-usecs, value: 100", "rx-frames, value: 1", "recommended.coalescing.0.name", "a supported"),
]


@pytest.mark.parametrize(("name", "old", "new", "field", "wanted"), RULES)
def test_each_rule_has_a_sheet_that_breaks_it(
    tmp_path: Path, name: str, old: str, new: str, field: str, wanted: str
) -> None:
    lines = fault(edited(tmp_path, name, (old, new))).splitlines()
    told = [line for line in lines if re.search(rf"{name}\.yaml:\d+: {re.escape(field)}", line)]
    assert any(f"; expected {wanted}" in line or wanted in line.split("; expected ")[1] for line in told), lines


def test_a_problem_names_the_line_it_stands_in(tmp_path: Path) -> None:
    file = edited(tmp_path, EMULEX, ("clears: [tso4, tso6]", "clears: [ntuple]"))
    line = next(n for n, text in enumerate(file.read_text().splitlines(), start=1) if "ntuple" in text)
    wanted = (
        f"{file}:{line}: offloads.table.1.linux.clears.0: ntuple is no other row of it; expected another row's name"
    )
    assert fault(file) == wanted


@pytest.mark.parametrize("found", ["neither", "both"])
def test_a_card_sits_on_one_bus(tmp_path: Path, found: str) -> None:
    if found == "neither":
        text = (CARDS / f"{ALTEON}.yaml").read_text()
        section = text[text.index("conventional_pci:") : text.index("\nlink:")]
        file = edited(tmp_path, ALTEON, (section, ""))
    else:
        file = edited(tmp_path, ALTEON, ("\nlink:\n", "\npcie: {speed_gts: 5, width: 8, source: test}\nlink:\n"))
    assert f"(the whole file): {found} " in fault(file)


SECTIONS = ("rings", "coalescing", "pause", "channels", "mtu", "offloads", "recommended")


@pytest.mark.parametrize("section", SECTIONS)
def test_every_section_names_its_source(tmp_path: Path, section: str) -> None:
    text = (CARDS / f"{BROADCOM}.yaml").read_text()
    start = text.index(f"\n{section.partition('.')[0]}:\n")
    start = text.index("costs:", start) if "." in section else start
    indent = "    " if "." in section else "  "
    place = text.index(f"\n{indent}source:", start)
    file = tmp_path / f"{BROADCOM}.yaml"
    rest = re.sub(rf"\n{indent}source:.*?(?=\n{{1,2}}\S|\n  \w|\Z)", "", text[place:], count=1, flags=re.S)
    file.write_text(text[:place] + rest)
    assert f": {section}.source: missing; expected where the facts come from" in fault(file)


@pytest.mark.parametrize("file", SHEETS, ids=lambda file: file.stem)
def test_every_firmware_string_of_a_sheet_is_read_and_judged(file: Path) -> None:
    firmware = load_card(file).firmware
    firmware.verdict(firmware.read(firmware.example or "2.1-0"))


@pytest.mark.parametrize(
    ("sheet", "text", "verdict"),
    [
        ("broadcom-bcm57810", "FFV7.8.53 bc 7.8.24", VersionVerdict.REQUIRED),
        ("broadcom-bcm57810", "7.8.16 bc 6.2.26 phy aa0.406", VersionVerdict.FORBIDDEN),
        ("broadcom-bcm57810", "bc 7.10.4", VersionVerdict.ALLOWED),
        ("broadcom-bcm57810", "bc 7.4.22 phy 1.34", VersionVerdict.ALLOWED),
        ("intel-x520", "14.5.9", VersionVerdict.REQUIRED),
        ("intel-x520", "0x80000887, 1.2688.0", VersionVerdict.ALLOWED),
        ("intel-x520", "0x80000887", VersionVerdict.ALLOWED),
        ("intel-x520", "12.5.9", VersionVerdict.FORBIDDEN),
    ],
)
def test_firmware_strings_of_boards_of_several_makers_are_judged(
    sheet: str, text: str, verdict: VersionVerdict
) -> None:
    firmware = load_card(sheet).firmware
    assert firmware.verdict(firmware.read(text)) is verdict


@pytest.mark.parametrize(("sheet", "text"), [("broadcom-bcm57810", "bc 1.2.3"), ("intel-x520", "0x61c10001")])
def test_a_firmware_name_that_no_list_has_is_undecided(sheet: str, text: str) -> None:
    firmware = load_card(sheet).firmware
    with pytest.raises(Undecided, match="is a name that no list has"):
        firmware.verdict(firmware.read(text))


def test_a_ring_that_queues_share_is_smaller_the_more_there_are() -> None:
    rings = load_card(BROADCOM).rings
    assert rings is not None
    assert rings.rx.delivered(9) == (453, 407)
    assert rings.rx.delivered(1) == (4078, 2039)
    assert rings.rx.delivered(64) == (128, 128)
    assert rings.tx.delivered(9) == (4078,)


def test_a_firmware_string_is_taken_apart() -> None:
    broadcom = load_card(BROADCOM).firmware
    read = broadcom.read("FFV7.8.53 bc 7.8.24")
    assert read == "7.8.53"
    emulex = load_card(EMULEX).firmware.read("4.4.249.3 [10.6.144.21]")
    assert emulex == "4.4.249.3"
    assert load_card(INTEL).firmware.read("0x61c10001") == "0x61c10001"


@pytest.mark.parametrize("text", ["", "N/A", "4.4.249", "4.4.249.3 ", "4.4.249.3 [", "7.8.53", "x4.4.249.3"])
def test_a_firmware_string_of_another_shape_is_never_judged(text: str) -> None:
    with pytest.raises(Undecided, match=r"is not built like '4\.4\.249\.3'"):
        load_card(EMULEX).firmware.read(text)


def test_a_firmware_without_shape_is_the_version_itself() -> None:
    read = load_card("intel-82574l").firmware.read("2.1-0")
    assert read == "2.1-0"


def test_the_offload_table_of_the_emulex_document_is_on_its_sheet() -> None:
    offloads = load_card(EMULEX).offloads
    assert offloads is not None
    rows = offloads.rows(OperatingSystem.FREEBSD).values()
    word = sum(1 << row.bit for row in rows if isinstance(row, FreebsdOffload))
    assert f"{word:x}" == "507bb"
    changes = {row.label: row.change for row in rows if isinstance(row, FreebsdOffload)}
    assert [label for label, change in changes.items() if change is Changeable.FIXED] == ["VLAN_MTU", "JUMBO_MTU"]
    assert {label for label, change in changes.items() if change is Changeable.NOT_OFF} == {
        "VLAN_HWCSUM",
        "TSO6",
        "VLAN_HWTSO",
    }
    txcsum = offloads.rows(OperatingSystem.FREEBSD)[OffloadName.TX_CHECKSUM]
    assert txcsum.clears == (OffloadName.TSO4, OffloadName.TSO6)
    assert [(refused.word, refused.os) for refused in offloads.refused] == [("lso", OperatingSystem.FREEBSD)]


def test_rows_of_one_system_do_not_show_the_other() -> None:
    offloads = load_card(EMULEX).offloads
    assert offloads is not None
    linux = offloads.rows(OperatingSystem.LINUX)
    assert OffloadName.VLAN_MTU not in linux
    assert all(isinstance(row, LinuxOffload) for row in linux.values())


def test_figures_of_the_seeds_are_on_the_sheets() -> None:
    def figures(card: Card, requirement: str) -> list[tuple[float, float | None]]:
        return [(ref.value, ref.baseline) for ref in card.references if ref.requirement == requirement]

    solarflare, alteon = load_card(SOLARFLARE), load_card(ALTEON)
    assert figures(solarflare, "SUS-04") == [(6197, 9183)]
    assert figures(solarflare, "SUS-05") == [(5842, 9134)]
    assert figures(solarflare, "SUS-07") == [(2470, 7470)]
    assert figures(alteon, "NFS-01") == [(25000, None), (5, None)]
    broadcom, intel = load_card(BROADCOM), load_card(INTEL)
    assert broadcom.rings is not None and intel.rings is not None
    assert (broadcom.rings.rx.default, broadcom.rings.tx.default) == (4078, 4078)
    assert (intel.rings.rx.default, intel.rings.tx.default) == (512, 512)
    assert broadcom.pause is not None and intel.pause is not None
    assert (broadcom.pause.autoneg, intel.pause.autoneg) == (True, False)
    freebsd = load_card(EMULEX).driver(OperatingSystem.FREEBSD)
    assert [(fact.documented_default, fact.actual_default) for fact in freebsd.tunables] == [(512, 64)]


def test_an_unknown_default_of_a_tunable_is_no_word(tmp_path: Path) -> None:
    sheet = edited(tmp_path, EMULEX, ("documented_default: 512", "documented_default: {unknown: test}"))
    (fact,) = load_card(str(sheet)).driver(OperatingSystem.FREEBSD).tunables
    assert fact.documented_default == Unknown(unknown="test")


def test_a_card_on_conventional_pci_has_no_link_that_trains() -> None:
    with pytest.raises(NotApplicable, match=r"^sheet alteon-acenic is of a card on conventional PCI"):
        load_card(ALTEON).pcie_link()
    assert load_card(EMULEX).pcie_link().width == 8


def test_a_section_that_is_left_out_is_not_applicable() -> None:
    card = load_card(ALTEON)
    with pytest.raises(NotApplicable, match=r"^sheet alteon-acenic says nothing about sequence$"):
        card.section(card.sequence, "sequence")
    assert card.section(card.mtu, "mtu").max == 9000


def test_a_driver_of_freebsd_may_take_another_mtu_and_show_firmware_in_another_way() -> None:
    card = load_card(BROADCOM)
    linux, freebsd = card.of_system(OperatingSystem.LINUX), card.of_system(OperatingSystem.FREEBSD)
    assert linux.mtu is not None and freebsd.mtu is not None
    assert (linux.mtu.max, freebsd.mtu.max, freebsd.mtu.min) == (9600, 9184, 72)
    assert (linux.firmware.is_known, freebsd.firmware.is_known) == (True, False)
    assert freebsd.pause == card.pause, "of which the sheet says nothing else"
    firmware = load_card("intel-82574l").of_system(OperatingSystem.FREEBSD).firmware
    assert firmware.verdict(firmware.read("EEPROM V2.1-0 eTrack 0x80000000")) is VersionVerdict.REQUIRED
    pause = load_card(INTEL).of_system(OperatingSystem.FREEBSD).pause
    assert pause is not None and isinstance(pause.autoneg, Unknown) and pause.tx is True


def test_the_figures_of_the_model_are_in_no_other_section() -> None:
    """Nothing but a model is built from them: no library reads the section."""
    libraries = CARDS.parents[1] / "libraries"
    readers = [file for file in libraries.rglob("*.py") if re.search(r"card\.model\b(?! import)", file.read_text())]
    assert readers == []


def test_how_firmware_starts_to_run_is_known_of_each_flashed_card() -> None:
    updates = {file.stem: load_card(file).firmware.update for file in SHEETS}
    assert {name: update.activation for name, update in updates.items() if update} == {
        ALTEON: Activation.DRIVER_RELOAD,
        BROADCOM: Activation.RESET,
        CHELSIO: Activation.DRIVER_RELOAD,
        EMULEX: Activation.RESET,
        INTEL: Activation.POWER_CYCLE,
        "intel-82574l": Activation.POWER_CYCLE,
        "intel-82576": Activation.POWER_CYCLE,
        SOLARFLARE: Activation.RESET,
    }


@pytest.mark.parametrize("sheet", SHEETS, ids=lambda sheet: sheet.stem)
def test_throughput_measured_elsewhere_fails_no_better_card(sheet: Path) -> None:
    """Two figures of another bench bound how much may be lost; a ratio of them would fail a card that loses less."""
    for effect in load_card(sheet).effects:
        if effect.figure is Figure.MBPS and len(re.findall(r"\d+ (?:Mbit/s )?with(?:out)?\b", effect.source)) > 1:
            assert effect.wanted.ratio is None and effect.wanted.loses_at_most_percent is not None, effect.name

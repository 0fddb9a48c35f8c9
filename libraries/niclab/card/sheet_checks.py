"""Problems that no field of a card sheet shows alone: contradictions between sections, and references to nothing."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from itertools import zip_longest
from typing import Any

from niclab.bench.records import OperatingSystem
from niclab.card.effects import FORMS, Prediction, Setting, SettingKind
from niclab.card.kernels import KernelContext
from niclab.card.offload_facts import Changeable, FreebsdOffload, LinuxOffload, OffloadName, Offloads
from niclab.card.settings_facts import Recommended, Ring
from niclab.card.sheet import Card
from niclab.card.software import Driver, Firmware, FirmwarePair, FlashTool
from niclab.card.values import Unknown
from niclab.card.versions import VersionLists, matches
from niclab.core.verdict import Undecided
from niclab.files.document import FieldPath, Problem


def sheet_problems(card: Card) -> Iterator[Problem]:
    """Yield what spans several fields of a card sheet, for every range of kernels that it tells apart.

    Args:
        card: The sheet as its file has it, each field valid by itself.

    Yields:
        One problem after another, with the field that shows it.
    """
    if card.card != card.file.stem:
        yield Problem(("card",), f"{card.card} is not the name of the file", card.file.stem)
    kernels = KernelContext()
    card.read_for(kernels)
    starts = sorted(kernels.starts or {()})
    for start, end in zip_longest(starts, starts[1:]):
        where = " (Linux before {})" if start == () else " (Linux {} and later)"
        number = ".".join(map(str, start or end or ()))
        for problem in _on_a_kernel(card.read_for(KernelContext(start))):
            found = problem.found + (where.format(number) if len(starts) > 1 else "")
            yield Problem(problem.field, found, problem.wanted)


def _on_a_kernel(card: Card) -> Iterator[Problem]:
    """Everything that spans several fields, part by part."""
    yield from _bus(card)
    yield from _drivers(card)
    yield from _version_lists(("firmware",), card.firmware)
    yield from _firmware(("firmware",), card.firmware)
    yield from _settings(card)
    if card.offloads is not None:
        yield from _offloads(card.offloads)
    if card.recommended is not None:
        yield from _recommended(card, card.recommended)
    yield from _effects(card)
    yield from _iscsi_offload(card)
    yield from _references(card)


def _bus(card: Card) -> Iterator[Problem]:
    if (card.pcie is None) == (card.conventional_pci is None):
        found = "neither pcie nor conventional_pci" if card.pcie is None else "both pcie and conventional_pci"
        yield Problem((), found, "pcie or conventional_pci: a card sits on one bus")


def _version_lists(where: FieldPath, lists: VersionLists) -> Iterator[Problem]:
    for each in lists.contradictions():
        yield Problem((*where, each.verdict.value, each.index), each.reason, each.wanted)


def _drivers(card: Card) -> Iterator[Problem]:
    if card.drivers.linux is None and card.drivers.freebsd is None:
        yield Problem(("drivers",), "no driver", "linux and/or freebsd")
    for system in OperatingSystem:
        driver = card.drivers.linux if system is OperatingSystem.LINUX else card.drivers.freebsd
        if driver is not None:
            yield from _driver(("drivers", system.value), driver)


def _driver(field: FieldPath, driver: Driver) -> Iterator[Problem]:
    if driver.in_kernel is False:
        yield Problem((*field, "in_kernel"), "false is not wanted", "true, or version instead")
    elif (driver.version is None) == (driver.in_kernel is None):
        found = "neither version nor in_kernel" if driver.version is None else "both version and in_kernel"
        yield Problem(field, found, "version or in_kernel: true")
    if driver.version is not None:
        yield from _version_lists((*field, "version"), driver.version)
    if driver.firmware is not None:
        yield from _version_lists((*field, "firmware"), driver.firmware)
        yield from _firmware((*field, "firmware"), driver.firmware)
    package = driver.package
    if package is not None:
        where = (*field, "package")
        yield from _version_lists(where, package)
        if package.previous is not None and _is_forbidden(package, package.previous):
            yield Problem((*where, "previous"), f"{package.previous} is forbidden", "a version that may run")
        if not isinstance(package.required, Unknown) and package.previous in package.required:
            yield Problem((*where, "previous"), f"{package.previous} is required", "another version than the required")


def _is_forbidden(lists: VersionLists, version: str) -> bool:
    try:
        return any(matches(version, spec, lists.order) for spec in lists.forbidden or ())
    except ValueError:
        return False


def _firmware(where: FieldPath, firmware: Firmware) -> Iterator[Problem]:
    if firmware.example is not None:
        try:
            firmware.read(firmware.example)
        except Undecided:
            yield Problem((*where, "example"), f"{firmware.example} is not built like shape", "a string that is")
    yield from _firmware_pairs((*where, "with_driver"), firmware)
    update = firmware.update
    if update is None:
        return
    if update.command is not None and update.tool is not FlashTool.VENDOR:
        found = f"the command of a card whose tool is {update.tool.value}"
        yield Problem((*where, "update", "command"), found, "a command only with tool: vendor")
    if update.images and update.command is None and update.tool not in (FlashTool.ETHTOOL, FlashTool.DEVLINK):
        found = f"images of a card whose tool is {update.tool.value}"
        yield Problem(
            (*where, "update", "images"), found, "images only where ethtool, devlink or a command writes them"
        )
    for version in _twice(image.version for image in update.images):
        yield Problem((*where, "update", "images"), f"two images of {version}", "one image a version")
    if update.foreign_image in [image.file for image in update.images]:
        found = f"{update.foreign_image} is an image of this card"
        yield Problem((*where, "update", "foreign_image"), found, "an image of another card")


def _firmware_pairs(where: FieldPath, firmware: Firmware) -> Iterator[Problem]:
    """Yield what a pair has no order for, and drivers that two pairs name."""
    for index, pair in enumerate(firmware.with_driver):
        for each in VersionLists(required=pair.firmware, order=firmware.order).contradictions():
            yield Problem((*where, index, "firmware", each.index), each.reason, each.wanted)
        others = [other for other in firmware.with_driver[:index] if other.os is pair.os]
        for place, version in enumerate(pair.driver):
            if any(_is_of(other, version) for other in others):
                found = f"{version} is in a pair before"
                yield Problem((*where, index, "driver", place), found, "each version of a driver in one pair")


def _is_of(pair: FirmwarePair, version: str) -> bool:
    try:
        return version in pair.driver or pair.has_driver(version)
    except Undecided:  # a range, or of another shape: a run that meets such a driver does not guess
        return False


def _above(small: Any, large: Any) -> bool:
    """True when both are known and ``small`` is above ``large``."""
    return isinstance(small, int) and isinstance(large, int) and small > large


def _settings(card: Card) -> Iterator[Problem]:
    yield from _of_driver((), card)
    if card.drivers.linux is not None:
        for name in ("rings", "coalescing", "channels", "mtu", "pause", "firmware"):
            if getattr(card.drivers.linux, name) is not None:
                found = f"{name} of Linux' driver"
                yield Problem(("drivers", "linux", name), found, f"them in the card's own section {name}")
        if card.drivers.linux.tcp_offload is not None:
            found = "tcp_offload of Linux' driver"
            yield Problem(("drivers", "linux", "tcp_offload"), found, "it of FreeBSD's: Linux has no interface for it")
    if card.drivers.freebsd is not None:
        yield from _of_driver(("drivers", "freebsd"), card.drivers.freebsd)
        if card.drivers.freebsd.mtu is not None:
            yield from _in_range(("drivers", "freebsd", "mtu"), card.drivers.freebsd.mtu)
        rows = card.offloads.rows(OperatingSystem.FREEBSD) if card.offloads is not None else {}
        if card.drivers.freebsd.tcp_offload is not None and OffloadName.TOE not in rows:
            yield Problem(("drivers", "freebsd", "tcp_offload"), "no offload toe", "its row in the table of offloads")
    if card.mtu is not None:
        yield from _in_range(("mtu",), card.mtu)
    speeds = card.link.speeds_mbps
    if speeds and not isinstance(card.link.speed_mbps, Unknown) and card.link.speed_mbps not in speeds:
        found = f"{card.link.speed_mbps} is not among them"
        yield Problem(("link", "speeds_mbps"), found, "every speed of the card, speed_mbps too")


def _of_driver(where: FieldPath, place: Card | Driver) -> Iterator[Problem]:
    """Yield the problems of the sections ``rings``, ``channels`` and ``coalescing`` of a driver."""
    for name in ("rx", "tx", "rx_mini", "rx_jumbo"):
        ring: Ring | None = getattr(place.rings, name, None)
        if ring is not None:
            yield from _in_range((*where, "rings", name), ring)
    for kind in ("rx", "tx", "combined"):
        queues = getattr(place.channels, kind, None)
        if queues is not None:
            yield from _in_range((*where, "channels", kind), queues)
    if place.coalescing is not None:
        field = (*where, "coalescing", "parameters")
        for index, parameter in enumerate(place.coalescing.parameters):
            yield from _in_range((*field, index), parameter)
        for name in _twice(parameter.name for parameter in place.coalescing.parameters):
            yield Problem(field, f"{name} is there twice", "each parameter once")


def _in_range(field: FieldPath, fact: Any) -> Iterator[Problem]:
    low = getattr(fact, "min", None)
    if _above(fact.default, fact.max):
        yield Problem((*field, "default"), f"{fact.default} is above max {fact.max}", "at most max")
    if _above(low, fact.default):
        yield Problem((*field, "default"), f"{fact.default} is below min {low}", "at least min")
    if _above(low, fact.max):
        yield Problem((*field, "min"), f"{low} is above max {fact.max}", "at most max")


def _twice(values: Any) -> list[Any]:
    return [value for value, count in Counter(values).items() if count > 1]


def _offloads(offloads: Offloads) -> Iterator[Problem]:
    for name in _twice(row.name for row in offloads.table):
        yield Problem(("offloads", "table"), f"{name.value} is there twice", "each offload once")
    for index, row in enumerate(offloads.table):
        if row.linux is None and row.freebsd is None:
            yield Problem(("offloads", "table", index), "neither linux nor freebsd", "linux and/or freebsd")
    for system in OperatingSystem:
        rows = offloads.rows(system)
        names = [row.word if isinstance(row, LinuxOffload) else row.label for row in rows.values()]
        for word in _twice(names):
            yield Problem(("offloads", "table"), f"{system.value}: {word} names two offloads", "one row a name")
        for index, row in enumerate(offloads.table):
            own = rows.get(row.name)
            if own is not None:
                yield from _offload(("offloads", "table", index, system.value), row.name, own, rows)
    words = {word for row in offloads.rows(OperatingSystem.FREEBSD).values() for word in getattr(row, "set_words", ())}
    for index, refused in enumerate(offloads.refused):
        if refused.os is OperatingSystem.FREEBSD and refused.word in words:
            yield Problem(("offloads", "refused", index, "word"), f"{refused.word} sets an offload", "another word")


def _offload(field: FieldPath, name: Any, row: LinuxOffload | FreebsdOffload, rows: Any) -> Iterator[Problem]:
    for index, cleared in enumerate(row.clears):
        if cleared is name or cleared not in rows:
            yield Problem((*field, "clears", index), f"{cleared.value} is no other row of it", "another row's name")
    if row.clears and row.change in (Changeable.FIXED, Changeable.NOT_OFF):
        yield Problem((*field, "clears"), f"set of an offload that is {row.change.value}", "none: it never goes off")
    if row.change is Changeable.NOT_OFF and row.default is False:
        yield Problem((*field, "change"), "not-off of an offload that is off", "not-on, both or fixed")
    if row.change is Changeable.NOT_ON and row.default is True:
        yield Problem((*field, "change"), "not-on of an offload that is on", "not-off, both or fixed")
    if isinstance(row, FreebsdOffload) and not row.set_words and row.change is not Changeable.FIXED:
        yield Problem((*field, "set_words"), "none, though it can be changed", "the words of ifconfig that set it")
    if row.proof and (row.proof.per is None) != (row.proof.at_least is None):
        yield Problem((*field, "proof"), "one of per and at_least alone", "both or neither")


def _recommended(card: Card, expected: Recommended) -> Iterator[Problem]:
    where: FieldPath = ("recommended",)
    if card.mtu is not None and (_above(expected.mtu, card.mtu.max) or _above(card.mtu.min, expected.mtu)):
        yield Problem(
            (*where, "mtu"), f"{expected.mtu} is outside {card.mtu.min}..{card.mtu.max}", "an MTU the card takes"
        )
    for name in ("rx", "tx"):
        size = getattr(expected.rings, name, None)
        ring: Ring | None = getattr(card.rings, name, None)
        if size is not None and ring is not None and _above(size, ring.max):
            yield Problem((*where, "rings", name), f"{size} is above max {ring.max}", "a size the card takes")
    if expected.rings is not None and card.rings is not None and not card.rings.settable:
        yield Problem((*where, "rings"), "rings of a card whose rings cannot be set", "no rings")
    known = {row.name: row for row in card.coalescing.parameters} if card.coalescing is not None else {}
    for index, parameter in enumerate(expected.coalescing):
        field = (*where, "coalescing", index)
        row = known.get(parameter.name)
        if card.coalescing is not None and row is None:
            found = f"{parameter.name} is not among coalescing.parameters"
            yield Problem((*field, "name"), found, "a supported parameter")
        elif row is not None and _above(parameter.value, row.max):
            yield Problem((*field, "value"), f"{parameter.value} is above max {row.max}", "a value the card takes")


_NAMED = (
    *(SettingKind.OFFLOAD, SettingKind.SYSCTL, SettingKind.COALESCING),
    *(SettingKind.RING, SettingKind.PAUSE, SettingKind.QUEUES),
)


def _effects(card: Card) -> Iterator[Problem]:
    for name in _twice(effect.name for effect in card.effects):
        yield Problem(("effects",), f"{name} is there twice", "each effect once")
    for index, effect in enumerate(card.effects):
        where: FieldPath = ("effects", index)
        if not effect.change:
            yield Problem((*where, "change"), "no settings", "at least one")
        yield from _prediction((*where, "wanted"), effect.wanted)
        yield from _each_setting((*where, "change"), effect.change)
        yield from _each_setting((*where, "under"), effect.under)
        yield from _each_setting((*where, "against"), effect.against)
    if card.sequence is None:
        return
    yield from _each_setting(("sequence", "baseline"), card.sequence.baseline)
    for name in _twice(step.name for step in card.sequence.steps):
        yield Problem(("sequence", "steps"), f"{name} is there twice", "each step once")
    for index, step in enumerate(card.sequence.steps):
        yield from _prediction(("sequence", "steps", index, "wanted"), step.wanted)
        if step.iscsi is not None:
            yield from _prediction(("sequence", "steps", index, "iscsi"), step.iscsi)
            if step.iscsi.window_bytes is not None:
                yield Problem(("sequence", "steps", index, "iscsi"), "window_bytes", "a change in percent, or unknown")
        yield from _each_setting(("sequence", "steps", index, "settings"), step.settings)


def _iscsi_offload(card: Card) -> Iterator[Problem]:
    offload = card.iscsi_offload
    if offload is None:
        return
    if card.iscsi is None:
        yield Problem(("iscsi_offload",), "an engine without loads", "the section iscsi, whose loads it is asked for")
    yield from _prediction(("iscsi_offload", "wanted"), offload.wanted)
    if offload.wanted.window_bytes is not None:
        yield Problem(("iscsi_offload", "wanted"), "window_bytes", "a change in percent, or unknown")


def _references(card: Card) -> Iterator[Problem]:
    """A figure that shows a defect must be one that a prediction of its requirement excludes, so that it fails."""
    for index, each in enumerate(card.references):
        where: FieldPath = ("references", index)
        if each.defect and each.baseline is None:
            yield Problem((*where, "defect"), "true of a figure without baseline", "a baseline: their ratio is judged")
        elif each.defect and each.baseline is not None:
            ratio = each.value / each.baseline
            own = [effect for effect in card.effects if effect.requirement == each.requirement]
            if all(effect.wanted.allows(ratio) for effect in own):
                found = f"true, and no effect of {each.requirement} excludes {ratio:.2f} of the baseline"
                yield Problem((*where, "defect"), found, "an effect that a card with the defect fails")


def _prediction(field: FieldPath, wanted: Prediction) -> Iterator[Problem]:
    if len(wanted.forms) != 1:
        found = " and ".join(wanted.forms) or "nothing"
        yield Problem(field, found, f"one of {', '.join(FORMS)}")
    if (wanted.ratio is None) != (wanted.within_percent is None):
        yield Problem(field, "one of ratio and within_percent alone", "both or neither")


def _each_setting(field: FieldPath, settings: tuple[Setting, ...]) -> Iterator[Problem]:
    for index, setting in enumerate(settings):
        named = setting.kind in _NAMED
        if named is (setting.name is None):
            found = "no name" if named else f"the name {setting.name}"
            yield Problem((*field, index), f"{setting.kind.value} with {found}", "a name" if named else "none")

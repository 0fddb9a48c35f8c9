"""The modules in the cages of the dut: whether their memories are read right, and their readings are within limits."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from niclab.bench.records import Port, Role
from niclab.card import CAGES, Card
from niclab.core.profile import Profile
from niclab.core.verdict import CardFailure, Collected, NotApplicable, fail_with, require_judged
from niclab.core.wait import persistent_problems
from niclab.hosts.errors import ModuleUnread, NotOffered
from niclab.links.optics import sff8472, sff8636
from niclab.links.optics.module_data import ModuleData, ModuleReading
from niclab.run.run import Run

READS = {Profile.QUICK: 10, Profile.FULL: 100}
"""Reads of each module that are compared."""
SETTLES_WITHIN_S = 10.0
"""House figure: firmware that asks a module does so every second or two."""
_LEAST_BYTES = 256
_UNASSIGNED = range(0x30, 0x80)
"""Identifiers that SFF-8024 leaves free (table 4-1), but for the first of them: a later revision may assign those."""

_MIXED_UP = "?"
"""In a name, which is ASCII in every module: other fields were read for it."""


class UnknownKind(NotApplicable):
    """A module of a kind whose memory the lab does not read."""


def require_cages(card: Card) -> None:
    """See that ports of a card may have a module.

    Args:
        card: The card.

    Raises:
        NotApplicable: Its sheet names media without any.
    """
    if card.link.media and not CAGES & set(card.link.media):
        media = ", ".join(medium.value for medium in card.link.media)
        raise NotApplicable(f"a port of sheet {card.name} has no cage for a module: link.media: {media}")


def dut_ports(run: Run) -> list[Port]:
    """List the ports of the dut that have a path."""
    return [run.bench.end(path, Role.DUT) for path in run.bench.paths]


def read_module(place: str, memory: bytes) -> ModuleData:
    """Read the memory of a module.

    Args:
        place: The port, for the message.
        memory: The memory.

    Raises:
        UnknownKind: It is of a kind that is not read.
    """
    if len(memory) >= _LEAST_BYTES and memory[0] in sff8472.IDENTIFIERS:
        return sff8472.read_sfp(memory)
    if len(memory) >= _LEAST_BYTES and memory[0] in sff8636.IDENTIFIERS:
        return sff8636.read_qsfp(memory)
    kind = f"{len(memory)} bytes with identifier 0x{memory[0]:02x}"
    raise UnknownKind(f"{place}: its module has {kind}; those of SFP and QSFP are read (SFF-8024)")


def require_read_right(run: Run, profile: Profile, say: Callable[[str], object]) -> None:
    """See that reads of a module agree, its checksums are right, and its own readings are within its own limits.

    A limit counts as left where every read is beyond it. Only the supply voltage is the card's alone. The others decide
    nothing: the server's air, the fibre and the far end have their part in temperature and received power, and a laser
    grows old. Neither does a wrong checksum that every read shows: a vendor may have written it into the module. Nor
    do readings that a module says it has and nobody sees: card or module may be why.

    Args:
        run: The qualification run.
        profile: How often each is read.
        say: Takes what each module is and reads.

    Raises:
        CardFailure: Naming what is wrong, of each port of the dut: reads differ, fields are mixed up, or the supply
            voltage is where a module alarms.
        Undecided: Another reading of a module is where it alarms, or every read has the same wrong checksum or nothing
            where readings are to be, or the driver shows some modules and not another one, or one is of a kind that is
            not read.
        NotApplicable: No port has a module whose memory is shown and read; why, for each.
    """
    require_cages(run.card)
    judged, without = Collected(), list[NotApplicable]()
    for port in dut_ports(run):
        with judged.one():
            try:
                _judge(run, port, READS[profile], say)
            except NotApplicable as error:
                without.append(error)
            except ModuleUnread as error:
                said = f"{port.place} has a link, and no module that is read: {error}"
                raise CardFailure(said) from error
    judged.end()
    end_of_modules(run, without, say)


def _judge(run: Run, port: Port, reads: int, say: Callable[[str], object]) -> None:
    memories = _memories(run, port, reads)
    fail_with([f"{port.place} {line}" for line in _differences(memories)])
    modules = [read_module(port.place, memory) for memory in memories]
    _describe(port, modules[-1], say)
    wrong, unclear = _wrong(modules)
    fail_with([f"{port.place} {line}" for line in wrong])
    doubts = [f"{port.place} {line}" for line in unclear]
    if _beyond([module.surroundings + _of_laser(module) for module in modules]):
        doubts += _lasting_doubts(run, port)
    fail_with([], doubts)


def end_of_modules(run: Run, without: list[NotApplicable], say: Callable[[str], object]) -> None:
    """End a check of modules, after its failures. A port that may have no module is excused.

    Args:
        run: The qualification run.
        without: The reason for each port whose module was not judged.
        say: Takes the reasons that are excused.

    Raises:
        Undecided: Other modules were judged, and the driver does not show this one, or its kind is not read.
        NotApplicable: None was judged.
    """
    some, unjudged = len(without) < len(run.bench.paths), list[str]()
    for error in without:
        kinds = (NotOffered, UnknownKind) if _needs_modules(run.card) else UnknownKind
        if some and not isinstance(error, kinds):
            say(f"not judged: {error}")
        else:
            unjudged.append(str(error))
    require_judged(unjudged, some=some)


def _needs_modules(card: Card) -> bool:
    return bool(card.link.media) and set(card.link.media) <= CAGES


def _lasting_doubts(run: Run, port: Port) -> list[str]:
    """The readings that stay beyond an alarm: a module measures a link that came up just now a little later.

    A laser without a link may be off.
    """
    host, iface = run.server_of(port).host, run.interface(port)

    def doubts() -> list[str]:
        module = read_module(port.place, host.links.module_memory(iface))
        has_link = host.links.await_carrier(iface, True, 0)
        return _beyond([module.surroundings + tuple(each for each in _of_laser(module) if each.value or has_link)])

    return [f"{port.place} {line}" for line in persistent_problems(doubts, within=SETTLES_WITHIN_S)]


def _memories(run: Run, port: Port, reads: int) -> list[bytes]:
    """Read the module again and again; a port that may have none is excused where its driver cannot."""
    host, iface = run.server_of(port).host, run.interface(port)
    try:
        return [host.links.module_memory(iface) for _ in range(reads)]
    except ModuleUnread as error:
        if _needs_modules(run.card):
            raise
        raise NotApplicable(f"{port.place}: {error}; sheet {run.card.name} has media without a module") from error


def _differences(memories: Sequence[bytes]) -> list[str]:
    """Sizes and identifiers that differ, identifiers of nothing, and memories of one byte: nothing else can be read."""
    kinds = {f"{len(memory)} bytes with identifier 0x{memory[0]:02x}" for memory in memories}
    if len(kinds) > 1:
        return [f"reads a module of {' and of '.join(sorted(kinds))}; expected the same {len(memories)} times"]
    if len(set(memories[0])) == 1:
        return [f"reads 0x{memories[0][0]:02x} as every byte of its module; expected a memory (SFF-8024)"]
    if memories[0][0] in _UNASSIGNED:
        return [f"reads a module of {kinds.pop()}; expected one that SFF-8024 assigns"]
    return []


def _wrong(modules: Sequence[ModuleData]) -> tuple[list[str], list[str]]:
    """The problems of the card, and those that may be the module's own."""
    first = modules[0].fixed
    changed = [
        f"reads its module otherwise in read {number} of {len(modules)}, first at byte "
        f"{_first_change(first, module.fixed)} of those that are fixed; expected the same in each"
        for number, module in enumerate(modules, 1)
        if module.fixed != first
    ]
    sums = [
        f"reads 0x{each.stored:02x} as checksum {each.name} of its module; expected 0x{each.summed:02x}, the sum "
        "of its bytes"
        for module in modules
        for each in module.checksums
        if each.stored != each.summed
    ]
    supply = [tuple(each for each in module.own if each not in _of_laser(module)) for module in modules]
    of_card = bool(changed) or any(_MIXED_UP in module.vendor + module.part_number for module in modules)
    wrong, unclear = (sums, []) if of_card else ([], [f"{line}, in each of {len(modules)} reads" for line in sums])
    unclear += [
        f"reads 0x{module.blank:02x} as every byte of the second address of its module, which says that it measures; "
        "expected its readings"
        for module in modules
        if module.blank is not None
    ]
    return [*changed[:1], *dict.fromkeys(wrong), *_beyond(supply)], list(dict.fromkeys(unclear))


def _of_laser(module: ModuleData) -> tuple[ModuleReading, ...]:
    """The readings of lanes that send; and a supply of 0 V, which no module has that answers."""
    return tuple(each for each in module.own if each.unit != "V" or not each.value)


def _first_change(one: bytes, other: bytes) -> int:
    return next((at for at, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other)))


def _beyond(reads: Sequence[tuple[ModuleReading, ...]]) -> list[str]:
    """The readings that are where the module alarms in every read, with the last value."""
    always = set.intersection(*({each.what for each in read if each.alarms} for read in reads))
    return [
        f"reads {each.what} {each.shown} of its module; expected {each.limits.low_alarm:.4g} to "
        f"{each.limits.high_alarm:.4g} {each.unit}, beyond which the module alarms"
        for each in reads[-1]
        if each.what in always and each.limits
    ]


def _describe(port: Port, module: ModuleData, say: Callable[[str], object]) -> None:
    say(f"{port.name}: {module.name}{', a cable' if module.is_cable else ''}")
    for each in (*module.own, *module.surroundings):
        limits = (
            "without limits" if each.limits is None else "beyond its warning" if each.warns else "within its limits"
        )
        say(f"{port.name}: {each.what} {each.shown}, {limits}")

"""The EEPROM or flash of a port, as its driver shows it: the same at each read, with the checksum of the sheet."""

from __future__ import annotations

import struct

from niclab.bench.records import Port, Role
from niclab.card import Card
from niclab.checks.asked import Say, dut
from niclab.core.verdict import NotApplicable, fail_with, require_judged
from niclab.hosts.errors import LookFailed
from niclab.run.run import Run

EEPROM_BYTES = 1024
"""From the first on: all of be2net's (BE_READ_SEEPROM_LEN), Intel's words with their checksum, tables of bnx2x with
checksums of their own (bnx2x_test_nvram). Assumption: what lies behind may be a log that firmware writes."""


def require_right(run: Run, say: Say) -> None:
    """Read the EEPROM of every port of the dut twice, compare, and add it up where the sheet has a sum.

    Args:
        run: The qualification run.
        say: Takes what was read of each port.

    Raises:
        CardFailure: Two reads differ, one fails, every byte is the same, or the sum is another one.
        BenchFault: The dut does not answer.
        NotApplicable: The system or the driver shows no EEPROM of any port.
        Undecided: It shows that of some ports, and of others none.
    """
    problems, without = list[str](), list[str]()
    ports = run.ports(Role.DUT)
    for port in ports:
        try:
            first, second = (dut(run).firmware.eeprom(run.interface(port), EEPROM_BYTES) for _ in range(2))
        except NotApplicable as reason:
            without.append(str(reason))
            continue
        except LookFailed as error:
            problems.append(f"{port.place}: its EEPROM cannot be read: {error}")
            continue
        say(f"{port.name}: {len(first)} bytes of EEPROM")
        differences = other_byte(first, second)
        problems += [f"{port.place}: {name} {now}; expected {was}, as read before" for name, was, now in differences]
        problems += [] if differences else [*_sum_problems(run.card, port, first), *_blank(port, first)]
    fail_with(problems)
    require_judged(without, some=len(without) < len(ports))


def other_byte(before: bytes | None, now: bytes | None) -> list[tuple[str, str, str]]:
    """The first byte in which two reads of an EEPROM differ.

    Args:
        before: One read; None where the driver showed none.
        now: The other one.

    Returns:
        What differs, what it was, and what it is; empty where both are the same.
    """
    if before is None or now is None or len(before) != len(now):
        was, is_now = ("none" if each is None else f"{len(each)} bytes" for each in (before, now))
        return [("EEPROM", was, is_now)] if before != now else []
    differing = [place for place, (old, new) in enumerate(zip(before, now, strict=True)) if old != new]
    if not differing:
        return []
    at = differing[0]
    return [(f"EEPROM byte 0x{at:04x}", f"0x{before[at]:02x}", f"0x{now[at]:02x} ({len(differing)} differ)")]


def _blank(port: Port, memory: bytes) -> list[str]:
    """The problem of an EEPROM that is erased, or does not answer; empty where it has contents."""
    if len(set(memory)) != 1:
        return []
    return [f"{port.place}: reads 0x{memory[0]:02x} as every byte of its EEPROM; expected its contents"]


def _sum_problems(card: Card, port: Port, memory: bytes) -> list[str]:
    """The problem of the sum of the first words, which are little-endian; empty where there is none to be had."""
    if card.eeprom is None:
        return []
    count, wanted = card.eeprom.words, int(card.eeprom.sum, 16)
    if len(memory) < 2 * count:
        return [f"{port.place}: {len(memory)} bytes of EEPROM; expected {2 * count} at least (sheet {card.name})"]
    found = sum(struct.unpack_from(f"<{count}H", memory)) & 0xFFFF
    if found == wanted:
        return []
    said = f"words 0x00 to 0x{count - 1:02X} of its EEPROM add up to 0x{found:04X}"
    return [f"{port.place}: {said}; expected 0x{wanted:04X} (sheet {card.name})"]

"""Memories of modules as ``ethtool -m IFACE hex on`` printed them, and others after SFF-8472 and SFF-8636."""

from __future__ import annotations

import struct

_ZEROS = " ".join(["00"] * 16)

GOOD_SFP = """\
0x0000:  03 04 07 10 00 00 00 00 00 00 00 06 67 00 00 00
0x0010:  08 03 00 1e 49 6e 74 65 6c 20 43 6f 72 70 20 20
0x0020:  20 20 20 20 00 00 1b 21 46 54 4c 58 38 35 37 34
0x0030:  44 33 42 4e 4c 2d 49 54 41 20 20 20 03 52 00 89
0x0040:  00 1a 00 00 41 34 31 41 53 59 4b 20 20 20 20 20
0x0050:  20 20 20 20 32 30 30 37 30 36 20 20 68 f0 05 e4
0x0100:  5d 00 f3 00 58 00 f8 00 90 88 71 48 8c a0 75 30
0x0110:  19 64 07 d0 18 6a 09 c4 27 10 09 d0 1f 07 0c 5a
0x0120:  27 10 00 64 1f 07 00 9e 00 00 00 00 00 00 00 00
0x0140:  00 00 00 00 3f 80 00 00 00 00 00 00 01 00 00 00
0x0150:  01 00 00 00 01 00 00 00 01 00 00 00 00 00 00 a3
0x0160:  23 56 85 e0 10 f8 16 94 00 15 00 00 00 00 32 00
0x0170:  00 40 00 00 00 40 01 00 ff ff ff ff ff ff ff 01
"""
"""E10GSFPSRX in an E810, ice, without light; public mailing list (netdev, 2025-04-25)."""
MIXED_SFP = """\
0x0000:  03 00 f3 00 58 00 f8 00 90 88 71 48 8c a0 75 30
0x0010:  19 64 07 d0 18 6a 09 c4 27 10 09 d0 1f 07 0c 5a
0x0020:  27 10 00 64 1f 07 00 9e 00 00 00 00 00 00 00 00
0x0040:  00 00 00 00 3f 80 00 00 00 00 00 00 01 00 00 00
0x0050:  01 00 00 00 01 00 00 00 01 00 00 00 00 00 00 a3
0x0060:  1f 94 83 f9 0b d5 16 81 00 15 00 00 00 00 32 00
0x0070:  00 40 00 00 00 40 00 00 ff ff ff ff ff ff ff 01
0x0080:  5d 01 01 01 01 01 03 04 07 10 00 00 00 00 00 00
0x0090:  00 06 67 00 00 00 08 03 00 1e 46 49 4e 49 53 41
0x00a0:  52 20 43 4f 52 50 2e 20 20 20 00 00 90 65 46 54
0x00b0:  4c 58 38 35 37 31 44 33 42 43 4c 20 20 20 41 20
0x00c0:  00 20 03 52 00 48 00 1a 00 00 41 50 4b 31 45 48
0x00d0:  30 20 20 20 20 20 20 20 20 20 31 33 30 35 31 34
0x00e0:  20 20 68 f0 03 cd 00 00 00 00 00 00 00 00 00 00
"""
"""A module of the same kind in a BCM57502, whose firmware reads its second address for its first; the same mail."""
CABLE_SFP = """\
0x0000:  03 04 21 00 00 00 00 00 08 00 00 06 67 00 00 00
0x0010:  00 00 05 00 4d 69 6b 72 6f 54 69 6b 20 20 20 20
0x0020:  20 20 20 20 00 00 00 00 53 2b 41 4f 30 30 30 35
0x0030:  20 20 20 20 20 20 20 20 31 2e 30 20 0c 00 00 5a
0x0040:  00 12 00 00 53 54 53 54 30 35 30 42 31 39 30 30
0x0050:  30 30 31 20 32 31 30 35 31 35 20 20 00 00 05 25
0x0100:  55 00 f6 00 50 00 fb 00 8c a0 6d 60 88 b8 71 48
0x0110:  1d 4c 00 fa 17 70 01 f4 31 2d 04 ea 27 10 06 30
0x0120:  31 2d 01 3c 27 10 01 8e 00 00 00 00 00 00 00 00
0x0160:  20 e6 7f 00 0c b0 1e 54 0d e4 00 00 00 00 30 00
"""
"""An active optical cable, S+AO0005, amd-xgbe, shortened behind byte 0x80; public mailing list (netdev, 2022-11-12)."""


def text_of(rows: str, size: int = 512) -> str:
    """The whole of what ethtool prints, rows of zeros as well."""
    known = dict(row.split(":  ") for row in rows.splitlines())
    lines = [f"0x{at:04x}:\t\t{known.get(f'0x{at:04x}', _ZEROS)} \n" for at in range(0, size, 16)]
    return f"Offset\t\tValues\n------\t\t------\n{''.join(lines)}"


def memory_of(rows: str, size: int = 512) -> bytes:
    """The bytes of the rows."""
    return bytes.fromhex("".join(line.partition(":")[2] for line in text_of(rows, size).splitlines()[2:]))


def sfp(*, received_uw: float = 420, sent_uw: float = 500, supply_v: float = 3.3, celsius: float = 38) -> bytearray:
    """The good module with other readings."""
    memory = bytearray(memory_of(GOOD_SFP))
    struct.pack_into(
        ">hHHHH", memory, 352, int(celsius * 256), int(supply_v * 1e4), 3000, int(sent_uw * 10), int(received_uw * 10)
    )
    return memory


def qsfp(*received_uw: float, technology: int = 0, pages: int = 5) -> bytearray:
    """A module of four lanes after SFF-8636, as long as so many pages of 128 bytes."""
    memory = bytearray(640)
    memory[0] = memory[128] = 0x0D
    struct.pack_into(">h2xH", memory, 22, 30 * 256, 33000)
    for lane in range(4):
        power = received_uw[lane] if lane < len(received_uw) else 600
        for at, value in ((34, int(power * 10)), (42, 3000), (50, 8000)):
            struct.pack_into(">H", memory, at + 2 * lane, value)
    memory[147] = technology
    memory[148:164], memory[168:184], memory[196:212] = (word.ljust(16).encode() for word in ("MAKER", "SR4", "S1"))
    memory[220] = 0x0C
    memory[191], memory[223] = sum(memory[128:191]) & 0xFF, sum(memory[192:223]) & 0xFF
    for at, levels in (
        (0, (75 * 256, -5 * 256, 70 * 256, 0)),
        (16, (36300, 29700, 34650, 31350)),
        (48, (21880, 560, 17380, 1120)),
        (56, (5000, 1000, 4500, 1500)),
        (64, (21880, 1380, 17380, 1740)),
    ):
        struct.pack_into(">4h" if at == 0 else ">4H", memory, 512 + at, *levels)
    return memory[: 128 * pages]

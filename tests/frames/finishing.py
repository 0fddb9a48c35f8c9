"""A card that cuts up and sums what a stack leaves to it, as a relay between two interfaces does it."""

from __future__ import annotations

import struct

from niclab.frames.frame_content import TCP, summed
from niclab.frames.wire.packet import Packet

DATA = 989
"""Bytes of a segment: what ``niclab.frames.wire.sending.ODD_MSS`` leaves with time stamps."""
FIN_AND_PUSH = 9


def finished(frame: bytes, word: str) -> list[bytes]:
    """The frames that leave the card for one frame.

    ``word``: ``card``, or with a defect. ``card-last``: the sum of a segment that is shorter than the others is wrong;
    ``card-odd``: that of one of odd size; ``card-uncut``: it does not cut up.
    """
    packet = Packet(frame)
    if not packet.over or packet.is_fragment:
        return [frame]
    data = packet.payload
    if packet.protocol != TCP or len(data) <= DATA or word == "card-uncut":
        return [_summed(packet, frame[: packet.end], spoilt=False)]
    head, found = frame[: packet.end - len(data)], []
    for at in range(0, len(data), DATA):
        piece, is_last = data[at : at + DATA], at + DATA >= len(data)
        made = bytearray(head + piece)
        sequence = struct.unpack_from("!I", made, packet.start + 4)[0] + at
        struct.pack_into("!I", made, packet.start + 4, sequence & 0xFFFFFFFF)
        made[packet.start + 13] &= 0xFF if is_last else 0xFF ^ FIN_AND_PUSH
        length = len(made) - packet.at
        struct.pack_into("!H", made, packet.at + (2 if packet.version == 4 else 4), length - 40 * (packet.version == 6))
        spoilt = (word == "card-last" and is_last and len(piece) < DATA) or (word == "card-odd" and len(piece) % 2 == 1)
        found.append(_summed(Packet(bytes(made)), bytes(made), spoilt))
    return found


def _summed(packet: Packet, frame: bytes, spoilt: bool) -> bytes:
    made = bytearray(frame)
    if packet.version == 4:
        made[packet.at + 10 : packet.at + 12] = b"\0\0"
        check = ~summed(bytes(made[packet.at : packet.start])) & 0xFFFF
        struct.pack_into("!H", made, packet.at + 10, check)
    place = packet.start + (16 if packet.protocol == TCP else 6)
    made[place : place + 2] = b"\0\0"
    addresses = made[packet.at + 12 : packet.at + 20] if packet.version == 4 else made[packet.at + 8 : packet.at + 40]
    pseudo = bytes(addresses) + struct.pack("!HH", packet.protocol, packet.end - packet.start)
    check = ~summed(pseudo + bytes(made[packet.start : packet.end])) & 0xFFFF or 0xFFFF
    struct.pack_into("!H", made, place, check ^ 0x0101 * spoilt)
    return bytes(made)

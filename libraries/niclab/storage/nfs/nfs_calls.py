"""The calls that a client of NFS version 3 needs to read a file. Sent to servers, Python 3.7 only.

RFC 1833 (where a program listens), RFC 1813, appendix I (MOUNT) and 3.3.3, 3.3.6 (LOOKUP, READ).
"""

from __future__ import annotations

import time

from niclab.storage.nfs import onc_rpc
from niclab.storage.nfs.onc_rpc import Reader, RpcError, Tcp, Udp, counted, words

PORTMAPPER, MOUNT, NFS = (100000, 2), (100005, 3), (100003, 3)
PORTMAPPER_PORT = 111
GETPORT, MNT, LOOKUP, READ = 3, 1, 3, 6
PROTOCOLS = {"tcp": 6, "udp": 17}
TRANSPORTS: dict[str, type[Udp] | type[Tcp]] = {"tcp": Tcp, "udp": Udp}
ANSWER_WITHIN_S = 10.0
ATTRIBUTES = 84
"""Bytes of attributes of a file (RFC 1813, 2.6, fattr3)."""


class Client:
    """A client of a server that has one file to read.

    Args:
        here: Own address.
        there: Address of the server.
        transport: ``udp`` or ``tcp``.
    """

    def __init__(self, here: str, there: str, transport: str) -> None:
        self._here, self._there, self._transport = here, there, transport
        self._xid = int(time.monotonic() * 1000) & 0x7FFFFFFF

    def file(self, folder: str, name: str) -> bytes:
        """Mount a folder, and look a file up in it.

        Args:
            folder: What the server exports.
            name: Of the file.

        Returns:
            The handle of the file.

        Raises:
            RpcError: The server refuses it, or does not answer.
        """
        reader = self._ask(MOUNT, self._port(MOUNT), MNT, counted(folder.encode()))
        status = reader.word()
        if status:
            raise RpcError(f"MOUNT of {folder}: status {status}; expected 0 (RFC 1813, mountstat3)")
        at = bytes(reader.counted())
        reader = self._ask(NFS, self._port(NFS), LOOKUP, counted(at) + counted(name.encode()))
        status = reader.word()
        if status:
            raise RpcError(f"LOOKUP of {name}: status {status}; expected 0 (RFC 1813, nfsstat3)")
        return bytes(reader.counted())

    def connected(self) -> Udp | Tcp:
        """Return a way to the server of files.

        Raises:
            RpcError: It does not say where it listens.
        """
        return TRANSPORTS[self._transport](self._here, (self._there, self._port(NFS)))

    def read(self, handle: bytes, offset: int, size: int) -> tuple[int, bytes]:
        """Return the number of a new call that reads a part of a file, and the call.

        Args:
            handle: Of the file.
            offset: First byte.
            size: Number of bytes.
        """
        arguments = counted(handle) + words(offset >> 32, offset & 0xFFFFFFFF, size)
        return self._call(NFS, READ, arguments)

    def _port(self, program: tuple[int, int]) -> int:
        asked = words(*program, PROTOCOLS[self._transport], 0)
        port = self._ask(PORTMAPPER, PORTMAPPER_PORT, GETPORT, asked).word()
        if not port:
            raise RpcError(f"program {program[0]} version {program[1]} does not listen over {self._transport}")
        return port

    def _call(self, program: tuple[int, int], procedure: int, arguments: bytes) -> tuple[int, bytes]:
        self._xid += 1
        return self._xid, onc_rpc.call(self._xid, *program, procedure, arguments)

    def _ask(self, program: tuple[int, int], port: int, procedure: int, arguments: bytes) -> Reader:
        xid, message = self._call(program, procedure, arguments)
        way = TRANSPORTS[self._transport](self._here, (self._there, port))
        until = time.monotonic() + ANSWER_WITHIN_S
        try:
            way.send(xid, message)
            came = way.receive(until)
            while came is not None:
                answered, reader = onc_rpc.answer(came)
                if answered == xid:
                    return reader
                came = way.receive(until)
        finally:
            way.close()
        raise RpcError(f"program {program[0]} does not answer over {self._transport} in {ANSWER_WITHIN_S:g} s")


def data_read(reader: Reader) -> memoryview:
    """Read the results of READ.

    Args:
        reader: The results.

    Returns:
        The data.

    Raises:
        RpcError: The server could not read, or the data are not as long as it says.
    """
    status = reader.word()
    if reader.word():
        reader.fixed(ATTRIBUTES)
    if status:
        raise RpcError(f"READ: status {status}; expected 0 (RFC 1813, nfsstat3)")
    size = reader.word()
    reader.word()  # whether this is the end of the file
    data = reader.counted()
    if len(data) != size:
        raise RpcError(f"READ: {len(data)} bytes of data; expected the {size} that it says")
    return data

"""The console server as a process: a made-up machine at one end, readers at the other."""

from __future__ import annotations

import json
import re
import socket
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
import serial
from bench_fakes import FakeQemu, PartProcess, own_address, short_folder, wait_for

from consoles import STUCK_READER_BYTES

RFC2217_PORT, RAW_PORT = 7000, 7001
STAMPED = re.compile(rb"^\[(\d+\.\d{3})\] (.*)$")


class Console:
    """A console server with one line, ``dut``."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.address = own_address(0)
        self.serial = folder / "serial"
        self.qemu = FakeQemu(folder / "qmp-console")
        config = {
            "log_folder": str(folder / "console"),
            "rfc2217_port": RFC2217_PORT,
            "raw_port": RAW_PORT,
            "servers": {"dut": {"serial": str(self.serial), "qmp": str(self.qemu.path), "address": self.address}},
        }
        file = folder / "consoles.config"
        file.write_text(json.dumps(config))
        self.part = PartProcess("consoles", file)

    def machine(self) -> socket.socket:
        """Power on: the serial port of a machine, as QEMU connects it. Returns when the console server knows it."""
        before = self.log().count(b"power on")
        line = socket.socket(socket.AF_UNIX)
        line.settimeout(5)
        line.connect(str(self.serial))
        wait_for(lambda: self.log().count(b"power on") > before, "the console server takes the machine")
        return line

    def reader(self) -> socket.socket:
        """A reader of the raw port, which is one of the readers already when this returns."""
        return socket.create_connection((self.address, RAW_PORT), timeout=5)

    def rfc2217(self) -> serial.SerialBase:
        """A reader as the lab is one: pyserial's own RFC 2217 client."""
        return serial.serial_for_url(f"rfc2217://{self.address}:{RFC2217_PORT}", baudrate=115200, timeout=5)

    def raw(self) -> bytes:
        return (self.folder / "console/dut.raw").read_bytes()

    def log(self) -> bytes:
        return (self.folder / "console/dut.log").read_bytes()


@pytest.fixture
def console() -> Iterator[Console]:
    with short_folder() as folder:
        console = Console(folder)
        yield console
        console.part.kill()
        console.qemu.power_off()


def _read(line: socket.socket, count: int) -> bytes:
    data = b""
    while len(data) < count and (chunk := line.recv(count - len(data))):
        data += chunk
    return data


def _meet(machine: socket.socket, *readers: socket.socket) -> None:
    """Return when the machine hears every reader, and every reader the machine."""
    for reader in readers:
        reader.sendall(b"?")
    assert _read(machine, len(readers)) == b"?" * len(readers)
    machine.sendall(b"!")
    assert [_read(reader, 1) for reader in readers] == [b"!"] * len(readers)


def test_every_reader_sees_the_line_and_each_may_type(console: Console) -> None:
    with console.machine() as machine, console.reader() as one, console.reader() as two:
        _meet(machine, one, two)
        machine.sendall(b"login: ")
        assert _read(one, 7) == _read(two, 7) == b"login: "
        one.sendall(b"ro")
        assert _read(machine, 2) == b"ro"
        two.sendall(b"ot\r")
        assert _read(machine, 3) == b"ot\r"


def test_the_lab_s_client_and_a_raw_reader_share_the_line_byte_for_byte(console: Console) -> None:
    every_byte = bytes(range(256)) * 2
    with console.machine() as machine, console.rfc2217() as lab, console.reader() as raw:
        _meet(machine, raw)
        lab.read(1)
        machine.sendall(every_byte)
        assert lab.read(512) == _read(raw, 512) == every_byte
        lab.write(every_byte)
        assert _read(machine, 512) == every_byte


def test_readers_stay_when_the_machine_goes_and_returns(console: Console) -> None:
    with console.rfc2217() as lab, console.reader() as raw:
        for boot in (b"first boot", b"second boot"):
            with console.machine() as machine:
                _meet(machine, raw)
                assert lab.read(1) == b"!"
                machine.sendall(boot)
                assert _read(raw, len(boot)) == lab.read(len(boot)) == boot
            wait_for(
                lambda: console.log().count(b"power off") == console.log().count(b"power on"), "the machine is gone"
            )
    notes = re.findall(rb"--- (power \w+)", console.log())
    assert notes == [b"power on", b"power off"] * 2


def test_keys_typed_while_the_power_is_off_reach_no_later_machine(console: Console) -> None:
    with console.reader() as raw:
        with console.machine() as machine:
            _meet(machine, raw)
        wait_for(lambda: b"power off" in console.log(), "the machine is gone")
        raw.sendall(b"lost")
        with console.rfc2217():  # its settings are answered after the server has read those keys
            pass
        with console.machine() as machine:
            raw.sendall(b"found")
            assert _read(machine, 5) == b"found"


def test_what_the_machine_says_before_any_reader_came_is_kept(console: Console) -> None:
    with console.machine() as machine:
        machine.sendall(b"Linux version 6.1\r\n")
        wait_for(lambda: console.raw() == b"Linux version 6.1\r\n", "the boot is kept")


def test_a_stuck_reader_does_not_stop_the_line_for_the_others(console: Console) -> None:
    block = bytes(range(256)) * 256
    blocks = 16 * STUCK_READER_BYTES // len(block)
    with console.machine() as machine, console.reader() as stuck, console.reader() as awake:
        _meet(machine, stuck, awake)
        for _ in range(blocks):
            machine.sendall(block)
            assert _read(awake, len(block)) == block
        stuck.settimeout(0.5)
        got = 0
        try:
            while chunk := stuck.recv(1 << 20):
                got += len(chunk)
        except TimeoutError:
            assert STUCK_READER_BYTES <= got < blocks * len(block)  # it has lost output: it really was stuck


def test_a_reader_that_breaks_off_disturbs_nobody(console: Console) -> None:
    with console.machine() as machine, console.reader() as stays:
        leaves = console.reader()
        _meet(machine, stays, leaves)
        leaves.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")  # close with a reset
        leaves.close()
        for number in range(20):
            machine.sendall(b"%02d" % number)
            assert _read(stays, 2) == b"%02d" % number


def test_nonsense_in_a_telnet_stream_disturbs_nobody(console: Console) -> None:
    with console.machine() as machine, console.reader() as stays:
        _meet(machine, stays)
        with socket.create_connection((console.address, RFC2217_PORT), timeout=5) as nonsense:
            nonsense.sendall(b"\xff\xfa\x2c\xfe\xff\xf0" + b"\xff\xfb\xc8" + b"key")  # a COM-PORT command 254
            assert _read(machine, 3) == b"key"
        machine.sendall(b"still here")
        assert _read(stays, 10) == b"still here"


def test_the_raw_log_is_byte_exact_and_the_log_has_a_stamp_on_every_line(console: Console) -> None:
    pieces = [b"one\r\ntw", b"o\r\n\r\nthr", b"\x1b[1mee\xff\x00\r", b"\nfour"]
    began = time.time()
    with console.machine() as machine, console.reader() as raw:
        _meet(machine, raw)
        for piece in pieces:
            machine.sendall(piece)
            _read(raw, len(piece))
    wait_for(lambda: b"power off" in console.log(), "the machine is gone")
    assert console.raw() == b"!" + b"".join(pieces)
    assert b"\r" not in console.log()
    matches = [STAMPED.match(line) for line in console.log().splitlines()]
    assert all(matches)
    lines = [(float(match[1]), match[2]) for match in matches if match]
    assert [text for _, text in lines] == [
        b"--- power on, serial line connected",
        b"!one",
        b"two",
        b"",
        b"\x1b[1mthree\xff\x00".replace(b"\x1b[1mthr", b"thr\x1b[1m"),
        b"four",
        b"--- power off, serial line gone",
    ]
    stamps = [stamp for stamp, _ in lines]
    assert stamps == sorted(stamps)
    assert began - 1 < stamps[0] <= stamps[-1] <= time.time()


def test_logs_are_continued_by_a_restarted_console_server(console: Console) -> None:
    with console.machine() as machine:
        machine.sendall(b"before")
        wait_for(lambda: console.raw() == b"before", "it is kept")
    wait_for(lambda: b"power off" in console.log(), "the machine is gone")
    console.part.restart()
    with console.machine() as machine:
        machine.sendall(b" after")
        wait_for(lambda: console.raw() == b"before after", "it is kept behind the first")


def test_break_reaches_the_machine_s_serial_port_before_the_next_key(console: Console) -> None:
    console.qemu.power_on()
    with console.machine() as machine, console.rfc2217() as lab:
        lab.write(b"ls\r")
        assert _read(machine, 3) == b"ls\r"
        lab.send_break(0.01)
        lab.write(b"h")
        assert _read(machine, 1) == b"h"
        assert console.qemu.commands == [("chardev-send-break", {"id": "serial"})]
    assert b"--- BREAK sent" in console.log()


def test_keys_and_break_in_one_piece_keep_their_order(console: Console) -> None:
    console.qemu.power_on()
    console.qemu.awake.clear()
    with console.machine() as machine, socket.create_connection((console.address, RFC2217_PORT)) as lab:
        lab.sendall(b"first\xff\xf3h")
        assert _read(machine, 5) == b"first"
        wait_for(lambda: console.qemu.received == 1, "BREAK is asked for")
        machine.setblocking(False)
        with pytest.raises(BlockingIOError):
            machine.recv(1)  # the key after BREAK waits until BREAK is done
        machine.settimeout(5)
        console.qemu.awake.set()
        assert _read(machine, 1) == b"h"


def test_a_break_that_cannot_be_sent_stands_in_the_log(console: Console) -> None:
    with console.machine() as machine, console.rfc2217() as lab:
        lab.send_break(0.01)
        lab.write(b"x")
        assert _read(machine, 1) == b"x"
    assert re.search(rb"--- BREAK not sent: .*qmp-console.*No such file", console.log())

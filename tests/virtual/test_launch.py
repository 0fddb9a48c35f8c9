"""The start of a machine: sockets for its cables, an identity, and the program itself."""

from __future__ import annotations

import json
import socket
import subprocess
import sys
from pathlib import Path

LAUNCH = Path(__file__).parents[2] / "lab" / "virtual" / "launch.py"
SAYS = """
import os, socket
wire = socket.socket(fileno=20)
print(os.environ["VBENCH_PART"], wire.getsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF), flush=True)
wire.send(b"frame")
print(wire.recv(100).decode())
"""


def test_the_program_gets_a_connected_socket_with_room_and_its_identity() -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as panel, socket.socket(type=socket.SOCK_DGRAM) as spare:
        panel.bind(("127.0.0.1", 0))
        panel.settimeout(20)
        usual = panel.getsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF)
        spare.bind(("127.0.0.1", 0))
        own = spare.getsockname()[1]
        spare.close()
        wires = json.dumps([[20, "127.0.0.1", own, *panel.getsockname()]])
        command = [sys.executable, str(LAUNCH), "qemu-dut", wires, sys.executable, "-c", SAYS]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as machine:
            frame, source = panel.recvfrom(100)
            assert (frame, source) == (b"frame", ("127.0.0.1", own))
            panel.sendto(b"answer", source)
            said, _ = machine.communicate(timeout=20)
    part, buffer, answer = said.split()
    assert (part, answer) == ("qemu-dut", "answer")
    assert int(buffer) > usual


def test_an_address_in_use_is_told() -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as taken:
        taken.bind(("127.0.0.1", 0))
        wires = json.dumps([[20, *taken.getsockname(), "127.0.0.1", 9]])
        done = subprocess.run(
            [sys.executable, str(LAUNCH), "qemu-dut", wires, "true"], capture_output=True, text=True, timeout=20
        )
    assert done.returncode != 0
    assert "Address already in use" in done.stderr

"""Speed of the virtual switch's answers and frames, without guests: ``python benchmarks/switch.py``.

Measured next to net-snmp's program, whose own start is most of what a shell script would pay.
"""

from __future__ import annotations

import os
import select
import socket
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path

sys.path[:0] = [str(Path(__file__).parents[1] / folder) for folder in ("tests/virtual", "lab/virtual")]

from pyasn1.codec.ber import encoder  # noqa: E402
from pysnmp.proto import api  # noqa: E402
from switch_bench import SNMP_PORT, WRITE, A, B, SwitchBench, frame, switch_bench  # noqa: E402

COUNT = 200
ADMIN = "1.3.6.1.2.1.2.2.1.7.101"


def message(set_to: int | None) -> bytes:
    """A GET of ifAdminStatus, or a SET of it."""
    snmp = api.PROTOCOL_MODULES[api.SNMP_VERSION_2C]
    pdu = snmp.GetRequestPDU() if set_to is None else snmp.SetRequestPDU()
    snmp.apiPDU.set_defaults(pdu)
    snmp.apiPDU.set_varbinds(pdu, [(ADMIN, snmp.null if set_to is None else snmp.Integer(set_to))])
    whole = snmp.Message()
    snmp.apiMessage.set_defaults(whole)
    snmp.apiMessage.set_community(whole, WRITE)
    snmp.apiMessage.set_pdu(whole, pdu)
    return bytes(encoder.encode(whole))


def asked_ms(bench: SwitchBench, request: bytes) -> float:
    """Time from a request to its answer, in ms."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as asker:
        asker.connect((bench.address, SNMP_PORT))
        began = time.perf_counter()
        asker.send(request)
        assert select.select([asker], [], [], 2)[0], "no answer"
        return (time.perf_counter() - began) * 1e3


def carrier_ms(bench: SwitchBench, up: bool, request: bytes) -> float:
    """Time from a SET to the server's network card being told, in ms."""
    began = time.monotonic()
    asked_ms(bench, request)
    while bench.qemu["dut"].links()["p0"] is not up:
        assert time.monotonic() - began < 2, "the card is not told"
        select.select([], [], [], 0.001)  # the made-up card answers in a thread of this process
    return (bench.qemu["dut"].told_at("p0", up) - began) * 1e3


def carried_mbps(bench: SwitchBench, size: int, for_s: float = 2.0) -> float:
    """Return what comes out at the other end when more is offered, in Mbit/s of frames."""
    data, octets = frame(B, A, size=size), 0
    bench.nics[3].send(frame(A, B))
    bench.settle()
    bench.quiet()
    began = time.monotonic()
    while time.monotonic() - began < for_s:
        for _ in range(32):
            bench.nics[1].send(data)
        octets += sum(len(came) for _, came in bench.nics[3].take())
    return octets * 8 / (time.monotonic() - began) / 1e6


def cpu_s(bench: SwitchBench) -> float:
    """Processor time of the switch so far, in seconds."""
    fields = Path(f"/proc/{bench.part.process.pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def row(what: str, values: list[float], unit: str) -> None:
    print(f"{what:44} min {min(values):7.2f}  median {statistics.median(values):7.2f}  max {max(values):7.2f} {unit}")


def times(action: Callable[[], float], count: int = COUNT) -> list[float]:
    return [action() for _ in range(count)]


def by_program(bench: SwitchBench) -> float:
    began = time.perf_counter()
    bench.get(ADMIN)
    return (time.perf_counter() - began) * 1e3


def main() -> None:
    with switch_bench() as bench:
        before, began = cpu_s(bench), time.monotonic()
        select.select([], [], [], 5.0)
        print(f"{'idle, of one processor':44} {(cpu_s(bench) - before) / (time.monotonic() - began):.1%}")
        get, down, up = message(None), message(2), message(1)
        row("GET, v2c", times(lambda: asked_ms(bench, get)), "ms")
        row("SET to what it is, v2c", times(lambda: asked_ms(bench, up)), "ms")
        row("GET by net-snmp's program", times(lambda: by_program(bench), 20), "ms")
        told = [carrier_ms(bench, up_, up if up_ else down) for _ in range(20) for up_ in (False, True)]
        row("SET until the network card is reported", told, "ms")
        bench.links_are(1, 2, 3, 4)
        for size in (60, 1514, 9018):
            print(f"{f'carried, frames of {size} bytes':44} {carried_mbps(bench, size):.0f} Mbit/s")


if __name__ == "__main__":
    main()

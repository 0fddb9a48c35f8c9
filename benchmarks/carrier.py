"""Time until a server loses its link when its switch port is shut: ``benchmarks/carrier.py [--name NAME]``.

Takes the virtual bench ``NAME``, which is up, lays its paths to the switch, and shuts and opens the switch's port of
the dut's first port. A program on the dut looks at the carrier every millisecond and says over SSH when it changes;
here is noted when that came, so that no clocks are compared, and the way over SSH is within the figures. Told: from the
begin of the SET to the loss, and to the carrier's return; least, median, 95 %, most; next to them the time that the SET
itself took, read back, and that of a word to the program and back. Wanted: the loss within 50 ms.
"""

from __future__ import annotations

import argparse
import math
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from queue import SimpleQueue
from threading import Thread

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "libraries"))

from niclab.bench.records import Port, Role  # noqa: E402
from niclab.card import load_card  # noqa: E402
from niclab.core.wait import pause  # noqa: E402
from niclab.links import patch_panel, switch_ports  # noqa: E402
from niclab.run import run as labs  # noqa: E402 - found by the path set above
from niclab.run.acquiring.prepared_ports import PreparedPorts  # noqa: E402
from niclab.run.server import quoted  # noqa: E402

VBENCH = str(ROOT / "lab/virtual/vbench")
TARGET_MS = 50.0
RESTS_S = 1.5
WITHIN_S = 20
WATCHER = """
import select, sys, time
file = open(f"/sys/class/net/{sys.argv[1]}/carrier")
before = ""
while True:
    file.seek(0)
    now = file.read().strip()
    if now != before:
        print("carrier", now, flush=True)
        before = now
    if select.select([sys.stdin], [], [], 0.001)[0]:
        if not (line := sys.stdin.readline()):
            break
        print("heard", line.strip(), flush=True)
"""


class Watcher:
    """The program on the dut."""

    def __init__(self, name: str, iface: str) -> None:
        command = [VBENCH, "ssh", "--name", name, "dut", quoted("python3", "-c", WATCHER, iface)]
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self._said: SimpleQueue[tuple[float, str]] = SimpleQueue()
        Thread(target=self._listen, daemon=True).start()
        self.wait("carrier 1")

    def _listen(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            self._said.put((time.monotonic(), line.strip()))

    def wait(self, wanted: str) -> float:
        """Monotonic time at which its next line came, which must be ``wanted``."""
        at, said = self._said.get(timeout=WITHIN_S)
        assert said == wanted, f"the watcher says {said!r}; expected {wanted!r}"
        return at

    def there_and_back_ms(self) -> float:
        assert self._process.stdin is not None
        began = time.monotonic()
        self._process.stdin.write("word\n")
        self._process.stdin.flush()
        return (self.wait("heard word") - began) * 1e3

    def close(self) -> None:
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait(WITHIN_S)


def one(watcher: Watcher, act: Callable[[], object], wanted: str) -> tuple[float, float]:
    """Milliseconds from the begin of ``act`` to the word of the change, and those it took itself."""
    began = time.monotonic()
    act()
    took_ms = (time.monotonic() - began) * 1e3
    return (watcher.wait(wanted) - began) * 1e3, took_ms


def measure(taken: labs.Run, name: str, port: Port, times: int) -> None:
    watcher = Watcher(name, taken.interface(port))
    lost, returned, words = [], [], []
    try:
        for _ in range(times):
            words.append(watcher.there_and_back_ms())
            lost.append(one(watcher, lambda: switch_ports.shut(taken, port), "carrier 0"))
            pause(RESTS_S)
            returned.append(one(watcher, lambda: switch_ports.open_port(taken, port), "carrier 1"))
            pause(RESTS_S)
    finally:
        watcher.close()
        switch_ports.open_all(taken)
    for what, found in (("shut: SET to loss", lost), ("open: SET to carrier", returned)):
        print(f"{what}: {spread([each[0] for each in found])}; SET, read back: {spread([each[1] for each in found])}")
    print(f"a word to the dut and back: {spread(words)}")
    median_ms = statistics.median(each[0] for each in lost)
    print(f"target: loss within {TARGET_MS:g} ms: {'met' if median_ms <= TARGET_MS else 'missed'} by the median")


def spread(values: Sequence[float]) -> str:
    """Least, median, 95 % (nearest rank) and most, in ms."""
    ordered = sorted(values)
    at_95 = ordered[math.ceil(0.95 * len(ordered)) - 1]
    return f"{ordered[0]:.1f} / {statistics.median(ordered):.1f} / {at_95:.1f} / {ordered[-1]:.1f} ms"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--name", default="virtual")
    parser.add_argument("--card", default="intel-82574l")
    parser.add_argument("--times", type=int, default=30)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        bench = Path(folder) / f"{options.name}.yaml"
        bench.write_text(subprocess.check_output([VBENCH, "bench-file", "--name", options.name], text=True))
        taken = labs.acquire(bench, load_card(options.card), Path(folder), lambda: None)
        try:
            taken.part(PreparedPorts).prepare()
            patch_panel.connect(taken)
            measure(taken, options.name, taken.ports(Role.DUT)[0], options.times)
            patch_panel.disconnect(taken)
        finally:
            labs.release()


if __name__ == "__main__":
    main()

"""A virtual card over many lives: drivers loaded and unloaded, bound and unbound, defects set and cleared.

    python tests/robustness/card_soak.py --card emulex-oce11102 --cycles 200

Brings up a bench of its own (``--name``), and removes it afterwards. Each cycle loads the driver again; in turn it is
also unbound from one function, or a function is removed from the bus and found again, and a defect is set and cleared
while pings flow. Ends with status 1 when the kernel of the dut warned of anything, or when its memory grew: what the
kernel itself holds (slabs that cannot be reclaimed, vmalloc, page tables) after the first quarter of the cycles, and
at the end, by more than ``GROWTH_BYTES`` a cycle.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
from itertools import cycle
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "lab" / "virtual"))

import cardfaults
import cardmodel
import lifecycle
import slots
from identity import Identity
from layout import Bench

GROWTH_BYTES = 1024
"""Less than the smallest thing a driver could forget in each cycle that matters: one socket buffer's head and data."""
COMMAND_S = 120
TROUBLE = re.compile(
    r"WARNING: CPU|BUG:|Oops|general protection|Call Trace|NETDEV WATCHDOG|refcount_t|use-after-free|leaked|"
    r"stuck for|hung_task|unregister_netdevice: waiting|sysfs: cannot create"
)
FAULTS = ("link-width", "aer-correctable", "jumbo-drop", "rx-drop", "coalesce-ignored", "vlan-slow", "carrier-delay")


class Soak:
    """The bench, and what is done to the card of its dut."""

    def __init__(self, bench: Bench, card: str) -> None:
        self.bench, self.server = bench, bench.server("dut")
        self._identity = Identity(bench)
        self._module = cardmodel.read(card)["driver"]

    def on(self, role: str, command: str) -> str:
        """Run a command on a server; one that fails ends the soak."""
        words = [*lifecycle.ssh_command(self.bench.server(role), self._identity), command]
        done = subprocess.run(words, capture_output=True, text=True, timeout=COMMAND_S, stdin=subprocess.DEVNULL)
        if done.returncode:
            raise SystemExit(f"{role}: {command!r}: exit status {done.returncode}: {done.stdout}{done.stderr}")
        return done.stdout

    def connect(self, role: str, before: str = "true") -> None:
        """After ``before``, the first port up, with an address (198.18.10.1 for dut, 2 for peer), sends pings."""
        mine, other = (1, 2) if role == "dut" else (2, 1)
        net = f"/sys/bus/pci/devices/{self.bench.server(role).ports[0].pci}/net"
        self.on(
            role,
            f"{before} && for i in {net}/*; do n=${{i##*/}}; break; done && ip link set $n up && "
            f"ip addr replace 198.18.10.{mine}/24 dev $n && "
            "for t in 1 2 3 4 5 6 7 8 9 10; do read -r c < /sys/class/net/$n/carrier && [ $c = 1 ] && break; "
            f"sleep 0.1; done; ping -q -i 0.01 -c 100 -s 1000 -W 1 198.18.10.{other} > /dev/null 2>&1 < /dev/null &",
        )

    def live(self, number: int) -> None:
        """One life of the driver: loaded again, in turn bound again or its function found again, then traffic."""
        pci, place = self.server.ports[0].pci, f"/sys/bus/pci/drivers/{self._module}"
        extra = {
            1: f" && echo {pci} > {place}/unbind && echo {pci} > {place}/bind",
            3: f" && echo 1 > /sys/bus/pci/devices/{pci}/remove && echo 1 > /sys/bus/pci/rescan",
        }.get(number % 5, "")
        reload = f"modprobe -r {self._module} && modprobe {self._module}{extra} && udevadm settle"
        self.connect("dut", before=reload)

    def defect(self, name: str) -> list[str]:
        """Set it, let traffic meet it, clear it; what the kernel has warned of."""
        cardfaults.set_word(self.bench, "dut", name, 2)
        found = self.on("dut", "sleep 0.3; dmesg; dmesg -C").splitlines()
        cardfaults.clear(self.server)
        return [line for line in found if TROUBLE.search(line)]

    def kernel_bytes(self) -> dict[str, int]:
        """Return the memory that the kernel of the dut holds for itself, once caches are dropped."""
        text = self.on("dut", "sync; echo 3 > /proc/sys/vm/drop_caches; sleep 1; cat /proc/meminfo")
        found = dict(re.findall(r"^(SUnreclaim|VmallocUsed|PageTables|KernelStack): +(\d+) kB", text, re.M))
        if len(found) != 4:
            raise SystemExit(f"dut: /proc/meminfo without SUnreclaim, VmallocUsed, PageTables or KernelStack: {text}")
        return {name: int(kib) * 1024 for name, kib in found.items()}


def soak(bench: Bench, card: str, cycles: int) -> bool:
    """Return True if all is well."""
    run = Soak(bench, card)
    faults, begun, troubles = cycle(FAULTS), {}, list[str]()
    run.connect("peer")
    for number in range(1, cycles + 1):
        run.live(number)
        troubles += run.defect(next(faults))
        if number == max(cycles // 4, 1):
            begun = run.kernel_bytes()
        if number % 10 == 0 or troubles:
            print(f"cycle {number} of {cycles}: {len(troubles)} warnings", flush=True)
        if troubles:
            break
    ended = run.kernel_bytes()
    for line in troubles:
        print(f"  {line}")
    lives = cycles - max(cycles // 4, 1)
    growth = {name: (size - begun.get(name, size)) / max(lives, 1) for name, size in ended.items()}
    print("kernel memory, bytes a cycle:", ", ".join(f"{name} {size:+.0f}" for name, size in growth.items()))
    leaks = sum(growth.values()) > GROWTH_BYTES
    print(f"{card}: {cycles} cycles, {len(troubles)} warnings, {'memory grows' if leaks else 'memory does not grow'}")
    return not troubles and not leaks


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--name", default="soak", help="name of the bench")
    parser.add_argument("--card", default="emulex-oce11102", choices=cardmodel.virtual_names())
    parser.add_argument("--cycles", type=int, default=200)
    options = parser.parse_args()
    if options.cycles < 4:
        parser.error(f"--cycles is {options.cycles}; expected 4 or more")
    before = slots.bench(options.name)
    lifecycle.up(before, fresh=True, cards=dict.fromkeys(("dut", "peer"), options.card))
    bench = slots.bench(options.name)
    try:
        well = soak(bench, options.card, options.cycles)
    finally:
        lifecycle.down(bench, now=True, purge=True)
    sys.exit(0 if well else 1)


if __name__ == "__main__":
    main()

"""Predicted against measured TCP throughput of the virtual cards: ``benchmarks/virtual_card.py [CARD ...]``.

Brings a bench of its own up (``--name``), or uses the one that is up, changes MTU, offloads and link width, and
prints a row for each. The prediction is ``lab/virtual/card/predict.py``, from the card's model; "spread" is
(highest - lowest) / median.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / "lab/virtual/card"), str(ROOT / "lab/virtual")]

import predict  # noqa: E402

import models  # noqa: E402

VBENCH = ROOT / "lab/virtual/vbench"
ADDRESS = {"dut": "198.18.10.1", "peer": "198.18.10.2"}
READY_WITHIN_S = 20
CASES = {
    "default": predict.Case(),
    "tso off": predict.Case(tso=False),
    "tx checksum off": predict.Case(tx_checksum=False),
    "merging off": predict.Case(merging=False),
    "mtu 9000": predict.Case(mtu=9000),
    "mtu 576": predict.Case(mtu=576),
    "x1": predict.Case(width=1),
    "x2 gen1": predict.Case(width=2, gen=1),
}


class Servers:
    """The two servers of a bench, by the ``vbench`` command."""

    def __init__(self, name: str) -> None:
        self._name = name

    def vbench(self, *words: str) -> str:
        done = subprocess.run([sys.executable, str(VBENCH), *words], capture_output=True, text=True, timeout=300)
        if done.returncode:
            raise SystemExit(f"vbench {' '.join(words)}: {done.stdout}{done.stderr}")
        return done.stdout

    def run(self, role: str, command: str) -> str:
        return self.vbench("ssh", "--name", self._name, role, command)

    def until(self, role: str, condition: str) -> bool:
        """Ask on the server until the shell's condition holds; False when it does not in time."""
        asked = f"for i in $(seq {10 * READY_WITHIN_S}); do if {condition}; then echo yes; exit; fi; sleep 0.1; done"
        return self.run(role, asked).strip() == "yes"

    def fault(self, role: str, setting: str) -> None:
        self.vbench("fault", "set", "--name", self._name, f"card:{role}", setting)

    def clear(self) -> None:
        self.vbench("fault", "clear", "--name", self._name)


def interface(servers: Servers, role: str) -> str:
    """The first port of the card in slot 0."""
    return servers.run(role, "ls /sys/bus/pci/devices/0000:81:00.0/net").split()[0]


def want_carrier(servers: Servers, role: str, name: str) -> None:
    """Wait until the port has its link.

    Raises:
        SystemExit: When it has none in time.
    """
    if not servers.until(role, f"grep -qx 1 /sys/class/net/{name}/carrier"):
        raise SystemExit(f"{role}: {name} has no carrier after {READY_WITHIN_S} s; expected both ends of path a up")


def serve(servers: Servers, role: str) -> None:
    """Start an iperf3 server and wait until it listens; one that listens already is used.

    Raises:
        SystemExit: When it does not, with its own words.
    """
    listens = "ss -Hltn sport = :5201 | grep -q ."
    servers.run(role, f"{listens} || iperf3 --server --daemon --logfile /tmp/iperf3.log")
    if not servers.until(role, listens):
        said = servers.run(role, "tail -n 5 /tmp/iperf3.log").strip()
        raise SystemExit(f"{role}: iperf3 does not listen on port 5201 after {READY_WITHIN_S} s: {said}")


def has_lro(servers: Servers, role: str, name: str) -> bool:
    """Can merging by the card be switched there?"""
    (line,) = servers.run(role, f"ethtool -k {name} | grep '^large-receive-offload:'").splitlines()
    return "[fixed]" not in line


def _offload(servers: Servers, role: str, name: str, word: str, on: bool) -> None:
    servers.run(role, f"ethtool -K {name} {word} {'on' if on else 'off'}")


def apply(servers: Servers, names: dict[str, str], sender: str, case: predict.Case, back: bool) -> None:
    """Make both ends as the case says, or as they were."""
    receiver = "peer" if sender == "dut" else "dut"
    if not case.tso:
        _offload(servers, sender, names[sender], "tso", back)
    if not case.tx_checksum:
        _offload(servers, sender, names[sender], "tx", back)
        if back:
            _offload(servers, sender, names[sender], "tso", True)
    if not case.merging:
        _offload(servers, receiver, names[receiver], "gro", back)
        if has_lro(servers, receiver, names[receiver]):
            _offload(servers, receiver, names[receiver], "lro", back)
    if case.mtu != 1500:
        for role, name in names.items():
            servers.run(role, f"ip link set {name} down mtu {1500 if back else case.mtu} && ip link set {name} up")
        for role, name in names.items():
            want_carrier(servers, role, name)
    if back and (case.width or case.gen):
        servers.clear()
    elif case.width or case.gen:
        servers.fault(sender, f"link-width={case.width}")
        if case.gen:
            servers.fault(sender, f"link-gen={case.gen}")


def measure(servers: Servers, sender: str, runs: int) -> list[float]:
    """Goodput in Mbit/s as the receiver saw it, 4 s after 1 s not counted, `runs` times."""
    receiver = "peer" if sender == "dut" else "dut"
    command = f"timeout 20 iperf3 -c {ADDRESS[receiver]} -t 4 -O 1 -J"
    found = [json.loads(servers.run(sender, command)) for _ in range(runs)]
    return [result["end"]["sum_received"]["bits_per_second"] / 1e6 for result in found]


def card(servers: Servers, model: dict[str, Any], runs: int) -> None:
    """All cases of one card, both directions."""
    names = {role: interface(servers, role) for role in ADDRESS}
    for role, name in names.items():
        servers.run(role, f"ip addr replace {ADDRESS[role]}/24 dev {name} && ip link set {name} up")
    for role, name in names.items():
        want_carrier(servers, role, name)
        serve(servers, role)
    for title, case in CASES.items():
        if (not case.tso or not case.tx_checksum or case.width) and "width_bits" in model["pci"]:
            continue
        for sender in ADDRESS:
            predicted, limit = predict.tcp_mbps(model, case)
            apply(servers, names, sender, case, back=False)
            rates = measure(servers, sender, runs)
            apply(servers, names, sender, case, back=True)
            median = statistics.median(rates)
            spread = (max(rates) - min(rates)) / median
            print(f"{model['name']:20} {title:16} {sender:4} {predicted:7.1f} {median:7.1f} "
                  f"{median / predicted - 1:+7.1%} {spread:7.1%}  {limit}", flush=True)  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("cards", nargs="*")
    parser.add_argument("--name", default="card", help="name of the bench")
    parser.add_argument("--runs", type=int, default=3)
    options = parser.parse_args()
    servers = Servers(options.name)
    print(f"{'card':20} {'case':16} from predicted measured  error  spread  limited by")
    for model in models.read(ROOT / "lab/virtual/models"):
        if options.cards and model["name"] not in options.cards:
            continue
        servers.vbench("up", "--name", options.name, "--card", model["name"])
        card(servers, model, options.runs)
    servers.vbench("down", "--name", options.name, "--now")


if __name__ == "__main__":
    main()

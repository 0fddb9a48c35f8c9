"""Disks by an engine for iSCSI that cuts transfers, is slow, or is not there: here the kernel's own transport is one.

The emulated cards have no engine. The sheet of these controls names open-iscsi's transport ``tcp`` as that of the card:
records, sessions, addresses, counts and turns are those of any engine, on servers that have all of it.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from control_bench import Bench, Run, only

pytestmark = [pytest.mark.bench, pytest.mark.slow]

MATCHES = "Disks Over iSCSI By The Card's Engine Match Those By Software"
FACTS = """iscsi:
  workloads: [sequential-write]
  source: this control

iscsi_offload:
  transport: {transport}
  mac_offset: {mac_offset}
  transfer_bytes: 262144
  wanted: {wanted}
  source: this control

errata: []"""
FAIR, FASTER = "{loses_at_most_percent: 75}", "{more_percent: 300}"
"""Bounds that turns of 40 transfers each on a loaded host keep: one may take twice as long as the next."""
ANY = "{unknown: this control asks for transfers alone}"
CUT_KIB = 16
"""As in the document of DEL-05."""
FLAG = "/run/control.cuts"
CUTS = f"""touch {FLAG}
setsid sh -c 'while [ -e {FLAG} ]; do
  for s in /sys/class/iscsi_session/session*; do
    r=; {{ read -r r < $s/ifacename; }} 2>/dev/null
    case $r in niclab.*) for q in $s/device/target*/*:*/block/*/queue/max_sectors_kb; do
      p=$(readlink -f $q); v=; read -r v < $p
      [ "$v" -le {CUT_KIB} ] || grep -q " $p " /proc/mounts || {{ HOW; }}
    done ;; esac
  done 2>/dev/null
  sleep 0.1
done' </dev/null >/dev/null 2>&1 &"""
SHOWN = f"echo {CUT_KIB} > $p"
HIDDEN = f"{SHOWN}; echo $v > {FLAG}.said; mount --bind {FLAG}.said $p"
"""The server shows the setting that it had: no engine says that it cuts."""
ENDS = f"rm -f {FLAG}*; sleep 1; for m in $(grep -o ' /sys[^ ]*max_sectors_kb' /proc/mounts); do umount $m; done; :"


RECORDS = "cd /etc/iscsi/ifaces 2>/dev/null && for f in *; do [ ! -e $f ] || echo $f; done || :"
"""The folder comes with the first record, and stays."""


@contextmanager
def cutting(bench: Bench, how: str) -> Iterator[None]:
    """Transfers of sessions of the engine, and of no others, are cut."""
    bench.ssh("dut", CUTS.replace("HOW", how))
    try:
        yield
    finally:
        bench.ssh("dut", ENDS)


def run(bench: Bench, transport: str = "tcp", mac_offset: int = 0, wanted: str = FAIR) -> Run:
    facts = FACTS.format(transport=transport, mac_offset=mac_offset, wanted=wanted)
    return bench.run(*only(MATCHES), card=bench.sheet(engine=("errata: []", facts)))


def test_an_engine_that_does_what_software_does_is_green(bench: Bench) -> None:
    before = bench.ssh("dut", RECORDS)
    run(bench).should_show(red=set(), green={MATCHES})
    assert bench.ssh("dut", RECORDS) == before


def test_an_engine_that_cuts_transfers_is_the_cards(bench: Bench) -> None:
    with cutting(bench, HIDDEN):
        found = run(bench, wanted=ANY)
    found.should_show(red={MATCHES})
    message = found.red[MATCHES]
    assert message.startswith("CardFailure: ") and f" operations, {CUT_KIB}." in message, message


def test_a_setting_of_the_server_that_cuts_transfers_is_the_benchs(bench: Bench) -> None:
    with cutting(bench, SHOWN):
        found = run(bench, wanted=ANY)
    found.should_show(red={MATCHES})
    message = found.red[MATCHES]
    assert message.startswith("BenchFault: ") and "a setting of the server cuts them" in message, message


def test_an_engine_that_is_slower_than_on_its_sheet_is_the_cards(bench: Bench) -> None:
    found = run(bench, wanted=FASTER)
    found.should_show(red={MATCHES})
    assert found.red[MATCHES].startswith("CardFailure: "), found.red


def test_a_port_without_an_engine_is_undecided(bench: Bench) -> None:
    found = run(bench, mac_offset=1)
    found.should_show(red={MATCHES})
    assert found.red[MATCHES].startswith("Undecided: ") and "no tcp host at" in found.red[MATCHES], found.red


def test_a_kernel_without_the_transport_is_not_applicable(bench: Bench) -> None:
    assert run(bench, transport="be2iscsi_none").skipped == {MATCHES}

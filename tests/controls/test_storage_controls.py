"""Storage is seen red by troubles of the bench, lost frames and slow ends; a run that is killed leaves none of it."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from accepted_runs import accept_measured
from control_bench import NAME, REPOSITORY, Bench, only
from defect import ALTEON, BROADCOM

from niclab.report.verdicts import Verdict, classify
from niclab.stats import baselines

pytestmark = [pytest.mark.bench, pytest.mark.slow]

NVME = "Blocks By NVMe Over TCP Come Back As They Were Written"
ISCSI = "Blocks Over iSCSI Come Back As They Were Written"
NFS = "NFS Reads Over UDP Reach The Rate On The Sheet"
CARRIES, SENDS = "Every Link Carries Traffic", "The Dut Sends At The Rate On The Sheet"
GROUP = "/sys/kernel/config/target/iscsi/iqn.2026-01.net.niclab:a/tpgt_1"
STORE = "/sys/kernel/config/target/core/rd_mcp_7114"
NVMET = "/sys/kernel/config/nvmet"
SUBSYSTEM = f"{NVMET}/subsystems/nqn.2026-01.net.niclab:a"
NAMESPACE_4 = f"{SUBSYSTEM}/namespaces/4"
NVME_OFFERED = f"[ -e {NVMET}/ports/7114/subsystems/nqn.2026-01.net.niclab:a ]"
NVME_DISKS = "/sys/class/nvme/nvme*/nvme*n*"
WRITES = "$(read -r d < {}/device_path && read -r a b c e v x < /sys/block/${{d##*/}}/stat && echo $v)"
"""The writes to a namespace's volume. A loop device counts on from those before it."""
VOLUME_3 = WRITES.format(NAMESPACE_4)
NVME_WRITTEN = "cat /sys/block/nvme*n1/stat 2>/dev/null | { read -r a b c e v x; echo ${v:-0}; }"
"""The writes to the first namespace. nvme0c0n1 comes before nvme0n1, for which Linux 6.1 then counts nothing."""
QUEUES = "/sys/class/iscsi_session/session*/device/target*/*:*:*:*/block/*/queue/max_sectors_kb"
DUT, OTHER, PEER = "198.18.10.1", "198.18.11.1", "198.18.10.2"
PORT_OF = "$(ip -o addr show to {} | while read -r n i x; do echo $i; done)"
SENT_AGAIN = r"peer sent \d+ TCP segments again"
NVME_BINDS = "held back by the NVMe target's time to answer, as nothing else is full"
TARGET_BINDS = "held back by the iSCSI target's time to answer, as nothing else is full"


def once(condition: str, do: str) -> str:
    """Commands that go on in the background until a condition holds, for a minute at most, and do something then."""
    wait = f"n=0; until {condition}; do n=$((n+1)); [ $n -lt 600 ] || exit 1; sleep 0.1; done"
    return f"({wait}; {do}) </dev/null >/dev/null 2>&1 &"


OFFERED = f'[ "$(cat {GROUP}/enable)" = 1 ]'
READS_PER_S = "/tmp/slow/blkio.throttle.read_iops_device"
EACH_LOOP = "for n in 0 1 2 3 4 5 6 7; do echo 7:$n {} > " + READS_PER_S + "; done"
SLOW_DISKS = f"modprobe loop && mkdir -p /tmp/slow && mount -t cgroup -o blkio slow /tmp/slow && {EACH_LOOP.format(5)}"
FAST_DISKS = f"{EACH_LOOP.format(0)}; umount /tmp/slow; rmdir /tmp/slow"
ONE_AT_A_TIME = once(OFFERED, f"echo 1 > {GROUP}/attrib/default_cmdsn_depth")


@dataclass(frozen=True)
class Trouble:
    """With ``does`` from the end of the setup on, the disks are red with a verdict and words; ``others`` are as well.

    ``where``: the target of a fault of the bench, or the server that runs ``does`` as commands, ended by ``ends``.
    """

    where: str
    does: str
    verdict: Verdict
    says: str
    ends: str = ""
    test: str = ISCSI

    @property
    def inject(self) -> tuple[str, str, str]:
        if ":" in self.where:
            return self.test, f"fault set --name {NAME} {self.where} {self.does}", f"fault clear --name {NAME}"
        ends = f"ssh --name {NAME} {self.where} {shlex.quote(self.ends)}" if self.ends else ""
        return self.test, f"ssh --name {NAME} {self.where} {shlex.quote(self.does)}", ends


TROUBLES = {
    # no port counts what is lost; with twice as many, 40 reads of 256 KiB outlast the 20 s that a run may take longer
    "frames-lost-by-the-card": Trouble("card:dut", "rx-drop=20000", Verdict.UNDECIDED, SENT_AGAIN),
    "frames-lost-on-the-cable": Trouble("cable:a.peer", "loss=0.02", Verdict.UNDECIDED, SENT_AGAIN),
    "lun-missing": Trouble(
        "peer", once(OFFERED, f"rm {GROUP}/lun/lun_7/volume"), Verdict.BENCH_FAULT, r"dut: 8 disks of iqn\S+ not within"
    ),
    "lun-lost-under-load": Trouble(
        "peer",
        once(f'[ "$(cat {STORE}/v3/statistics/scsi_lu/num_cmds)" -gt 60 ]', f"rm {GROUP}/lun/lun_3/volume"),
        Verdict.BENCH_FAULT,
        r"operations failed, such as volume 3, .*; peer: iqn\S+ has no LUN 3; expected all of 8",
    ),
    "session-over-another-port": Trouble(
        "dut",
        f"ip route add {PEER}/32 dev {PORT_OF.format(OTHER)} src {DUT}",
        Verdict.BENCH_FAULT,
        rf"dut: the session of iqn\S+ goes over \S+; expected \S+, which has {re.escape(DUT)}",
        ends=f"ip route del {PEER}/32 || :",
    ),
    "transfers-cut": Trouble(
        "dut",
        once(f"set -- {QUEUES}; [ $# = 8 ]", "for f; do echo 16 > $f; done"),
        Verdict.BENCH_FAULT,
        r"transfers: \d+ operations of the disks; expected the program's \d+, none of them cut",
    ),
    "wrong-mac-of-the-target": Trouble(
        "dut",
        f"ip neigh replace {PEER} lladdr 02:00:00:00:00:99 dev {PORT_OF.format(DUT)} nud permanent",
        Verdict.BENCH_FAULT,
        "dut: .*iscsiadm",
        ends=f"ip neigh del {PEER} dev {PORT_OF.format(DUT)} || :",
    ),
    "nvme-frames-lost-by-the-card": Trouble("card:dut", "rx-drop=20000", Verdict.UNDECIDED, SENT_AGAIN, test=NVME),
    "nvme-frames-lost-on-the-cable": Trouble("cable:a.peer", "loss=0.02", Verdict.UNDECIDED, SENT_AGAIN, test=NVME),
    "nvme-namespace-missing": Trouble(
        "peer",
        once(NVME_OFFERED, f"echo 0 > {SUBSYSTEM}/namespaces/8/enable"),
        Verdict.BENCH_FAULT,
        r"dut: 8 disks of nqn\S+ not within",
        test=NVME,
    ),
    "nvme-namespace-lost-under-load": Trouble(
        "peer",
        once(f"[ {VOLUME_3} -gt $((${{before:={VOLUME_3}}} + 5)) ]", f"echo 0 > {NAMESPACE_4}/enable"),
        Verdict.BENCH_FAULT,
        r"operations failed, such as volume 3, .*; peer: nqn\S+ has no namespace 4; expected all of 8",
        test=NVME,
    ),
    "nvme-over-another-port": Trouble(
        "dut",
        f"ip route add {PEER}/32 dev {PORT_OF.format(OTHER)} src {DUT}",
        Verdict.BENCH_FAULT,
        rf"dut: the session of nqn\S+ goes over \S+; expected \S+, which has {re.escape(DUT)}",
        ends=f"ip route del {PEER}/32 || :",
        test=NVME,
    ),
    "nvme-transfers-cut": Trouble(
        "dut",
        once(f"set -- {NVME_DISKS}; [ $# = 8 ]", "for f; do echo 16 > $f/queue/max_sectors_kb; done"),
        Verdict.BENCH_FAULT,
        r"transfers: \d+ operations of the disks; expected the program's \d+, none of them cut",
        test=NVME,
    ),
    "nvme-wrong-mac-of-the-target": Trouble(
        "dut",
        f"ip neigh replace {PEER} lladdr 02:00:00:00:00:99 dev {PORT_OF.format(DUT)} nud permanent",
        Verdict.BENCH_FAULT,
        "dut: .*nvme-fabrics",
        ends=f"ip neigh del {PEER} dev {PORT_OF.format(DUT)} || :",
        test=NVME,
    ),
}


def with_card(bench: Bench, card: str) -> Bench:
    if card not in bench.vbench("cards"):
        bench.vbench("up", "--card", card)
        bench.file.write_text(bench.vbench("bench-file"))
    return bench


def require(message: str, verdict: Verdict, says: str) -> None:
    assert classify("FAIL", message) is verdict, message
    assert re.search(says, message, re.DOTALL), message


@pytest.mark.parametrize("name", TROUBLES)
def test_a_trouble_of_the_bench_or_a_loss_is_nothing_of_the_cards(bench: Bench, name: str) -> None:
    trouble = TROUBLES[name]
    run = with_card(bench, BROADCOM).run(*only(trouble.test, CARRIES), card=BROADCOM, inject=trouble.inject)
    run.should_show(red={trouble.test}, green={CARRIES})
    require(run.red[trouble.test], trouble.verdict, trouble.says)


class TestSlow:
    """Slower than in an accepted run, with nothing full: the card and the target look the same."""

    @pytest.fixture(scope="class")
    def accepted(self, bench: Bench) -> Iterator[Bench]:
        """The figures of a sound run are those of an accepted one."""
        with_card(bench, BROADCOM).run(*only(ISCSI), card=BROADCOM).should_show(red=set(), green={ISCSI})
        accept_measured(bench.output, 1)
        yield bench
        shutil.rmtree(bench.output.parent / baselines.FOLDER)

    def test_a_slow_target_is_not_charged_to_the_card(self, accepted: Bench) -> None:
        """It takes one command at a time."""
        inject = Trouble("peer", ONE_AT_A_TIME, Verdict.UNDECIDED, TARGET_BINDS).inject
        run = accepted.run(*only(ISCSI, SENDS), card=BROADCOM, inject=inject)
        run.should_show(red={ISCSI}, green={SENDS})
        require(run.red[ISCSI], Verdict.UNDECIDED, f"iSCSI, random operations.*{TARGET_BINDS}")

    def test_slow_writes_are_the_cards_where_its_rate_proves_it(self, accepted: Bench) -> None:
        """The disks alone do not tell it from a slow target."""
        accepted.vbench("fault", "set", "card:dut", "tx-slow=600")
        run = accepted.run(*only(ISCSI, SENDS), card=BROADCOM)
        run.should_show(red={ISCSI, SENDS})
        require(run.red[ISCSI], Verdict.UNDECIDED, f"dut.p0 to peer.p0, iSCSI, sequential writes.*{TARGET_BINDS}")
        require(run.red[SENDS], Verdict.CARD_FAILURE, "dut.p0 to peer.p0")


class TestSlowNvme:
    """As over iSCSI."""

    @pytest.fixture(scope="class")
    def accepted(self, bench: Bench) -> Iterator[Bench]:
        """The figures of a sound run are those of an accepted one."""
        with_card(bench, BROADCOM).run(*only(NVME), card=BROADCOM).should_show(red=set(), green={NVME})
        accept_measured(bench.output, 1)
        yield bench
        shutil.rmtree(bench.output.parent / baselines.FOLDER)

    def test_slow_disks_of_the_target_are_not_charged_to_the_card(self, accepted: Bench) -> None:
        """Each of them makes five reads a second."""
        inject = Trouble("peer", SLOW_DISKS, Verdict.UNDECIDED, NVME_BINDS, FAST_DISKS, NVME).inject
        run = accepted.run(*only(NVME, SENDS), card=BROADCOM, inject=inject)
        run.should_show(red={NVME}, green={SENDS})
        require(run.red[NVME], Verdict.UNDECIDED, f"NVMe over TCP, random operations.*{NVME_BINDS}")


@dataclass(frozen=True)
class Kill:
    """A run of ``test`` is killed once a count on ``role`` has grown by ``by``; the servers have ``uses`` by then."""

    card: str
    test: str
    role: str
    count: str
    by: int
    uses: dict[str, set[str]]
    undone: tuple[str, ...]


LOOK = """\
for f in /sys/class/iscsi_session/session*/targetname; do [ ! -e $f ] || echo session; done
for f in /sys/block/sd*; do [ ! -e $f ] || echo disk; done
for f in /sys/kernel/config/target/iscsi/iqn.* /sys/kernel/config/target/core/rd_mcp_*; do
[ ! -e $f ] || echo target; done
for f in /etc/iscsi/nodes/iqn.* /var/lib/iscsi/nodes/iqn.*; do [ ! -e $f ] || echo node; done
for f in /sys/class/nvme/nvme*/subsysnqn; do ! grep -qs niclab $f || echo controller; done
for f in /sys/kernel/config/nvmet/subsystems/nqn.* /sys/kernel/config/nvmet/ports/*; do
[ ! -e $f ] || echo subsystem; done
for f in /sys/block/loop*/loop/backing_file; do ! grep -qs niclab $f || echo loop; done
for f in /tmp/niclab.*; do [ ! -e $f ] || echo folder; done
! grep -qs niclab /proc/mounts || echo mount
! grep -qs niclab /var/lib/nfs/etab || echo export
! pidof rpc.mountd >/dev/null || echo rpc.mountd
read -r n 2>/dev/null < /proc/fs/nfsd/threads && [ $n = 0 ] || [ ! -e /proc/fs/nfsd/threads ] || echo threads
:"""
KILLS = {
    "iscsi": Kill(
        BROADCOM,
        ISCSI,
        "peer",
        f"cat {STORE}/v0/statistics/scsi_lu/num_cmds 2>/dev/null || echo 0",
        100,
        {"dut": {"session", "disk", "node"}, "peer": {"target"}},
        ("volumes are offered over iSCSI", "session of iqn"),
    ),
    "nvme": Kill(
        BROADCOM,
        NVME,
        "dut",
        NVME_WRITTEN,
        6,
        {"dut": {"controller"}, "peer": {"subsystem", "loop", "mount", "folder"}},
        ("volumes are offered over NVMe", "controller of nqn"),
    ),
    "nfs": Kill(
        ALTEON,
        NFS,
        "dut",
        "while read -r n v x; do [ $n != net ] || echo $v; done 2>/dev/null </proc/net/rpc/nfsd || echo 0",
        200,
        {"dut": {"mount", "export", "folder", "rpc.mountd", "threads"}, "peer": set()},
        ("a file is served over NFS",),
    ),
}


def used(bench: Bench) -> dict[str, set[str]]:
    return {role: set(bench.ssh(role, LOOK).split()) for role in ("dut", "peer")}


@pytest.mark.parametrize("name", KILLS)
def test_a_killed_run_leaves_neither_session_nor_target_nor_export_nor_mount(bench: Bench, name: str) -> None:
    kill = KILLS[name]
    with_card(bench, kill.card)
    before, count = used(bench), int(bench.ssh(kill.role, kill.count))
    process = subprocess.Popen(
        bench.command(*only(kill.test), card=kill.card),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        start_new_session=True,
    )
    try:
        deadline = time.monotonic() + 240
        while int(bench.ssh(kill.role, kill.count)) < count + kill.by:
            assert time.monotonic() < deadline, "nothing was read or written"
            assert process.poll() is None, "the run ended"
            time.sleep(0.5)
    finally:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
    left = used(bench)
    assert all(wanted <= left[role] for role, wanted in kill.uses.items()), left
    restored = subprocess.run(
        [str(Path(sys.executable).with_name("niclab")), "restore", str(bench.file)],
        capture_output=True,
        text=True,
        cwd=REPOSITORY,
        timeout=300,
    )
    said = restored.stdout + restored.stderr
    assert restored.returncode == 0, said
    assert "equal to the state before the run" in said and all(each in said for each in kill.undone), said
    assert used(bench) == before

"""Many defects in one run: each is injected into one test, or is one wrong fact of a sheet, and turns that test red."""

from __future__ import annotations

from dataclasses import dataclass

from control_bench import NAME

CARD, BENCH = "CardFailure", "BenchFault"
CLEAR = f"fault clear --name {NAME}"


@dataclass(frozen=True)
class Each:
    """``defect``: target and name, as in the defect matrix. ``inject``, ``clear``: arguments of ``vbench``."""

    defect: str
    red: str
    verdict: str
    says: str
    inject: str
    clear: str = CLEAR


def fault(target: str, words: str, red: str, verdict: str, says: str) -> Each:
    """A fault that the virtual bench knows."""
    return Each(f"{target} {words}", red, verdict, says, f"fault set --name {NAME} {target} {words}")


def shell(defect: str, red: str, verdict: str, says: str, *, do: str, undo: str, role: str = "dut") -> Each:
    """Return a defect that a command on a server makes, and another one mends."""
    words = (f"ssh --name {NAME} {role} {_quoted(command)}" for command in (do, undo))
    return Each(f"server:{role} {defect}", red, verdict, says, *words)


def refused(folder: str, red: str, says: str) -> Each:
    """The kernel's files below ``folder`` of the dut can be read, and not written."""
    do, undo = (f"mount -o remount,{how} {folder}" for how in ("ro", "rw"))
    return shell(f"{folder} refuses", red, BENCH, says, do=do, undo=undo)


def _quoted(command: str) -> str:
    return "'" + command.replace("'", "'\\''") + "'"


_CONSOLE = "pkill -{} -t ttyS0 || pkill -{} -f ttyS0"
_DEAF_TOOL = """\
printf '#!/bin/sh\\n[ "$1" = -C ] || exec /root/ethtool "$@"\\n' > /root/deaf; chmod +x /root/deaf
cp $(command -v ethtool) /root/ethtool; mount --bind /root/deaf $(command -v ethtool)
"""
"""Takes every coalescing and changes none; what is shown stays true."""
_MODULE = "/lib/modules/$(uname -r)/{}"
_OF_KERNEL = "$(modinfo -n e1000e)"

_OTHER_BUILD = """\
import pathlib, sys
build = pathlib.Path("/sys/module/e1000e/notes/.note.gnu.build-id").read_bytes()[-20:]
module = pathlib.Path(sys.argv[1]).read_bytes()
pathlib.Path("/run/other.ko").write_bytes(module.replace(build, bytes(20)))
"""
"""Writes a copy of the module file that has another build id."""

_OOPS = (
    "BUG: kernel NULL pointer dereference, address: 0000000000000010",
    "RIP: 0010:e1000_clean_rx_irq+0x1a/0x2f0 [e1000e]",
    "---[ end trace 0000000000000000 ]---",
)

KINDS = (
    fault("bmc:peer", "drop", "Every BMC Reports The Power As It Is", BENCH, "peer BMC: power status: no answer from"),
    shell(
        "oops",
        "Every Link Is Up",
        CARD,
        f"dut kernel: oops: {_OOPS[0]}",
        do="; ".join(f"echo '{line}' > /dev/kmsg" for line in _OOPS),
        undo="true",
    ),
    fault(
        "cable:b.peer",
        "silent",
        "Every Link Carries Traffic",
        CARD,
        "dut.p1 (0000:02:00.0) to peer.p1: 0 of 10 pings answered",
    ),
    fault(
        "cable:a.dut",
        "carrier_stuck",
        "A Pulled Cable Is Seen At Both Ends In Time",
        CARD,
        "dut.p0 (0000:01:00.0) has still carrier after 1000 ms, all that sheet intel-82574l allows",
    ),
    fault(
        "switch:port1",
        "vlan_leak",
        "Ends In Different VLANs Of The Switch Are Isolated",
        BENCH,
        "frames of another VLAN",
    ),
)
"""A defect of each kind: BMC, kernel, cable, carrier, VLAN of the switch. Each has a control of its own as well."""

QUICK = (
    fault("bmc:peer", "redfish_500", "Every BMC Reports The Power As It Is", BENCH, "HTTP 500"),
    fault("bmc:peer", "drop", "Every BMC Reads A Temperature", BENCH, "peer"),
    fault("bmc:peer", "power_stuck", "The Power Is Switched By Every Protocol", BENCH, "power is not off within"),
    fault("bmc:dut", "drop", "A Panic By An NMI Is Captured And The Server Recovered", BENCH, "dut BMC"),
    shell(
        "console silent",
        "Every Console Answers To A Login",
        BENCH,
        "dut",
        do=_CONSOLE.format("STOP", "STOP"),
        undo=_CONSOLE.format("CONT", "CONT"),
    ),
    shell(
        "same name",
        "Commands Run On Their Own Server",
        BENCH,
        "both are called",
        do="uname -n > /run/name; hostname peer",
        undo="hostname $(cat /run/name)",
    ),
    shell(
        "port gone",
        "The Dut Shows As Many Ports As The Sheet Says",
        CARD,
        "1",
        do="echo 1 > /sys/bus/pci/devices/0000:02:00.0/remove",
        undo="echo 1 > /sys/bus/pci/rescan; udevadm settle",
    ),
    shell(
        "other build on disk",
        "The Driver In Memory Is The Installed One",
        CARD,
        "of another build",
        do=f"python3 -c {_quoted(_OTHER_BUILD)} {_OF_KERNEL} && mount --bind /run/other.ko {_OF_KERNEL}",
        undo=f"umount {_OF_KERNEL}",
    ),
    shell(
        "module of another origin",
        "The Card Is Usable Without An Install Step",
        CARD,
        "expected the system's own",
        do=f"mkdir -p {_MODULE.format('updates')}; cp {_OF_KERNEL} {_MODULE.format('updates/')}; depmod -a",
        undo=f"rm -r {_MODULE.format('updates')}; depmod -a",
    ),
    fault("cable:b.peer", "silent", "Reloading The Driver Under Traffic Brings Every Link Back", CARD, "p1"),
    refused("/sys", "Receive Packet Steering Can Be Set", "rps_cpus"),
    refused("/sys", "Receive Flow Steering Can Be Set", "rps_flow_cnt"),
    refused("/proc", "Socket Memory That A Test Sets Is In Force", "net.ipv4.tcp_rmem is"),
    shell(
        "coalescing is not done",
        "Coalescing That A Test Sets Is In Force",
        CARD,
        "rx-usecs",
        do=_DEAF_TOOL,
        undo="umount $(command -v ethtool)",
    ),
    fault("cable:a", "silent", "A Plugged Cable Carries Traffic Again In Time", CARD, "p0"),
)
"""Seconds each, on the default card."""

CABLES = (
    fault("cable:a.dut", "carrier_stuck", "Losing Every Link Is No Carrier And Traffic Returns", CARD, "carrier"),
    fault("cable:a", "silent", "A Link That Flaps Is Survived", CARD, ""),
    fault(
        "cable:a", "carrier_delay_s=60", "With primary_reselect Always A Returned Primary Link Is Used Again", CARD, ""
    ),
    fault(
        "cable:a.dut",
        "carrier_stuck",
        "With primary_reselect Failure A Returned Primary Link Waits For A Failure",
        CARD,
        "",
    ),
    fault("cable:b", "silent", "A VLAN On A Bond Survives The Loss Of A Link", CARD, ""),
)
"""Bonds over cables."""

SWITCH = (
    fault("cable:b", "silent", "Losing The Partner's Link At The Switch Costs At Most The Allowed Outage", CARD, ""),
    fault("cable:b", "silent", "Losing The Card's Cable To The Switch Costs At Most The Allowed Outage", CARD, ""),
    fault("cable:b", "silent", "Taking The Card's Link Down Costs At Most The Allowed Outage", CARD, ""),
    fault("cable:b", "silent", "Taking The Partner's Link Down Costs At Most The Allowed Outage", CARD, ""),
    fault("cable:a.dut", "loss=0.05", "Losing The Backup Link At The Switch Costs Nothing", CARD, ""),
    fault(
        "cable:a.dut", "carrier_stuck", "Losing Every Link At The Switch Is No Carrier And Traffic Returns", CARD, ""
    ),
    fault("cable:a", "silent", "A Link That Flaps At The Switch Is Survived", CARD, ""),
    fault("cable:b", "silent", "Losing A Link Of An 802.3ad Bond Costs At Most The Allowed Outage", CARD, ""),
    fault("cable:a.dut", "carrier_stuck", "An 802.3ad Bond With Fewer Links Than min_links Has No Carrier", CARD, ""),
    fault("cable:b", "silent", "A Connection Under Load Survives The Loss And Return Of Its Link", CARD, ""),
    fault(
        "cable:a",
        "carrier_delay_s=60",
        "With primary_reselect Always A Primary Link That Returns At The Switch Is Used Again",
        CARD,
        "",
    ),
    fault(
        "cable:a.dut",
        "carrier_stuck",
        "With primary_reselect Failure A Primary Link That Returns At The Switch Waits For A Failure",
        CARD,
        "",
    ),
    fault("switch:", "reboot_s=5", "The Switch Has Not Restarted", BENCH, ""),
    fault("cable:a", "silent", "A Trunk Carries The VLAN It Is Given", CARD, ""),
    fault("switch:", "set_ignored", "A Trunk Keeps Other VLANs Out", BENCH, ""),
    fault("cable:b", "silent", "A VLAN On A Bond Survives The Loss Of A Link At The Switch", CARD, ""),
)
"""Bonds, ports and VLANs over the switch."""

_DEAF = "for file in $(ls /sys/class/net/*/queues/{}); do {}; done"
_COPY = "copy=/run/deaf$(echo $file | tr / _); cat $file > $copy; mount --bind $copy $file"


def deaf(files: str, red: str, says: str) -> Each:
    """Files of the dut's queues that take every value and show it, and change nothing."""
    undo = _DEAF.format(files, "umount $file")
    return shell(f"deaf {files}", red, CARD, says, do=_DEAF.format(files, _COPY), undo=undo)


_OF_IRQS = """\
for irq in $(ls /sys/class/net/*/device/msi_irqs | grep -o '[0-9]*$'); do
file=/proc/irq/$irq/smp_affinity_list; copy=/run/deaf$irq; {}
done
"""


STEERED_CARD = "intel-82576"
STEERED = (
    deaf("rx-*/rps_cpus", "Received Packets Are Taken Over By The CPU That A Test Gives Them", "which woke no CPU"),
    deaf("rx-*/rps_flow_cnt", "Received Packets Follow The Program That Reads Them", "has woken CPU 1"),
    deaf("tx-*/xps_cpus", "Sent Packets Leave By The Queue That A Test Gives Their CPU", "pings from CPU"),
    refused("/sys", "Transmit Packet Steering Can Be Set", "xps_cpus"),
    refused("/proc", "Interrupts Can Be Given To CPUs", "smp_affinity_list"),
    shell(
        "interrupts stay at CPU 1",
        "Interrupts Arrive At The CPU That A Test Gives Them",
        CARD,
        "has had interrupts while pings crossed it",
        do=_OF_IRQS.format("echo 1 > $file; cat $file > $copy; mount --bind $copy $file"),
        undo=_OF_IRQS.format("umount $file; echo 0-1 > $file"),
    ),
)
"""Seconds each, on the card whose servers have two processors."""

_SIX = "for file in /sys/bus/pci/devices/*/sriov_totalvfs; do {}; done"
_MEDDLES = """\
touch /run/meddles; nohup sh -c '
while [ -e /run/meddles ]; do
for second in /sys/bus/pci/devices/*/virtfn1; do [ ! -e "$second" ] || {{ port=$(ls "${{second%/*}}/net"); {}; }}; done
sleep 0.3
done' > /dev/null 2>&1 &"""
"""Does something to the second virtual function of each port ``$port``, over and over."""


def meddles(defect: str, does: str, red: str, says: str) -> Each:
    """Something that a program on the dut does to the second virtual function of a port, as a bad card might."""
    return shell(defect, red, CARD, says, do=_MEDDLES.format(does), undo="rm -f /run/meddles")


_FOREIGN_VLAN = """\
[ "$(cat "/sys/class/net/${port}v1/carrier")" != 1 ] || ip link show dev "$port" | grep -q "vf 1 .*vlan 7" ||
ip link set dev "$port" vf 1 vlan 7"""
"""Only when it has a link: igb of Linux 6.1 locks up where a VLAN is set while it makes functions."""
_NO_VLAN = """\
! ip link show dev "$port" | grep -q "vf 0 .*vlan 100" || ip link set dev "$port" vf 0 vlan 0"""
FUNCTIONS = (
    shell(
        "six-functions",
        "Every Port Makes All Of Its Virtual Functions",
        CARD,
        "offers 6 virtual functions; expected 7",
        do=_SIX.format("echo 6 > /run/six; mount --bind /run/six $file"),
        undo=_SIX.format("umount $file"),
    ),
    meddles("function-in-vlan", _FOREIGN_VLAN, "Virtual Functions Carry Their Own Frames", "to its own address: 0 of"),
    meddles("function-in-other-vlan", _FOREIGN_VLAN, "Virtual Functions Keep Their VLAN", "frames next to the VLAN"),
    shell(
        "function-out-of-vlan",
        "Virtual Functions Send In No Other VLAN",
        CARD,
        "got out to peer",
        do=_MEDDLES.replace("virtfn1", "virtfn0").format(_NO_VLAN),
        undo="rm -f /run/meddles",
    ),
    fault("cable:b.dut", "loss=0.3", "Virtual Functions Go While They Send", CARD, "frames of another port"),
    meddles(
        "made-again-in-vlan",
        _FOREIGN_VLAN,
        "Virtual Functions Are Made Again When The Driver Is Loaded Again",
        "to its own address: 0 of",
    ),
    meddles(
        "function-without-link",
        'ip link set dev "${port}v1" down',
        "Virtual Functions Survive Their Port",
        "has no carrier 30 s after its port has",
    ),
    fault("cable:b.dut", "loss=0.2", "Virtual Functions Leave Other Ports", CARD, "frames of another port"),
)
"""A minute each, on the same card, which alone has virtual functions."""


@dataclass(frozen=True)
class Wrong:
    """A fact of the sheet of the default card that is not the card's: ``old`` is replaced by ``new``."""

    old: str
    new: str
    red: tuple[str, ...]

    @property
    def defect(self) -> str:
        """As in the defect matrix."""
        return f"card:dut not {' '.join(self.new.split())[:40]}"


_PACKAGED = """\
    version:
      required: ["9.9"]
    package:
      name: e1000e-modules
      required: ["9.9"]
      architecture: amd64
      source: a driver that nobody published
"""
WRONG = (
    Wrong(
        "  speed_mbps: 1000\n",
        "  speed_mbps: 10000\n",
        ("Every Link Runs At The Speed On The Sheet", "The Dut Sends At The Rate On The Sheet"),
    ),
    Wrong("[10, 100, 1000]", "[10, 100, 1000, 10000]", ("Every Port Offers The Speeds On The Sheet",)),
    Wrong("media: [twisted-pair]", "media: [fibre]", ("Every Port Has A Medium On The Sheet",)),
    Wrong("actual_default: 256", "actual_default: 128", ("Tunables Of The Driver Are As On The Sheet",)),
    Wrong(
        "rx: {min: 64, max: 4096",
        "rx: {min: 64, max: 8192",
        ("Rings Are As Delivered", "Every Ring Takes Its Range"),
    ),
    Wrong(
        "name: rx-usecs, default: 3",
        "name: rx-frames, default: 3",
        ("Coalescing Is As Delivered", "Every Coalescing Parameter Can Be Set", "Unsupported Coalescing Is Refused"),
    ),
    Wrong(
        "  rx: true\n  tx: true\n  settable: true",
        "  rx: false\n  tx: true\n  settable: false",
        ("Pause Frames Are As Delivered", "Pause Frames Can Be Switched"),
    ),
    Wrong("max: 9212", "max: 9600", ("The MTU Takes Its Range",)),
    Wrong("  default: 1500", "  default: 1400", ("The MTU Is As Delivered",)),
    Wrong("word: lro\n      why", "word: tx-tcp-segmentation\n      why", ("Unsupported Feature Names Are Refused",)),
    Wrong(
        '  settable: false\n  source: "Linux kernel 6.1, e1000e/ethtool.c: no',
        '  settable: true\n  combined: {max: 2, default: 2}\n  source: "Linux kernel 6.1, e1000e/ethtool.c: no',
        ("Queues Are As Delivered", "Queues Can Be Set"),
    ),
    Wrong(
        "    in_kernel: true\n",
        _PACKAGED,
        ("The Driver Version Is One The Sheet Wants", "The Package Of The Driver Is One The Sheet Wants"),
    ),
)
"""Facts that the default card does not have."""

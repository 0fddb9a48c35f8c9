"""The shell programs that show the state of a server: one command, so that it costs one round trip.

Files of ``/sys`` and ``/proc`` are read by the shell itself: a tool costs an emulated server a tenth of a second and
more. The output is sections, each headed by a line ``@ NAME``; ``@ refused STATUS`` ends a section whose tool failed,
and ``@ end`` says that the output is whole. :mod:`niclab.state.read` reads exactly this.
"""

from __future__ import annotations

import shlex
from collections.abc import Sequence

from niclab.state.snapshot import Depth

BEGIN = ": niclab state"
"""The first words of every program."""

TOOLS = ("iperf3", "iperf", "netserver", "netperf", "tcpdump", "fio", "ping", "sockperf", "irqbalance")
"""Processes that are looked for: those that the lab starts, and the one that moves interrupts."""

ETHTOOL = ("-i", "-k", "-g", "-c", "-a", "-l")

_SYSCTLS = (
    *("net/core/rmem_max", "net/core/wmem_max", "net/core/rmem_default", "net/core/wmem_default"),
    *("net/core/netdev_max_backlog", "net/core/netdev_budget", "net/core/somaxconn", "net/core/default_qdisc"),
    *("net/core/busy_poll", "net/core/busy_read", "net/core/rps_sock_flow_entries", "net/ipv4/ip_forward"),
    *("net/ipv4/tcp_rmem", "net/ipv4/tcp_wmem", "net/ipv4/tcp_congestion_control", "net/ipv4/tcp_timestamps"),
    *("net/ipv4/tcp_sack", "net/ipv4/tcp_window_scaling", "net/ipv4/tcp_mtu_probing", "net/ipv4/tcp_no_metrics_save"),
    *("kernel/sysrq", "kernel/printk", "kernel/panic", "kernel/panic_on_oops", "kernel/hung_task_timeout_secs"),
    *("net/ipv4/conf/*/arp_ignore", "net/ipv4/conf/*/arp_announce", "net/ipv4/conf/*/rp_filter"),
)
_BSD_SYSCTLS = (
    *("kern.ipc.maxsockbuf", "kern.ipc.somaxconn", "net.inet.tcp.sendspace", "net.inet.tcp.recvspace"),
    *("net.inet.tcp.sendbuf_max", "net.inet.tcp.recvbuf_max", "net.inet.tcp.cc.algorithm", "net.inet.ip.forwarding"),
    *("net.inet.tcp.tso", "net.inet.tcp.sack.enable"),
)
"""None of a module that is loaded when it is first used: it would come with the first bond."""
_BOOT_FILES = (
    *("/etc/default/grub", "/boot/grub/grub.cfg", "/etc/network/interfaces", "/etc/modules", "/etc/modprobe.d/*"),
    *("/etc/modules-load.d/*", "/etc/sysctl.conf", "/etc/sysctl.d/*", "/etc/udev/rules.d/*"),
    *("/etc/systemd/network/*", "/etc/systemd/network/*/*"),
)
_BSD_BOOT_FILES = (
    "/boot/loader.conf",
    "/boot/loader.conf.d/*",
    "/boot/loader.conf.local",
    "/etc/rc.conf",
    "/etc/rc.conf.local",
    "/etc/sysctl.conf",
)

_FUNCTIONS = """
export LC_ALL=C
title() { printf '@ %s\\n' "$1"; }
tool() { title "$1"; shift; "$@" 2>/dev/null || printf '@ refused %s\\n' "$?"; }
show() {
  for f in "$@"; do
    [ -r "$f" ] || continue
    v=; { IFS= read -r v < "$f"; } 2>/dev/null || [ -n "$v" ] || continue
    printf '%s\\t%s\\n' "$f" "$v"
  done
}
sums() {
  title sums; n=$#
  for f in "$@"; do [ ! -f "$f" ] || set -- "$@" "$f"; done
  shift "$n"
  [ $# = 0 ] || cksum "$@" || printf '@ refused %s\\n' "$?"
}
leftfiles() { title files; for f in /tmp/niclab.*; do [ ! -e "$f" ] || printf '%s\\n' "$f"; done; }
"""

_LINUX = """
tool links ip -json -details address show
tool routes ip -json route show table all
title sysctl; cd /proc/sys && show {sysctls}; cd /
title modules; for f in /sys/module/*/initstate; do
  [ -e "$f" ] || continue
  f=${{f%/initstate}}; printf '%s\\n' "${{f##*/}}"
done
title nfs
v=0; if [ -r /proc/fs/nfsd/threads ]; then read -r v < /proc/fs/nfsd/threads; fi
[ "$v" = 0 ] || printf 'threads\\t%s\\n' "$v"
[ ! -r /var/lib/nfs/etab ] || while read -r f v; do
  [ -z "$f" ] || printf 'export %s to %s\\tpresent\\n' "$f" "${{v%%(*}}"
done < /var/lib/nfs/etab
while read -r d f v o; do
  case "$v $f" in "nfsd "* | *" /tmp/niclab."*) printf 'mount %s\\t%s\\n' "$f" "$v" ;; esac
done < /proc/mounts
title iscsi
for f in /sys/class/iscsi_session/session*/targetname; do
  v=; [ ! -r "$f" ] || read -r v < "$f"; [ -z "$v" ] || printf 'session %s\\tpresent\\n' "$v"
done
for d in /etc/iscsi /var/lib/iscsi; do
  for f in "$d"/nodes/*; do [ ! -e "$f" ] || printf 'node %s\\tpresent\\n' "${{f##*/}}"; done
  for f in "$d"/ifaces/*; do [ ! -e "$f" ] || printf 'iface %s\\tpresent\\n' "${{f##*/}}"; done
done
for f in /sys/kernel/config/target/iscsi/iqn.*; do [ ! -d "$f" ] || printf 'target %s\\tpresent\\n' "${{f##*/}}"; done
for f in /sys/kernel/config/target/core/*/*/udev_path; do
  [ -e "$f" ] || continue
  f=${{f%/udev_path}}; printf 'volume %s\\tpresent\\n' "${{f#/sys/kernel/config/target/core/}}"
done
for f in /sys/block/dm-*/dm/name; do
  v=; [ ! -r "$f" ] || read -r v < "$f"; [ -z "$v" ] || printf 'map %s\\tpresent\\n' "$v"
done
title nvme
for f in /sys/class/nvme/nvme*/subsysnqn; do
  {{ read -r t < "${{f%/*}}/transport" && read -r v < "$f"; }} 2>/dev/null || continue
  [ "$t" = pcie ] || printf 'controller %s\\tpresent\\n' "$v"
done
for f in /sys/kernel/config/nvmet/subsystems/* /sys/kernel/config/nvmet/ports/*; do
  [ ! -d "$f" ] || printf '%s\\tpresent\\n' "${{f#/sys/kernel/config/nvmet/}}"
done
for f in /sys/block/loop*/loop/backing_file; do
  v=; {{ read -r v < "$f"; }} 2>/dev/null || continue
  case "$v" in /tmp/niclab.*) printf 'loop %s\\tpresent\\n' "$v" ;; esac
done
"""

_LINUX_FULL = """
title steering; show /sys/class/net/*/queues/*/rps_cpus /sys/class/net/*/queues/*/rps_flow_cnt
show /sys/class/net/*/queues/*/xps_cpus
title interrupts
for d in /proc/irq/*/*/; do
  [ -d "$d" ] || continue
  n=${{d#/proc/irq/}}; i=${{n%%/*}}; n=${{n#*/}}
  v=; {{ read -r v < "/proc/irq/$i/smp_affinity_list"; }} 2>/dev/null || continue
  printf '%s\\t%s\\n' "${{n%/}}" "$v"
done
title cmdline; show /proc/cmdline
title processes
for f in /proc/[0-9]*/comm; do
  v=; {{ read -r v < "$f"; }} 2>/dev/null || continue
  case $v in {tools}) printf '%s\\n' "$v" ;; esac
done
for p in {ports}; do
  for d in "/sys/bus/pci/devices/$p/net"/*; do
    [ -d "$d" ] || continue
    for o in {options}; do tool "ethtool $o ${{d##*/}}" ethtool "$o" "${{d##*/}}"; done
  done
done
if command -v dpkg-query >/dev/null; then
  tool packages dpkg-query -W -f '${{db:Status-Abbrev}}\\t${{Package}}\\t${{Version}}\\n'
elif command -v rpm >/dev/null; then tool packages rpm -qa --qf 'ii \\t%{{NAME}}\\t%{{VERSION}}-%{{RELEASE}}\\n'; fi
sums {boot_files}
leftfiles
"""

_BSD = """
tool interfaces ifconfig -a
tool bsdroutes netstat -rnW -f inet
tool bsdsysctl sysctl -ie {sysctls}
tool bsdmodules kldstat
"""

_BSD_FULL = """
title processes; ps -axo comm= | while read -r v; do case $v in {tools}) printf '%s\\n' "$v" ;; esac; done
if pkg -N >/dev/null 2>&1; then tool packages pkg query 'ii \\t%n\\t%v'
elif command -v pkg_info >/dev/null; then
  title packages; for p in $(pkg_info -E '*'); do printf 'ii \\t%s\\t%s\\n' "${{p%-*}}" "${{p##*-}}"; done
fi
sums {boot_files}
leftfiles
"""


def linux_program(depth: Depth, ports: Sequence[str]) -> str:
    """Return the program that shows the state of a Linux server.

    Args:
        depth: How much it shows.
        ports: PCI addresses of the test ports, whose ``ethtool`` settings are shown in full.
    """
    wanted = _LINUX + (_LINUX_FULL if depth is Depth.FULL else "")
    body = wanted.format(
        sysctls=" ".join(_SYSCTLS),
        tools="|".join(TOOLS),
        ports=" ".join(map(shlex.quote, ports)),
        options=" ".join(ETHTOOL),
        boot_files=" ".join(_BOOT_FILES),
    )
    return f"{BEGIN} {depth}\n{_FUNCTIONS}{body}printf '@ end\\n'\n"


def freebsd_program(depth: Depth) -> str:
    """Return the program that shows the state of a FreeBSD server.

    Args:
        depth: How much it shows.
    """
    wanted = _BSD + (_BSD_FULL if depth is Depth.FULL else "")
    body = wanted.format(sysctls=" ".join(_BSD_SYSCTLS), tools="|".join(TOOLS), boot_files=" ".join(_BSD_BOOT_FILES))
    return f"{BEGIN} {depth}\n{_FUNCTIONS}{body}printf '@ end\\n'\n"

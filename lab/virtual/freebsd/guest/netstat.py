"""netstat -i, -I, -r, -s and -an, and sockstat: counters of interfaces and of UDP, routes, and sockets.

What an address has counted by itself is not known below: its columns say 0.
"""

from __future__ import annotations

from getopt import GetoptError, getopt

import links
import routes
from below import Refusal, read, run

_COLUMNS = ("Ipkts", "Ierrs", "Idrop", "Ibytes", "Opkts", "Oerrs", "Obytes", "Coll", "Drop")
_BYTES, _DROP = ("Ibytes", "Obytes"), ("Drop",)
_FILES = {
    "Ipkts": "rx_packets",
    "Ierrs": "rx_errors",
    "Idrop": "rx_dropped",
    "Ibytes": "rx_bytes",
    "Opkts": "tx_packets",
    "Oerrs": "tx_errors",
    "Obytes": "tx_bytes",
    "Coll": "collisions",
    "Drop": "tx_dropped",
}


def netstat(arguments: list[str]) -> int:
    try:
        pairs, rest = getopt(arguments, "abdinsWhrI:f:p:")
    except GetoptError as error:
        raise Refusal(f"netstat: illegal option -- {error.opt}\n{_USAGE}") from error
    options = {name for name, _ in pairs}
    if rest:
        raise Refusal(_USAGE)
    if "-r" in options and not options - {"-r", "-n", "-W", "-f"}:
        routes.show(dict(pairs).get("-f"), wide="-W" in options)
        return 0
    if options == {"-s", "-p"} and ("-p", "udp") in pairs:
        return _udp()
    if not options & {"-i", "-I"}:
        if "-a" in options:
            return _sockets()
        raise Refusal(_USAGE)
    iface = next((value for name, value in pairs if name == "-I"), None)
    chosen = [iface] if iface is not None else links.names()
    columns = [
        name for name in _COLUMNS if ("-b" in options or name not in _BYTES) and ("-d" in options or name not in _DROP)
    ]
    rows = [row for name in chosen if links.exists(name) for row in _rows(name, columns)]
    _print(columns, rows, wide="-W" in options)
    return 0


_USAGE = (
    "usage: netstat [-AaLnSTWx] [-f protocol_family | -p protocol]\n               [-M core] [-N system]\n"
    "       netstat -r [-AanW] [-f address_family] [-M core] [-N system]"
)


def _rows(iface: str, columns: list[str]) -> list[list[str]]:
    """The row of the link, and one of each address."""
    mtu, down = links.mtu(iface), "" if links.is_up(iface) else "*"
    mac = iface if iface == links.LOOPBACK else links.value(iface, "address")
    counted = {name: links.value(iface, f"statistics/{_FILES[name]}") for name in columns}
    if "Idrop" in counted:
        lost = int(counted["Idrop"] or 0) + int(links.value(iface, "statistics/rx_missed_errors") or 0)
        counted["Idrop"] = str(lost)
    name = f"{iface}{down}"
    rows = [[name, mtu, f"<Link#{links.index(iface)}>", mac, *(counted[column] for column in columns)]]
    for entry in links.addresses(iface):
        network, address = _network(entry.address, entry.length), entry.address
        if entry.scope == "link":
            network, address = f"fe80::%{iface}/{entry.length}", f"{address}%{iface}"
        values = ["0" if column in ("Ipkts", "Ibytes", "Opkts", "Obytes") else "-" for column in columns]
        rows.append([name, "-", network, address, *values])
    return rows


def _network(address: str, length: int) -> str:
    if ":" in address:
        return f"{address.partition('::')[0]}::/{length}" if "::" in address else f"{address}/{length}"
    value = int.from_bytes(bytes(int(part) for part in address.split(".")), "big")
    value &= (0xFFFFFFFF << (32 - length)) & 0xFFFFFFFF
    return ".".join(str(value >> shift & 255) for shift in (24, 16, 8, 0)) + f"/{length}"


def _print(columns: list[str], rows: list[list[str]], *, wide: bool) -> None:
    """Texts are cut to the width of their column unless all is wanted."""
    limits = (5, 6, 13, 17)
    heads = ["Name", "Mtu", "Network", "Address"]
    widths = [max([limit, *(len(row[index]) for row in rows)]) if wide else limit for index, limit in enumerate(limits)]
    numbers = [
        max([9 if "bytes" in column else 8 if column.endswith("pkts") else 5, *(len(row[index]) for row in rows)])
        for index, column in enumerate(columns, 4)
    ]
    for row in [[*heads, *columns], *rows]:
        cells = [f"{row[0][: widths[0]]:<{widths[0]}}", f"{row[1]:>{widths[1]}}"]
        cells += [f"{row[index][: widths[index]]:<{widths[index]}}" for index in (2, 3)]
        cells += [f"{text:>{width}}" for text, width in zip(row[4:], numbers, strict=True)]
        print(" ".join(cells))


def _udp() -> int:
    """Print the counters of UDP, in the words of ``udp_stats`` (usr.bin/netstat/inet.c)."""
    rows = [line.split() for line in (read("/proc/net/snmp") or "").splitlines() if line.startswith("Udp:")]
    counts = dict(zip(rows[0][1:], map(int, rows[1][1:]), strict=True))
    lost = ("InCsumErrors", "NoPorts", "RcvbufErrors")
    received = counts["InDatagrams"] + sum(counts[name] for name in lost)
    print("udp:")
    for number, what in (
        (received, "datagrams received"),
        (counts["InCsumErrors"], "with bad checksum"),
        (counts["NoPorts"], "dropped due to no socket"),
        (counts["RcvbufErrors"], "dropped due to full socket buffers"),
        (counts["InDatagrams"], "delivered"),
        (counts["OutDatagrams"], "datagrams output"),
    ):
        print(f"\t{number} {what if number != 1 else what.replace('datagrams', 'datagram')}")
    return 0


def listed() -> list[tuple[str, str, str, str, str]]:
    """Protocol, state, local and foreign address, and the process, of every internet socket."""
    found = []
    for line in run("ss", "-Hantup")[1].splitlines():
        words = line.split()
        if len(words) >= 6:
            process = words[6] if len(words) > 6 else ""
            found.append((words[0], words[1], words[4], words[5], process))
    return found


def _sockets() -> int:
    print("Active Internet connections (including servers)")
    print(f"{'Proto':5} Recv-Q Send-Q {'Local Address':22} {'Foreign Address':22} (state)")
    states = {"LISTEN": "LISTEN", "ESTAB": "ESTABLISHED", "TIME-WAIT": "TIME_WAIT", "UNCONN": ""}
    for protocol, state, local, foreign, _ in listed():
        family = "6" if local.startswith("[") else "4"
        print(f"{protocol + family:5} {0:6} {0:6} {_dotted(local):22} {_dotted(foreign):22} {states.get(state, state)}")
    return 0


def _dotted(place: str) -> str:
    address, _, port = place.rpartition(":")
    return f"{address.strip('[]').replace('0.0.0.0', '*')}.{port}"


def sockstat(arguments: list[str]) -> int:
    try:
        pairs, rest = getopt(arguments, "46clLnqp:P:")
    except GetoptError as error:
        raise Refusal(f"usage: sockstat [-46cLlnqu] [-p ports] [-P protocols]: {error.opt}") from error
    if rest:
        raise Refusal("usage: sockstat [-46cLlnqu] [-j jid] [-p ports] [-P protocols]")
    options = dict(pairs)
    ports = options.get("-p", "").split(",") if "-p" in options else []
    protocols = options.get("-P", "tcp,udp").split(",")
    if "-q" not in options:
        print(f"{'USER':8} {'COMMAND':10} {'PID':5} FD PROTO  {'LOCAL ADDRESS':21} {'FOREIGN ADDRESS':21}")
    for protocol, state, local, foreign, process in listed():
        listening = state in ("LISTEN", "UNCONN")
        six = local.startswith("[")
        if ("-l" in options and not listening) or ("-c" in options and listening) or protocol not in protocols:
            continue
        if ("-4" in options and "-6" not in options and six) or ("-6" in options and "-4" not in options and not six):
            continue
        if ports and local.rpartition(":")[2] not in ports:
            continue
        name, pid, number = process_of(process)
        places = [place.replace("[", "").replace("]", "").replace("0.0.0.0", "*") for place in (local, foreign)]
        print(
            f"{'root':8} {name:10} {pid:5} {number:2} {protocol + ('6' if six else '4'):6} {places[0]:21} {places[1]}"
        )
    return 0


def process_of(text: str) -> tuple[str, str, str]:
    """``users:(("iperf3",pid=501,fd=3))``."""
    if not text:
        return "?", "?", "?"
    name = text.partition('(("')[2].partition('"')[0]
    return name, text.partition("pid=")[2].partition(",")[0], text.partition("fd=")[2].partition(")")[0]

"""The processes of a bench: started, found again, ended.

Every process carries ``VBENCH`` (the bench's folder) and ``VBENCH_PART`` in its environment. That is its identity: it
is found by it after the loss of any pid file or of any other part, and nothing without it is ever touched.
"""

from __future__ import annotations

import json
import os
import selectors
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO

import process
import uplinks
from identity import Identity
from layout import IPMI_PORT, RAW_CONSOLE_PORT, REDFISH_PORT, RFC2217_PORT, Bench, Server
from wait import until

HERE = Path(__file__).resolve().parent
START_S = 15.0
TERM_S = 3.0
_OWN = ("VBENCH_ACCEL", "VBENCH_QEMU")
_PASSED_ON = ("HOME", "LANG", "LD_LIBRARY_PATH", "LOGNAME", "PATH", "TMPDIR", "TZ", "USER", *_OWN)

_FOR_TOOLS = ("APT_CONFIG", "CURL_CA_BUNDLE", "SSL_CERT_DIR", "SSL_CERT_FILE", "TERM")
_PROXIES = ("all_proxy", "ftp_proxy", "http_proxy", "https_proxy", "no_proxy")


class PartError(Exception):
    """A part does not start, or does not end."""


@dataclass(frozen=True)
class Part:
    """A background process of the bench itself (the machines are started by their BMCs)."""

    name: str
    module: str
    config: dict[str, object]


def parts(bench: Bench, identity: Identity) -> list[Part]:
    """BMC of each server, console server, cables, switch."""
    return [
        *(Part(f"bmc-{server.role}", "bmc", _bmc(server, identity)) for server in bench.servers),
        Part("consoles", "consoles", _consoles(bench)),
        Part("cables", "cables", _cables(bench)),
        Part("switch", "switch", uplinks.config(bench, identity)),
    ]


def _bmc(server: Server, identity: Identity) -> dict[str, object]:
    users = (("admin", "VBENCH_BMC_PASSWORD", "administrator"), ("viewer", "VBENCH_BMC_VIEWER_PASSWORD", "user"))
    return {
        "name": server.role,
        "address": server.bmc_address,
        "ipmi_port": IPMI_PORT,
        "redfish_port": REDFISH_PORT,
        "tls_cert": str(identity.certificate),
        "tls_key": str(identity.certificate_key),
        "users": [{"name": n, "password": identity.secret(secret), "privilege": p} for n, secret, p in users],
        "run_dir": str(server.folder),
        "sel_file": str(server.folder / "sel.json"),
        "control_socket": str(server.folder / "bmc.control"),
    }


def _consoles(bench: Bench) -> dict[str, object]:
    servers = {
        server.role: {
            "serial": str(server.folder / "serial"),
            "qmp": str(server.qmp("console")),
            "address": server.console_address,
        }
        for server in bench.servers
    }
    log_folder = str(bench.folder / "console")
    return {"log_folder": log_folder, "rfc2217_port": RFC2217_PORT, "raw_port": RAW_CONSOLE_PORT, "servers": servers}


def _cables(bench: Bench) -> dict[str, object]:
    cables = {
        name: {
            "rate_mbps": ends[0][0].card.line_rate_mbps / ends[0][0].card.rate_scale,
            "paced": not ends[0][0].card.virtual,  # a virtual card keeps wire time itself
            "keeps_light": ends[0][0].card.keeps_light,
            "ends": [
                {"server": server.role, "port": port.name, "qemu_udp": port.qemu_udp, "panel_udp": port.panel_udp}
                | uplinks.cable_end(server, port)
                for server, port in ends
            ],
        }
        for name, ends in bench.cables.items()
    }
    servers = {
        server.role: {"qmp": str(server.qmp("cables")), "address": server.address, "outlet": str(server.outlet)}
        for server in bench.servers
    }
    return {
        "address": bench.panel_address,
        "switch_address": uplinks.switch_address(bench),
        "control_socket": str(bench.folder / "cables.control"),
        "state_file": str(bench.folder / "cables.json"),
        "servers": servers,
        "cables": cables,
    }


def running(bench: Bench) -> dict[str, list[process.Pid]]:
    """Find the live processes of this bench that belong to this user.

    The processes of others are not looked at, also by root, who may read their environment: anybody could give a
    process the bench's mark.

    Returns:
        Part name -> its processes.
    """
    mark = f"VBENCH={bench.folder}".encode()
    found: dict[str, list[process.Pid]] = {}
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        try:
            if entry.stat().st_uid != os.geteuid():
                continue
            environment = (entry / "environ").read_bytes().split(b"\0")
            if mark not in environment:
                continue
            pid = process.pid_of(int(entry.name))
        except (PermissionError, FileNotFoundError, ProcessLookupError, process.ProcessError):
            continue  # another user's, or gone meanwhile, or a zombie
        name = next((item[12:].decode() for item in environment if item.startswith(b"VBENCH_PART=")), "unnamed")
        found.setdefault(name, []).append(pid)
    return found


def start(bench: Bench, wanted: list[Part]) -> None:
    """Start the parts side by side and wait until each says that it is ready.

    Raises:
        PartError: When one ends or stays silent; the message holds the end of its log.
    """
    (bench.folder / "log").mkdir(exist_ok=True)
    started = {part.name: _spawn(bench, part) for part in wanted}
    with selectors.DefaultSelector() as selector:
        for name, child in started.items():
            selector.register(_stdout(child), selectors.EVENT_READ, name)
        ready: set[str] = set()

        def all_ready() -> bool:
            for key, _ in selector.select(timeout=0):
                line = os.read(key.fd, 64)
                if not line.startswith(b"ready"):
                    raise PartError(f"{key.data} does not start: {_log_tail(bench, key.data)}")
                ready.add(key.data)
                selector.unregister(key.fileobj)
            return len(ready) == len(started)

        if started and not until(all_ready, within_s=START_S):
            silent = ", ".join(sorted(set(started) - ready))
            raise PartError(f"{silent}: not ready within {START_S:g} s: {_log_tail(bench, silent.split(', ')[0])}")


def _spawn(bench: Bench, part: Part) -> subprocess.Popen[bytes]:
    config = bench.folder / f"{part.name}.config"
    config.touch(mode=0o600)
    config.write_text(json.dumps(part.config, indent=1))
    environment = {
        **plain_environment(),
        "VBENCH": str(bench.folder),
        "VBENCH_PART": part.name,
        "PYTHONPATH": str(HERE),
    }
    with (bench.folder / "log" / f"{part.name}.log").open("ab") as log:
        return subprocess.Popen(
            [sys.executable, "-m", part.module, str(config)],
            cwd=bench.folder,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=log,
            start_new_session=True,
        )


def plain_environment() -> dict[str, str]:
    """Return the part of this process's environment that a part needs, and no secret of the lab or of a pipeline."""
    return {name: value for name, value in os.environ.items() if name in _PASSED_ON or name.startswith(("LC_", "XDG_"))}


def forget_secrets() -> None:
    """Remove from the environment of this process what neither a part nor a program that builds or looks needs."""
    plain = plain_environment()
    for name in set(os.environ) - set(plain) - set(_FOR_TOOLS):
        if name.lower() not in _PROXIES:
            del os.environ[name]


def _stdout(child: subprocess.Popen[bytes]) -> IO[bytes]:
    assert child.stdout is not None  # asked for by stdout=PIPE
    return child.stdout


def _log_tail(bench: Bench, name: str, size: int = 600) -> str:
    return (bench.folder / "log" / f"{name}.log").read_text(errors="replace")[-size:].strip() or "it wrote nothing"


def end(bench: Bench, names: Sequence[str]) -> None:
    """End those of the processes that run."""
    for name, pids in running(bench).items():
        if name in names:
            for pid in pids:
                process.end(pid, TERM_S)


def end_all(bench: Bench) -> list[str]:
    """End every process of the bench: the machines first, so that no BMC starts one again.

    Returns:
        Names of what was ended.
    """
    ended = []
    for name, pids in sorted(running(bench).items(), key=lambda item: not item[0].startswith("qemu")):
        for pid in pids:
            process.end(pid, TERM_S)
        ended.append(name)
    if left := running(bench):
        raise PartError(f"still running: {left}")
    return ended

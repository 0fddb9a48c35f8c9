"""A stand-in for QEMU: opens a QMP socket and reports what it received. Used by the tests of the BMC.

``qmp_standin.py SOCKET LOG [WAY...]``; ways: ``stubborn`` ignores quit, ``deaf`` never greets, ``rubbish`` sends no
JSON, ``hang-up`` closes after the greeting.
"""

from __future__ import annotations

import json
import socket
import sys
from pathlib import Path
from typing import IO, Any

GREETING = {"QMP": {"version": {"qemu": {"major": 7, "minor": 2, "micro": 0}, "package": ""}, "capabilities": []}}
EVENT = {"event": "STANDIN", "data": {}, "timestamp": {"seconds": 0, "microseconds": 0}}
ENDING = {"quit", "system_powerdown"}


def serve(stream: IO[str], log: Path, ways: set[str]) -> bool:
    """Serve one client.

    Returns:
        Whether the machine ends.
    """

    def say(message: dict[str, Any]) -> None:
        stream.write(json.dumps(message) + "\n")
        stream.flush()

    if "rubbish" in ways:
        stream.write("QEMU, yes\n")
        stream.flush()
    say(GREETING)
    if "hang-up" in ways:
        return False
    for line in stream:
        command = json.loads(line)["execute"]
        say(EVENT)
        if command == "bad":
            say({"error": {"class": "CommandNotFound", "desc": "The command bad has not been found"}})
            continue
        if command not in ("qmp_capabilities", "query-status"):
            with log.open("a") as file:
                file.write(command + "\n")
        say({"return": {"asked": json.loads(line).get("arguments", {})}})
        if command in ENDING and not (command == "quit" and "stubborn" in ways):
            return True
    return False


def main() -> None:
    path, log, ways = Path(sys.argv[1]), Path(sys.argv[2]), set(sys.argv[3:])
    path.unlink(missing_ok=True)
    server = socket.socket(socket.AF_UNIX)
    server.bind(f"{path}.new")
    server.listen(5)
    Path(f"{path}.new").rename(path)  # whoever sees it can connect
    ended = False
    while not ended:
        connection, _ = server.accept()
        try:
            with connection, connection.makefile("rw") as stream:
                if "deaf" in ways:
                    stream.readline()
                else:
                    ended = serve(stream, log, ways)
        except ConnectionError:
            continue  # the client has seen enough


if __name__ == "__main__":
    main()

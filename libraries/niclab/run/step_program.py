"""The common part of programs that work in steps: runs on Linux, sent there as source, Python 3.7 and its library only.

``FOLDER SECONDS`` prints ``ready PID`` and ends after SECONDS. At each SIGUSR1 it reads ``FOLDER/plan`` (JSON), does
what that says, and writes ``FOLDER/result`` (JSON).
"""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any


def work(folder: Path, seconds: float, do: Callable[[dict[str, Any]], dict[str, Any]]) -> None:
    """Do steps until the time is over.

    Args:
        folder: Where it finds what it is to do.
        seconds: Time in s.
        do: Does a step, and returns what it says of it.
    """
    signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGUSR1])
    signal.alarm(int(seconds))
    print("ready", os.getpid(), flush=True)
    while True:
        signal.sigwait([signal.SIGUSR1])
        try:
            said = do(json.loads((folder / "plan").read_text()))
        except Exception as error:  # noqa: BLE001 - whatever it is, the controller reports it
            said = {"error": f"{type(error).__name__}: {error}"}
        (folder / "new").write_text(json.dumps(said) + "\n")
        (folder / "new").replace(folder / "result")

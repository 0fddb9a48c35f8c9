"""Tells when its server stalls: runs there, sent as source, Python 3.7 and its library only.

``FILE PERIOD_MS LEAST_MS SECONDS``: writes ``pid`` and its process to FILE and prints ``ready``; sleeps PERIOD_MS again
and again, and writes a line ``stood MS`` each time that it was kept from running for LEAST_MS and more. Ends after
SECONDS.
"""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path


def watch(file: str, period_s: float, least_s: float, seconds: float) -> None:
    with Path(file).open("w", buffering=1) as told:  # each line at once
        print("pid", os.getpid(), file=told)
        print("ready", flush=True)
        last = time.monotonic()
        end = last + seconds
        while last < end:
            time.sleep(period_s)  # noqa: TID251 - on the server there is no niclab.core.wait
            now = time.monotonic()
            if now - last - period_s >= least_s:
                print("stood", round(1000 * (now - last - period_s)), file=told)
            last = now


if __name__ == "__main__":
    watch(sys.argv[1], float(sys.argv[2]) / 1000, float(sys.argv[3]) / 1000, float(sys.argv[4]))

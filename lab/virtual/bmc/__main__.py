"""``python -m bmc CONFIG.json``: run one BMC until SIGTERM or SIGINT. The machine is left as it is.

Prints ``ready`` on stdout when all ports are open; logs to stderr. Exit status 0 after a signal, 2 for a wrong
configuration, in which case stderr says in one line what is wrong.
"""

from __future__ import annotations

import argparse
import asyncio
import logging
import signal
import sys
from pathlib import Path

from bmc.config import Config, ConfigError, load
from bmc.machine import MachineError
from bmc.qemu import QemuMachine
from bmc.server import serving
from bmc.service import Bmc


async def run(config: Config) -> None:
    """Serve until a signal comes."""
    loop, stop = asyncio.get_running_loop(), asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop.set)
    async with serving(Bmc(config, QemuMachine(config.run_dir, config.cycle_s))):
        print("ready", flush=True)
        await stop.wait()


def main() -> int:
    """Read the command line, run, tell the exit status."""
    parser = argparse.ArgumentParser(prog="python -m bmc", description="Run one virtual BMC until SIGTERM.")
    parser.add_argument("config", type=Path, metavar="CONFIG.json", help="see bmc/config.py for the fields")
    arguments = parser.parse_args()
    logging.basicConfig(
        level=logging.INFO,
        stream=sys.stderr,
        format="%(asctime)s.%(msecs)03d %(levelname)s %(name)s: %(message)s",
        datefmt="%Y-%m-%dT%H:%M:%S",
    )
    try:
        asyncio.run(run(load(arguments.config)))
    except (ConfigError, MachineError) as error:
        print(f"bmc: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())

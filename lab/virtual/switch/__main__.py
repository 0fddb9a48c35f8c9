"""Start the switch: ``python -m switch CONFIG.json``; ``ready`` on standard output says that it answers."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

from control import serve
from switch import config, settings
from switch.agent import open_agent
from switch.device import Switch
from switch.requests import Requests


async def main(settings_file: Path) -> None:
    told = settings.load(settings_file)
    switch = Switch(told, config.load(told.config_file))
    requests = Requests(switch)
    listening = await serve(told.control_socket, requests.handle)
    engine = open_agent(switch)
    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(switch.run())
        await asyncio.sleep(0)
        print("ready", flush=True)
    del engine, listening  # they live as long as the switch


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1])))

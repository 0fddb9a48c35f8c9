"""All of one BMC at work: IPMI, Redfish, the control socket and the watch over the machine."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager, suppress

import control
from bmc.config import ConfigError
from bmc.control import ControlPanel
from bmc.ipmi.commands.app import guid_bytes
from bmc.ipmi.lan import Lan
from bmc.ipmi.sessions import Sessions
from bmc.redfish import https
from bmc.redfish.app import App
from bmc.service import Bmc


@asynccontextmanager
async def serving(bmc: Bmc) -> AsyncIterator[Sessions]:
    """Inside, all ports are open; yields the IPMI sessions.

    Raises:
        ConfigError: When one cannot be opened; the message names field and value.
    """
    config, loop = bmc.config, asyncio.get_running_loop()
    context = https.tls_context(config.tls_cert, config.tls_key)
    async with AsyncExitStack() as stack:
        try:
            what = f"address {config.address}, ipmi_port {config.ipmi_port}"
            sessions = Sessions(config.users, guid_bytes(bmc.guid))
            transport, _ = await loop.create_datagram_endpoint(
                lambda: Lan(bmc, sessions), local_addr=(str(config.address), config.ipmi_port)
            )
            stack.callback(transport.close)
            what = f"address {config.address}, redfish_port {config.redfish_port}"
            server = await https.serve(App(bmc).handle, config.address, config.redfish_port, context)
            stack.callback(server.close)
            what = f"control_socket {config.control_socket}"
            control_server = await control.serve(config.control_socket, ControlPanel(bmc).handle)
            stack.callback(control_server.close)
        except OSError as error:
            raise ConfigError(f"{what}: cannot be opened: {error}") from error
        watch = asyncio.create_task(bmc.watch())
        try:
            yield sessions
        finally:
            watch.cancel()
            with suppress(asyncio.CancelledError):
                await watch

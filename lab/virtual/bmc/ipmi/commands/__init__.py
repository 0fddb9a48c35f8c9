"""The IPMI commands, one module a subject, and their execution: privilege, length, errors."""

from __future__ import annotations

import inspect
import logging

from bmc.ipmi.commands import app, chassis, sensors, sessions, storage, transport
from bmc.ipmi.commands.table import Level, NetFn, Request, Table
from bmc.ipmi.completion import Completion, RefusedError
from bmc.ipmi.rmcp import Message
from bmc.ipmi.sessions import Sessions
from bmc.machine import MachineError
from bmc.sel import SelFullError
from bmc.service import Bmc, BusyError, MachineIsOffError

__all__ = ["COMMANDS", "NetFn", "Request", "execute", "execute_outside_of_sessions"]

log = logging.getLogger(__name__)

COMMANDS: Table = {
    **app.COMMANDS,
    **sessions.COMMANDS,
    **chassis.COMMANDS,
    **sensors.COMMANDS,
    **storage.COMMANDS,
    **transport.COMMANDS,
}

BMC_LUN = 0


async def execute(message: Message, request: Request) -> bytes:
    """Carry out a request.

    Returns:
        Completion code and data.
    """
    try:
        return bytes([Completion.OK]) + await _execute(message, request)
    except RefusedError as error:
        return bytes([error.completion])
    except MachineIsOffError:
        return bytes([Completion.NOT_IN_THIS_STATE])
    except BusyError:
        return bytes([Completion.NODE_BUSY])
    except SelFullError:
        return bytes([Completion.OUT_OF_SPACE])
    except MachineError as error:
        log.error("command %#x %#x: %s", message.netfn, message.command, error)
        return bytes([Completion.UNSPECIFIED])
    except Exception:
        log.exception("command %#x %#x broke with %s", message.netfn, message.command, message.data.hex())
        return bytes([Completion.UNSPECIFIED])


async def execute_outside_of_sessions(message: Message, bmc: Bmc, sessions_: Sessions) -> bytes:
    """Carry out a request that comes without a session: only the commands of level NONE."""
    return await execute(message, Request(bmc, message.data, None, sessions_))


async def _execute(message: Message, request: Request) -> bytes:
    command = COMMANDS.get((message.netfn, message.command))
    if request.session is None and (command is None or command.level is not Level.NONE):
        raise RefusedError(Completion.INSUFFICIENT_PRIVILEGE)  # strangers do not learn what there is
    if message.luns[0] != BMC_LUN or command is None:
        raise RefusedError(Completion.INVALID_COMMAND)
    if request.level < command.level:
        raise RefusedError(Completion.INSUFFICIENT_PRIVILEGE)
    shortest, longest = command.lengths
    if not shortest <= len(message.data) <= longest:
        raise RefusedError(Completion.WRONG_LENGTH)
    answer = command.handler(request)
    return await answer if inspect.isawaitable(answer) else answer

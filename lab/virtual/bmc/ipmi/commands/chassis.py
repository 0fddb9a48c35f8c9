"""Power, boot device, identify light (IPMI chapter 28)."""

from __future__ import annotations

import math

from bmc.ipmi.commands.table import Command, Level, NetFn, Request, Table
from bmc.ipmi.completion import Completion, RefusedError
from bmc.machine import PowerAction
from bmc.service import IDENTIFY_DEFAULT_S
from bmc.settings import RestorePolicy

ACTIONS = {
    0: PowerAction.OFF,
    1: PowerAction.ON,
    2: PowerAction.CYCLE,
    3: PowerAction.RESET,
    4: PowerAction.NMI,
    5: PowerAction.SOFT_SHUTDOWN,
}
"""IPMI table 28-4."""

_PARAMETER_VERSION = 1
_SET_IN_PROGRESS, _CLEAR_CONDITIONS, _INFO_ACKNOWLEDGE, _BOOT_FLAGS = 0, 3, 4, 5
_SEQUENCING = {_SET_IN_PROGRESS: 1, _CLEAR_CONDITIONS: 1, _INFO_ACKNOWLEDGE: 2}
"""Boot parameters a client writes around the boot flags, with their lengths; they have no effect here and read as 0."""
_NO_POLICY_CHANGE = 3
_LUN_0_OF_BMC = 0x20


def _capabilities(_request: Request) -> bytes:
    provides_nmi = 0x04
    return bytes([provides_nmi, _LUN_0_OF_BMC, _LUN_0_OF_BMC, _LUN_0_OF_BMC, _LUN_0_OF_BMC])


def _status(request: Request) -> bytes:
    bmc = request.bmc
    on = int(bmc.machine.is_on())
    left_s = bmc.identify_left_s
    identify = 0 if left_s == 0 else 2 if math.isinf(left_s) else 1
    identify_supported = 0x40
    return bytes([bmc.settings.now.restore_policy << 5 | on, 0, identify_supported | identify << 4])


async def _control(request: Request) -> bytes:
    action = ACTIONS.get(request.data[0] & 0x0F)
    if action is None:
        raise RefusedError(Completion.INVALID_FIELD)
    await request.bmc.power(action)
    return b""


def _identify(request: Request) -> bytes:
    seconds: float = request.data[0] if request.data else IDENTIFY_DEFAULT_S
    if len(request.data) == 2 and request.data[1] & 1:
        seconds = math.inf
    request.bmc.identify(seconds)
    return b""


def _set_restore_policy(request: Request) -> bytes:
    wanted = request.data[0] & 0x07
    if wanted != _NO_POLICY_CHANGE:
        if wanted not in list(RestorePolicy):
            raise RefusedError(Completion.INVALID_FIELD)
        request.bmc.settings.set_restore_policy(RestorePolicy(wanted))
    all_three = 0x07
    return bytes([all_three])


def _restart_cause(request: Request) -> bytes:
    channel = 1
    return bytes([request.bmc.restart_cause, channel])


def _set_boot_option(request: Request) -> bytes:
    number, value = request.data[0] & 0x7F, request.data[1:]
    if number == _BOOT_FLAGS:
        if len(value) != 5:
            raise RefusedError(Completion.WRONG_LENGTH)
        try:
            request.bmc.settings.set_boot_flags(value)
        except ValueError as error:
            raise RefusedError(Completion.INVALID_FIELD) from error
    elif number not in _SEQUENCING:
        raise RefusedError(Completion.PARAMETER_NOT_SUPPORTED)
    elif len(value) != _SEQUENCING[number]:
        raise RefusedError(Completion.WRONG_LENGTH)
    return b""


def _get_boot_option(request: Request) -> bytes:
    number = request.data[0] & 0x7F
    if number == _BOOT_FLAGS:
        value = bytes.fromhex(request.bmc.settings.now.boot_flags)
    elif number in _SEQUENCING:
        value = bytes(_SEQUENCING[number])
    else:
        raise RefusedError(Completion.PARAMETER_NOT_SUPPORTED)
    return bytes([_PARAMETER_VERSION, number]) + value


COMMANDS: Table = {
    (NetFn.CHASSIS, 0x00): Command(_capabilities, Level.USER, (0, 0)),
    (NetFn.CHASSIS, 0x01): Command(_status, Level.USER, (0, 0)),
    (NetFn.CHASSIS, 0x02): Command(_control, Level.OPERATOR, (1, 1)),
    (NetFn.CHASSIS, 0x04): Command(_identify, Level.OPERATOR, (0, 2)),
    (NetFn.CHASSIS, 0x06): Command(_set_restore_policy, Level.OPERATOR, (1, 1)),
    (NetFn.CHASSIS, 0x07): Command(_restart_cause, Level.USER, (0, 0)),
    (NetFn.CHASSIS, 0x08): Command(_set_boot_option, Level.OPERATOR, (1, 17)),
    (NetFn.CHASSIS, 0x09): Command(_get_boot_option, Level.OPERATOR, (3, 3)),
}

"""The routes of the service: the action of each path, and who may take it."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Callable
from http import HTTPStatus
from typing import TypeVar

from bmc.config import Privilege, User
from bmc.machine import MachineError
from bmc.redfish import resources
from bmc.redfish.accounts import Accounts, RedfishSession, TooManySessionsError
from bmc.redfish.https import HttpRequest, HttpResponse, SilenceError
from bmc.redfish.messages import BaseMessage, RefusedError
from bmc.redfish.resources import BOOT_LIFETIMES, BOOT_TARGETS, RESET_TYPES, Json
from bmc.service import Bmc, BusyError, MachineIsOffError

log = logging.getLogger(__name__)

RETRY_AFTER_S = 1
_DROP_POLL_S = 0.1
_MAY_CONTROL = {Privilege.OPERATOR, Privilege.ADMINISTRATOR}
T = TypeVar("T")
_REALM = {"WWW-Authenticate": 'Basic realm="BMC"'}


class App:
    """Redfish for one BMC; :meth:`handle` answers requests."""

    def __init__(self, bmc: Bmc) -> None:
        self._bmc = bmc
        self._accounts = Accounts(bmc.config.users)

    async def handle(self, request: HttpRequest) -> HttpResponse:
        """Answer one request."""
        if self._bmc.faults.delay_s:
            await asyncio.sleep(self._bmc.faults.delay_s)
        if self._bmc.faults.drop:
            while self._bmc.faults.drop:  # silence, until the fault is taken back; the request is not carried out
                await asyncio.sleep(_DROP_POLL_S)
            raise SilenceError
        try:
            if self._bmc.faults.redfish_500:
                raise RefusedError(BaseMessage.InternalError)
            return await self._route(request)
        except RefusedError as error:
            return error.response()
        except MachineIsOffError:
            return RefusedError(BaseMessage.ResourceInStandby).response()
        except BusyError:
            retry = {"Retry-After": str(RETRY_AFTER_S)}
            unavailable = BaseMessage.ServiceTemporarilyUnavailable
            return RefusedError(unavailable, str(RETRY_AFTER_S), headers=retry).response()
        except MachineError as error:
            log.error("%s %s: %s", request.method, request.path, error)
            return RefusedError(BaseMessage.InternalError).response()

    async def _route(self, request: HttpRequest) -> HttpResponse:
        method, path = request.method, request.path
        if (method, path) == ("GET", "/redfish"):
            return HttpResponse(HTTPStatus.OK, {"v1": f"{resources.ROOT}/"})
        if (method, path) == ("GET", resources.ROOT):
            return HttpResponse(HTTPStatus.OK, resources.service_root(self._bmc))
        if (method, path) == ("POST", resources.SESSIONS):
            return self._log_in(_json(request))
        user = self._accounts.who(request.headers)
        if user is None:
            raise RefusedError(BaseMessage.NoValidSession, headers=_REALM)
        if method == "GET":
            return HttpResponse(HTTPStatus.OK, self._get(path))
        if method == "DELETE" and path.startswith(f"{resources.SESSIONS}/"):
            return self._log_out(path, user)
        if (method, path) == ("POST", resources.RESET):
            return await self._reset(_json(request), user)
        if (method, path) == ("POST", resources.CLEAR_LOG):
            return self._clear_log(_json(request), user)
        if (method, path) == ("PATCH", resources.SYSTEM):
            return self._set_boot(_json(request), user)
        if path in (resources.RESET, resources.CLEAR_LOG):
            raise RefusedError(BaseMessage.OperationNotAllowed, headers={"Allow": "POST"})
        self._get(path)  # 404 before 405
        allowed = "GET, PATCH" if path == resources.SYSTEM else "GET"
        raise RefusedError(BaseMessage.OperationNotAllowed, headers={"Allow": allowed})

    # -- reading

    def _get(self, path: str) -> Json:
        bmc = self._bmc
        fixed: dict[str, Callable[[], Json]] = {
            "/redfish": lambda: {"v1": f"{resources.ROOT}/"},
            resources.ROOT: lambda: resources.service_root(bmc),
            resources.SYSTEMS: lambda: resources.collection(path, "ComputerSystem", [resources.SYSTEM]),
            resources.MANAGERS: lambda: resources.collection(path, "Manager", [resources.MANAGER]),
            resources.CHASSES: lambda: resources.collection(path, "Chassis", [resources.CHASSIS]),
            resources.SYSTEM: lambda: resources.system(bmc),
            resources.MANAGER: lambda: resources.manager(bmc),
            resources.CHASSIS: lambda: resources.chassis(bmc),
            f"{resources.CHASSIS}/Thermal": lambda: resources.thermal(bmc),
            f"{resources.CHASSIS}/Power": lambda: resources.power(bmc),
            resources.LOGS: lambda: resources.collection(path, "LogService", [resources.SEL]),
            resources.SEL: lambda: resources.log_service(bmc),
            resources.ENTRIES: lambda: resources.entries(bmc),
            resources.SESSION_SERVICE: resources.session_service,
            resources.SESSIONS: lambda: resources.collection(path, "Session", self._session_paths()),
        }
        if path in fixed:
            return fixed[path]()
        parent, _, last = path.rpartition("/")
        if parent == resources.ENTRIES:
            for record in bmc.sel.records:
                if str(record.record_id) == last:
                    return resources.entry(bmc, record)
        if parent == resources.SESSIONS and (session := self._session(last)):
            return resources.session(session.session_id, session.user.name)
        raise RefusedError(BaseMessage.ResourceMissingAtURI, path)

    def _session_paths(self) -> list[str]:
        return [f"{resources.SESSIONS}/{session.session_id}" for session in self._accounts.sessions]

    def _session(self, session_id: str) -> RedfishSession | None:
        return next((session for session in self._accounts.sessions if session.session_id == session_id), None)

    # -- sessions

    def _log_in(self, body: Json) -> HttpResponse:
        name, password = _text(body, "UserName"), _text(body, "Password")
        user = self._accounts.check(name, password)
        if user is None:
            log.info("Redfish: user %r refused", name)
            raise RefusedError(BaseMessage.NoValidSession, headers=_REALM)
        try:
            session = self._accounts.open(user)
        except TooManySessionsError as error:
            raise RefusedError(BaseMessage.SessionLimitExceeded) from error
        content = resources.session(session.session_id, user.name)
        headers = {"X-Auth-Token": session.token, "Location": content["@odata.id"]}
        return HttpResponse(HTTPStatus.CREATED, content, headers)

    def _log_out(self, path: str, user: User) -> HttpResponse:
        session = self._session(path.rpartition("/")[2])
        if session is None:
            raise RefusedError(BaseMessage.ResourceMissingAtURI, path)
        if session.user != user and user.privilege is not Privilege.ADMINISTRATOR:
            raise RefusedError(BaseMessage.InsufficientPrivilege)
        self._accounts.close(session.session_id)
        return HttpResponse(HTTPStatus.NO_CONTENT)

    # -- changes

    async def _reset(self, body: Json, user: User) -> HttpResponse:
        _need_control(user)
        name = "ComputerSystem.Reset"
        for parameter in body:
            if parameter != "ResetType":
                raise RefusedError(BaseMessage.ActionParameterUnknown, name, parameter)
        if "ResetType" not in body:
            raise RefusedError(BaseMessage.ActionParameterMissing, name, "ResetType")
        action = RESET_TYPES.get(str(body["ResetType"]))
        if action is None:
            raise RefusedError(BaseMessage.ActionParameterNotSupported, f"ResetType={body['ResetType']}", name)
        await self._bmc.power(action)
        return HttpResponse(HTTPStatus.NO_CONTENT)

    def _clear_log(self, body: Json, user: User) -> HttpResponse:
        _need_control(user)
        for parameter in body:
            raise RefusedError(BaseMessage.ActionParameterUnknown, "LogService.ClearLog", parameter)
        self._bmc.sel.clear()
        return HttpResponse(HTTPStatus.NO_CONTENT)

    def _set_boot(self, body: Json, user: User) -> HttpResponse:
        _need_control(user)
        known = resources.system(self._bmc)
        for name in body:
            if name != "Boot":
                raise RefusedError(
                    BaseMessage.PropertyNotWritable if name in known else BaseMessage.PropertyUnknown, name
                )
        boot = body.get("Boot")
        if boot is None:
            raise RefusedError(BaseMessage.PropertyMissing, "Boot")
        if not isinstance(boot, dict):
            raise RefusedError(BaseMessage.PropertyValueTypeError, str(boot), "Boot")
        now = self._bmc.settings.now
        device, lifetime = now.boot_device, now.boot_lifetime
        for name, value in boot.items():
            if name == "BootSourceOverrideTarget":
                device = _one_of(BOOT_TARGETS, value, name)
            elif name == "BootSourceOverrideEnabled":
                lifetime = _one_of(BOOT_LIFETIMES, value, name)
            else:
                raise RefusedError(BaseMessage.PropertyUnknown, f"Boot/{name}")
        if not boot:
            raise RefusedError(BaseMessage.PropertyMissing, "Boot/BootSourceOverrideTarget")
        self._bmc.settings.set_boot(device, lifetime)
        return HttpResponse(HTTPStatus.NO_CONTENT)


def _need_control(user: User) -> None:
    if user.privilege not in _MAY_CONTROL:
        raise RefusedError(BaseMessage.InsufficientPrivilege)


def _json(request: HttpRequest) -> Json:
    """The body, which must be a JSON object; an action without parameters may have none."""
    if not request.body:
        return {}
    try:
        content = json.loads(request.body)
    except ValueError as error:
        raise RefusedError(BaseMessage.MalformedJSON) from error
    if not isinstance(content, dict):
        raise RefusedError(BaseMessage.MalformedJSON)
    return content


def _text(body: Json, name: str) -> str:
    value = body.get(name)
    if value is None:
        raise RefusedError(BaseMessage.PropertyMissing, name)
    if not isinstance(value, str):
        raise RefusedError(BaseMessage.PropertyValueTypeError, type(value).__name__, name)
    return value


def _one_of(choices: dict[str, T], value: object, name: str) -> T:
    if not isinstance(value, str) or value not in choices:
        raise RefusedError(BaseMessage.PropertyValueNotInList, str(value), name)
    return choices[value]

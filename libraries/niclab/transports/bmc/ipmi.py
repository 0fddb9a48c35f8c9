"""IPMI 2.0 over LAN (RMCP+), in pure Python by python-ipmi 0.6.1.

Four things of the library are dealt with here: it keeps no deadline over a whole call, it logs in only to BMCs that
answer a ping (both :class:`_Lan`), it makes the keys of cipher suite 17 in a way no BMC does (:class:`_Keys`), and at
DEBUG level it logs the session with its password (its logger is silenced below WARNING).
"""

from __future__ import annotations

import atexit
import contextlib
import hmac
import logging
import threading
import weakref
from collections.abc import Callable, Iterator
from typing import Any, TypeVar

import pyipmi
from pyipmi import errors
from pyipmi.interfaces.rmcpplus import AUTH_ALGORITHMS, RmcpPlus, SessionKeys
from pyipmi.msgs import constants
from pyipmi.sdr import SdrFullSensorRecord

from niclab.core.verdict import BenchFault, NotApplicable
from niclab.core.wait import Deadline, pause
from niclab.transports import AuthenticationFailed, ConnectionLost
from niclab.transports.bmc import ipmi_records
from niclab.transports.bmc.bmc import (
    ASK_AGAIN_EVERY_S,
    NOT_NOW_WITHIN_S,
    Bmc,
    CommandRefused,
    InsufficientPrivilege,
    NotNow,
    PowerAction,
    PowerState,
    SelEntry,
    Sensor,
    SensorStatus,
    plain,
)
from niclab.transports.bmc.ipmi_records import DeviceId, IpmiEndpoint, Privilege

__all__ = ["DeviceId", "Ipmi", "IpmiEndpoint", "Privilege"]

T = TypeVar("T")

CALL_WITHIN_S = 5.0
"""Deadline of a call, logging in included."""
LIST_WITHIN_S = 120.0
"""Deadline of reading all of the sensors or the log; a BMC that stops answering ends it sooner."""
IDLE_S = 30.0
"""A session that was idle for so long is not used again: BMCs end it after 60 s (IPMI v2.0, 6.12.15)."""

_ANSWER_WITHIN_S = 1.2
_RETRIES = 2  # of a lost datagram, with the same sequence number, so that a BMC carries out a request once
_CLOSE_WITHIN_S = 0.5
_BMC_ADDRESS = 0x20
_KEY_CONSTANT_BYTES = 20
_OWNER_LUN_BYTE = 6  # of a sensor record (table 43-1); the upper half is the channel of the owner

_LOGIN_STATUS = {
    constants.MSC_UNAUTHORIZED_NAME,
    constants.MSC_INVALID_NAME_LENGTH,
    constants.MSC_INVALID_INTEGRITY_CHECK_VALUE,
}
_ROLE_STATUS = {constants.MSC_INVALID_ROLE, constants.MSC_UNAUTHORIZED_ROLE}
_SUITE_STATUS = {
    constants.MSC_INVALID_AUTHENTICATION_ALGORITHM,
    constants.MSC_INVALID_INTEGRITY_ALGORITHM,
    constants.MSC_INVALID_CONFIDENTIALITY_ALGORITHM,
    constants.MSC_NO_MATCHING_AUTHENTICATION_PAYLOAD,
    constants.MSC_NO_MATCHING_INTEGRITY_PAYLOAD,
    constants.MSC_NO_CIPHER_SUITE_MATCH,
}
_NO_ROOM_STATUS = {constants.MSC_INSUFFICIENT_RESOURCES, constants.MSC_INSUFFICIENT_RESOURCES_FOR_ROLE}
_CHASSIS_CONTROL = (constants.NETFN_CHASSIS, constants.CMDID_CHASSIS_CONTROL)
_NO_LEVEL = (0x80, 0x81)  # of Set Session Privilege Level (table 22-21): not for this user, or this channel
_NO_READING = {
    constants.CC_REQ_DATA_NOT_PRESENT,
    constants.CC_RESP_COULD_NOT_BE_PRV,
    constants.CC_NOT_SUPPORTED_PRESENT_STATE,
}
_SILENCE = (errors.RetryError, errors.IpmiConnectionError, errors.IpmiTimeoutError, OSError)
_UNREADABLE = (
    errors.DecodingError,
    errors.EncodingError,
    errors.NotSupportedError,
    errors.DataNotFound,
    LookupError,
    ValueError,
    ArithmeticError,
)
_CONTROLS = {
    PowerAction.ON: "chassis_control_power_up",
    PowerAction.OFF: "chassis_control_power_down",
    PowerAction.CYCLE: "chassis_control_power_cycle",
    PowerAction.RESET: "chassis_control_hard_reset",
    PowerAction.NMI: "chassis_control_diagnostic_interrupt",
}
logging.getLogger("pyipmi").setLevel(logging.WARNING)  # at DEBUG it logs sessions with their passwords


class _Keys(SessionKeys):  # type: ignore[misc]  # pyipmi has no types
    """Keys of a session as BMCs make them: from constants of 20 bytes, whatever the hash (IPMI v2.0, 13.32).

    python-ipmi 0.6.1 takes 32 bytes for SHA-256; then no request of a session of suite 17 is ever answered. ipmitool
    (lanplus_crypt.c) and OpenBMC (phosphor-net-ipmid, rmcp.hpp) take 20.
    """

    def __init__(self, suite: Any, sik: bytes) -> None:
        super().__init__(suite, sik)
        digest = AUTH_ALGORITHMS[suite.authentication][0]
        self.k1 = hmac.new(sik, b"\x01" * _KEY_CONSTANT_BYTES, digest).digest()
        self.k2 = hmac.new(sik, b"\x02" * _KEY_CONSTANT_BYTES, digest).digest()


class _Lan(RmcpPlus):  # type: ignore[misc]  # pyipmi has no types
    """RMCP+ with the right keys, in which every wait for a datagram also ends at the deadline of the call."""

    def __init__(self, cipher_suite: int) -> None:
        super().__init__(keep_alive_interval=0, max_retries=_RETRIES, cipher_suite=cipher_suite)
        self.deadline = Deadline(CALL_WITHIN_S)
        self.patience: Deadline | None = None
        self._keys: Any = None
        self._integrity_key = b""

    def ping(self) -> None:
        """Nothing: a session needs no ASF presence pong (IPMI v2.0, 13.15), and OpenBMC is also built without it."""

    def _rakp(self, session: Any, suite: Any, session_id: int) -> Any:
        self._integrity_key = super()._rakp(session, suite, session_id)
        return self._integrity_key

    def _set_session_privilege_level(self, level: int) -> Any:
        self._keys = _Keys(self._keys.suite, self._integrity_key)  # the first request that uses keys
        return super()._set_session_privilege_level(level)

    def send_and_receive(self, req: Any) -> Any:
        """Ask, and again while the BMC says "not now" and the patience of the call lasts."""
        again = ipmi_records.NOT_DONE if (req.netfn, req.cmdid) == _CHASSIS_CONTROL else ipmi_records.NOT_NOW
        while True:
            answer = super().send_and_receive(req)
            if answer.completion_code not in again or not self.waits():
                return answer

    def waits(self) -> bool:
        """Wait a little, unless the BMC says "not now" for too long in this call. It answers: this is no silence."""
        self.patience = self.patience or Deadline(NOT_NOW_WITHIN_S)
        if self.patience.expired:
            return False
        pause(ASK_AGAIN_EVERY_S)
        self.deadline = Deadline(max(self.deadline.left, CALL_WITHIN_S))
        return True

    def _receive_rmcp_msg(self) -> Any:
        if self.deadline.expired:
            raise TimeoutError
        self.set_timeout(max(min(_ANSWER_WITHIN_S, self.deadline.left), 0.001))
        return super()._receive_rmcp_msg()


class Ipmi(Bmc):
    """A BMC by IPMI. One session is kept and used again; after a loss the next call opens a new one."""

    def __init__(self, endpoint: IpmiEndpoint) -> None:
        self.endpoint = endpoint
        self._lock = threading.RLock()
        self._connection: Any = None
        self._fresh = Deadline(IDLE_S)
        self._records: list[Any] | None = None

    @property
    def name(self) -> str:
        return self.endpoint.name

    def power_status(self) -> PowerState:
        on = self._call("power status", lambda bmc: bmc.get_chassis_status().power_on)
        return PowerState.ON if on else PowerState.OFF

    def control(self, action: PowerAction) -> None:
        self._call(action.value, lambda bmc: getattr(bmc, _CONTROLS[action])())

    def sensors(self) -> list[Sensor]:
        """See :class:`Bmc`. Sensors of other controllers than the BMC are listed without a reading."""

        def read(bmc: Any) -> list[Sensor]:
            full = [record for record in self._sdr(bmc) if isinstance(record, SdrFullSensorRecord)]
            return [_sensor(bmc, record) for record in full if record.analog_data_format != record.DATA_FMT_NONE]

        return self._call("sensors", read, LIST_WITHIN_S)

    def sel(self) -> list[SelEntry]:
        def read(bmc: Any) -> list[SelEntry] | None:
            try:
                records = _whole(bmc, lambda: [bytes(entry.data) for entry in bmc.sel_entries()])
            except errors.CompletionCodeError as error:
                if error.cc == constants.CC_INV_CMD:
                    return None
                raise
            names = {record.number: _name(record) for record in self._sdr(bmc) if hasattr(record, "number")}
            return [ipmi_records.sel_entry(record, names) for record in records]

        entries = self._call("event log", read, LIST_WITHIN_S)
        if entries is None:
            raise NotApplicable(f"{self.name} has no event log (SEL): it does not know the command")
        return entries

    def device_id(self) -> DeviceId:
        """Manufacturer, product and firmware of the BMC."""
        answer = self._call("device id", lambda bmc: bmc.get_device_id())
        major, minor = answer.fw_revision.major, answer.fw_revision.minor
        return DeviceId(answer.manufacturer_id, answer.product_id, f"{major}.{minor:02d}", str(answer.ipmi_version))

    def close(self) -> None:
        with self._lock:
            self._drop(_CLOSE_WITHIN_S)

    def _sdr(self, bmc: Any) -> list[Any]:
        """The sensor records; read once, since they are slow to read and change with the BMC's firmware only."""
        if self._records is None:
            try:
                self._records = _whole(bmc, lambda: list(bmc.sdr_repository_entries()))
            except errors.CompletionCodeError as error:
                if error.cc != constants.CC_REQ_DATA_NOT_PRESENT:
                    raise
                return []  # the BMC has none, as long as it starts at least
        return self._records

    def _call(self, what: str, work: Callable[[Any], T], within_s: float = CALL_WITHIN_S) -> T:
        """Do ``work`` in a session. The session is kept unless the BMC was silent or not to be understood."""
        with self._lock:
            if self._connection is not None and self._fresh.expired:
                self._drop(_CLOSE_WITHIN_S)
            deadline = Deadline(within_s)
            with self._in_words(what):
                if self._connection is None:
                    self._open()
                self._connection.interface.deadline = deadline
                self._connection.interface.patience = None
                answer = work(self._connection)
            self._fresh = Deadline(IDLE_S)
            return answer

    def _open(self) -> None:
        end = self.endpoint
        connection = pyipmi.create_connection(_Lan(end.cipher_suite))
        connection.session.set_session_type_rmcp(end.address, port=end.port)
        connection.session.set_auth_type_user(end.user, end.password)
        connection.session.set_priv_level(end.privilege.value)
        connection.target = pyipmi.Target(ipmb_address=_BMC_ADDRESS)
        self._connection = connection
        try:
            _log_in(connection)
        except errors.CompletionCodeError:
            self._drop(_CLOSE_WITHIN_S)
            raise
        _open_ones.add(self)

    def _drop(self, within_s: float) -> None:
        connection, self._connection = self._connection, None
        if connection is None:
            return
        connection.interface.deadline = Deadline(within_s)
        # a BMC that does not hear of the end of a session ends it by itself, after 60 s
        with contextlib.suppress(*_SILENCE, *_UNREADABLE, errors.CompletionCodeError, errors.AuthenticationError):
            connection.session.close()
        connection.interface.close()

    @contextlib.contextmanager
    def _in_words(self, what: str) -> Iterator[None]:
        """The library's errors as ours; after anything but a refusal the session is not used again."""
        end, subject = self.endpoint, f"{self.name}: {what}"
        try:
            yield
        except errors.CompletionCodeError as error:
            raise _refusal(subject, error, end) from error
        except errors.MessageStatusCodeError as error:
            self._drop(0)
            raise _no_session(subject, error, end) from error
        except (errors.AuthenticationError, errors.IpmiLongPasswordError) as error:
            self._drop(0)
            raise AuthenticationFailed(f"{subject}: user {end.user} or the password is refused: {error}") from error
        except _SILENCE as error:
            self._drop(0)
            reason = str(error) or "the deadline passed"
            message = f"{subject}: no answer from {end.address}, UDP port {end.port}: {reason}"
            raise ConnectionLost(message) from error
        except _UNREADABLE as error:
            self._drop(0)
            raise BenchFault(f"{subject}: the answer cannot be read: {type(error).__name__}: {error}") from error
        except BaseException:
            self._drop(0)
            raise


def _log_in(connection: Any) -> None:
    """Open the session; ask again when all sessions are taken: others end theirs."""
    while True:
        try:
            return connection.open()  # type: ignore[no-any-return]
        except errors.MessageStatusCodeError as error:
            if error.msc not in _NO_ROOM_STATUS or not connection.interface.waits():
                raise
        connection.interface.close()


def _refusal(subject: str, error: Any, end: IpmiEndpoint) -> BenchFault:
    """The meaning of a completion code (table 5-2)."""
    if error.cc in ipmi_records.NOT_NOW:
        return NotNow(f"{subject}: not now: completion code 0x{error.cc:02x}: {error.cc_desc}")
    if error.cc in (constants.CC_INSUFFICIENT_PRIVILEGES, *_NO_LEVEL):
        return InsufficientPrivilege(f"{subject}: user {end.user} may not, with {end.privilege.value} privilege")
    return CommandRefused(f"{subject}: refused with completion code 0x{error.cc:02x}: {error.cc_desc}")


def _no_session(subject: str, error: Any, end: IpmiEndpoint) -> BenchFault:
    """Translate an RMCP+ status code (table 13-15) into an error."""
    words = f"{error.msc_desc} (status 0x{error.msc:02x})"
    if error.msc in _LOGIN_STATUS:
        return AuthenticationFailed(f"{subject}: user {end.user} or the password is refused: {words}")
    if error.msc in _NO_ROOM_STATUS:
        return NotNow(f"{subject}: not now, no session: {words}")
    if error.msc in _ROLE_STATUS:
        return InsufficientPrivilege(f"{subject}: user {end.user} gets no {end.privilege.value} session: {words}")
    if error.msc in _SUITE_STATUS:
        return BenchFault(
            f"{subject}: cipher suite {end.cipher_suite} is refused: {words}; give the BMC's cipher_suite"
        )
    return BenchFault(f"{subject}: no session: {words}")


def _whole(bmc: Any, read: Callable[[], T]) -> T:
    """Read a list, and again where a new entry or another reader has ended the reservation (IPMI v2.0, 31.4)."""
    while True:
        try:
            return read()
        except errors.CompletionCodeError as error:
            if error.cc != constants.CC_RES_CANCELED or not bmc.interface.waits():
                raise


def _name(record: Any) -> str:
    """Name of a sensor; its number when the record has none."""
    return plain(str(getattr(record, "device_id_string", ""))) or f"sensor 0x{record.number:02x}"


def _sensor(bmc: Any, record: Any) -> Sensor:
    """Read the sensor that a Full Sensor Record describes."""
    unit = ipmi_records.unit(record.units_2, record.units_3, record.modifier_unit, bool(record.percentage))
    name, kind = _name(record), ipmi_records.kind(record.sensor_type_code, unit)
    nothing = Sensor(name, kind, None, unit, SensorStatus.UNAVAILABLE)
    if record.owner_id != _BMC_ADDRESS or record.data[_OWNER_LUN_BYTE] >> 4:
        return nothing
    try:
        answer = bmc.send_message_by_name("GetSensorReading", sensor_number=record.number, lun=record.owner_lun)
    except errors.CompletionCodeError as error:
        if error.cc in _NO_READING:
            return nothing
        raise
    # the library calls bit 6 "disabled"; set, it says that the sensor is scanned (table 35-15)
    if answer.config.initial_update_in_progress or not answer.config.sensor_scanning_disabled:
        return nothing
    value = record.convert_sensor_raw_to_value(answer.sensor_reading)
    is_threshold = record.event_reading_type_code == ipmi_records.THRESHOLD
    status = ipmi_records.threshold_status(answer.states1) if is_threshold else SensorStatus.UNKNOWN
    return Sensor(name, kind, float(value), unit, status)


_open_ones: weakref.WeakSet[Ipmi] = weakref.WeakSet()


@atexit.register
def _close_all() -> None:
    for ipmi in list(_open_ones):
        ipmi.close()

"""The single values that are in bench files and card sheets: what each may be, and the words that say so.

Every type carries its :class:`Wanted`: the answer to a wrong value, and the help an editor shows.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Callable
from dataclasses import dataclass
from ipaddress import IPv4Network
from pathlib import Path
from typing import Annotated, Any, TypeVar
from urllib.parse import urlsplit

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    GetCoreSchemaHandler,
    GetJsonSchemaHandler,
    StringConstraints,
    ValidationInfo,
)
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema, core_schema

T = TypeVar("T")


class Record(BaseModel):
    """A frozen part of a file. Unknown keys, conversions, NaN and infinity are refused."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, allow_inf_nan=False)


@dataclass(frozen=True)
class Wanted:
    """Annotation of a type: the plain words that answer every wrong value.

    For single values only; around a list or section it would hide which entry is wrong.
    """

    words: str

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        return core_schema.custom_error_schema(handler(source), "wanted", custom_error_message=self.words)

    def __get_pydantic_json_schema__(self, schema: CoreSchema, handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        return {**handler(schema), "description": self.words}


class Several:
    """Marks a value that may also be a section, with such a value for each case."""

    ERROR = "several"
    """Type of the error when the section's keys are wrong; its message says what they must be."""


def one_of(*allowed: T) -> AfterValidator:
    """Require one of ``allowed``; ``Literal[1, 2]`` would take ``true`` and ``1.0`` for 1."""

    def check(value: T) -> T:
        if value not in allowed:
            raise ValueError("none of the allowed values")
        return value

    return AfterValidator(check)


def refuse_if(refused: Callable[[T], bool]) -> AfterValidator:
    """The value is not one of those ``refused`` is true for."""

    def check(value: T) -> T:
        if refused(value):
            raise ValueError("refused")
        return value

    return AfterValidator(check)


def _in_place(path: Path, info: ValidationInfo) -> Path:
    """``~`` expanded; a relative path is relative to the directory of the file it is in."""
    if path == Path():
        raise ValueError("empty")
    try:
        expanded = path.expanduser()
    except RuntimeError as error:  # "~nobody/file": the user does not exist
        raise ValueError(str(error)) from error
    assert info.context is not None  # yamlfile.load hands it over
    return Path(info.context["file"].parent, expanded)


def _is_no_host(text: str) -> bool:
    """An address must be one; a name is looked up when it is used."""
    looks_like_an_address = ":" in text or text.replace(".", "").isdigit()
    if looks_like_an_address:
        ipaddress.ip_address(text)
    return False


def _is_no_console(text: str) -> bool:
    if text.startswith("/dev/"):
        return False
    parts = urlsplit(text)
    more = (parts.path, parts.query, parts.fragment, parts.username, parts.password)
    return (
        parts.scheme not in ("rfc2217", "tcp")
        or not parts.hostname
        or not parts.port
        or any(more)
        or _is_no_host(parts.hostname)
    )


def _is_no_redfish_service(text: str) -> bool:
    parts = urlsplit(text)
    more = (parts.path.strip("/"), parts.query, parts.fragment, parts.username, parts.password)
    return parts.scheme != "https" or not parts.hostname or parts.port == 0 or any(more) or _is_no_host(parts.hostname)


def _is_multicast_or_zero(mac: str) -> bool:
    return bool(int(mac[:2], 16) & 1) or mac == "00:00:00:00:00:00"


Text = Annotated[str, StringConstraints(pattern=r"\S"), Wanted("a text that is not blank")]
Command = Annotated[str, StringConstraints(pattern=r"\S"), Wanted("a command line, run from the repository root")]
VariableName = Annotated[
    str, StringConstraints(pattern=r"^[A-Za-z_][A-Za-z0-9_]*$"), Wanted("the name of a variable of the environment")
]
FilePath = Annotated[
    Path, AfterValidator(_in_place), Wanted("a file path; ~ is expanded, relative means relative to this file")
]
Name = Annotated[
    str, StringConstraints(pattern=r"^[a-z][a-z0-9_-]*$"), Wanted("a name of lower-case letters, digits, - and _")
]
SecretName = Annotated[
    str, StringConstraints(pattern=r"^[A-Z][A-Z0-9_]*$"), Wanted("the NAME of a secret, in capitals: BMC_PASSWORD")
]
Host = Annotated[
    str,
    StringConstraints(pattern=r"^[A-Za-z0-9:][A-Za-z0-9.:-]*$"),
    refuse_if(_is_no_host),
    Wanted("a host name or IP address"),
]
User = Annotated[str, StringConstraints(pattern=r"^[A-Za-z_][A-Za-z0-9_.-]*$"), Wanted("a user name")]
TcpPort = Annotated[int, Field(ge=1, le=65535), Wanted("a TCP port 1..65535")]
UdpPort = Annotated[int, Field(ge=1, le=65535), Wanted("a UDP port 1..65535")]
CipherSuite = Annotated[int, one_of(3, 17), Wanted("cipher suite 17 or 3 (the others do not encrypt)")]
RedfishUrl = Annotated[
    str, refuse_if(_is_no_redfish_service), Wanted('"https://HOST" or "https://HOST:PORT" (a password travels on it)')
]
ConsoleUrl = Annotated[
    str, refuse_if(_is_no_console), Wanted('"rfc2217://HOST:PORT", "tcp://HOST:PORT" or a device such as /dev/ttyUSB0')
]
Baud = Annotated[int, one_of(9600, 19200, 38400, 57600, 115200, 230400, 921600, 1500000), Wanted("a speed, as 115200")]
Seconds = Annotated[float, Field(gt=0, le=7200), Wanted("seconds, more than 0 and at most 7200")]
PciAddress = Annotated[
    str,
    StringConstraints(pattern=r"^[0-9a-f]{4,8}:[0-9a-f]{2}:[01][0-9a-f]\.[0-7]$"),
    Wanted('a PCI address domain:bus:device.function in lower-case hex, such as "0000:17:00.0"'),
]
Mac = Annotated[
    str,
    StringConstraints(pattern=r"^[0-9a-f]{2}(:[0-9a-f]{2}){5}$"),
    refuse_if(_is_multicast_or_zero),
    Wanted('a unicast MAC address in lower-case hex, such as "52:54:00:12:34:56"'),
]
PortIndex = Annotated[int, Field(ge=0, le=255), Wanted("the number of a port of its PCI function, from 0")]
PortName = Annotated[
    str, StringConstraints(pattern=r"^(dut|peer)\.[a-z][a-z0-9_-]*$"), Wanted("a port of a server, such as dut.p0")
]
Subnet = Annotated[
    IPv4Network,
    refuse_if(lambda subnet: subnet.prefixlen > 31),
    Wanted("an IPv4 network with room for two hosts, such as 198.18.10.0/24"),
]
RateScale = Annotated[float, Field(ge=1), Wanted("a number of at least 1 (1: the path runs at line rate)")]

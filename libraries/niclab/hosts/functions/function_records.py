"""Records of the virtual functions of a port, and the readers of a server's texts of them."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError

from niclab.hosts.errors import unreadable


@dataclass(frozen=True)
class FunctionCount:
    """``most``: how many virtual functions a port can have; ``now``: how many it has.

    ``autoprobe``: the system binds their driver to those that are made.
    """

    most: int
    now: int
    autoprobe: bool = True


@dataclass(frozen=True)
class VirtualFunction:
    """A virtual function. ``iface``: its interface; None: no driver has made one."""

    number: int
    pci: str
    iface: str | None


class FunctionRules(BaseModel):
    """The rules of a port for a virtual function, as the administrator has set them.

    ``vlan``: the one VLAN that it is in, 0 for none. None: the driver does not say.
    """

    model_config = ConfigDict(frozen=True)

    number: int = Field(alias="vf", ge=0)
    spoof_check: bool | None = Field(default=None, alias="spoofchk")
    vlans: list[dict[str, object]] = Field(default=[], alias="vlan_list")

    @property
    def vlan(self) -> int:
        """Its VLAN id; 0: none."""
        found = [each.get("vlan") for each in self.vlans]
        return found[0] if found and isinstance(found[0], int) else 0


class _Shown(BaseModel):
    rules: Annotated[list[FunctionRules], Field(alias="vfinfo_list")] = []


_LINKS = TypeAdapter(list[_Shown])
_FUNCTION = re.compile(r"virtfn(\d+) ([0-9a-f]{4}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7])((?: \S+)*)")
NONE = "none"


def read_function_count(text: str) -> FunctionCount | None:
    """Read the files of sysfs; None where the device has no such files, or offers none.

    Args:
        text: ``sriov_totalvfs``, ``sriov_numvfs`` and, since Linux 4.12, ``sriov_drivers_autoprobe``; or ``none``.

    Raises:
        ReadError: It is neither.
    """
    if text.strip() == NONE:
        return None
    words = text.split()
    if len(words) not in (2, 3) or not all(word.isdecimal() for word in words):
        raise unreadable("virtual functions", "counts", text, "sriov_totalvfs and sriov_numvfs, or none")
    most, now, *autoprobe = map(int, words)
    return FunctionCount(most, now, all(autoprobe)) if most else None


def read_functions(text: str) -> tuple[VirtualFunction, ...]:
    """Read the virtual functions of a port, in their order.

    Args:
        text: A line for each: ``virtfnN``, its PCI address, and the names of its interfaces.

    Raises:
        ReadError: A line is none.
    """
    found = []
    for line in text.splitlines():
        match = _FUNCTION.fullmatch(line.strip())
        if not match:
            raise unreadable("virtual functions", "line", line, "virtfnN, a PCI address and the interface, if any")
        ifaces = match[3].split()
        found.append(VirtualFunction(int(match[1]), match[2], ifaces[0] if ifaces else None))
    return tuple(sorted(found, key=lambda each: each.number))


def read_function_rules(text: str) -> tuple[FunctionRules, ...]:
    """Read what ``ip -d -j link show dev IFACE`` tells of the virtual functions of a port.

    Args:
        text: The answer.

    Raises:
        ReadError: It is none.
    """
    try:
        links = _LINKS.validate_python(json.loads(text))
    except (json.JSONDecodeError, ValidationError) as error:
        raise unreadable("virtual functions", "vfinfo_list", text, f"that of ip -d -j link ({error})") from error
    return tuple(rules for link in links for rules in link.rules)

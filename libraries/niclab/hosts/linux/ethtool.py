"""Readers of ``ethtool -i`` and ``ethtool IFACE``, in the shapes from ethtool 2.6 to 6.15, and their JSON."""

from __future__ import annotations

import re

from niclab.hosts.errors import unreadable
from niclab.hosts.linux.capture import asked_interface, content, is_json, json_bool, json_interface, json_text
from niclab.hosts.reading import JsonNode
from niclab.hosts.records import DriverInfo, Duplex, LinkSettings
from niclab.hosts.transcript import Line

_DRIVER = "ethtool -i"
_LINK = "ethtool IFACE"

_DRIVER_KEYS = ("driver", "version", "firmware-version", "expansion-rom-version", "bus-info")
_DRIVER_LINE = re.compile(r"([a-z][a-z-]*):(.*)")
_REMARK = re.compile(r"\s(?:#|//|<-|\u2190)")
_HEADER = re.compile(r"Settings for ([^\s:]+):\s*")
_SETTING = re.compile(r"\s+([A-Za-z][^:]*):(.*)")
# Only the mode "10000baseR_FEC" says nothing of its duplex.
_MODE = re.compile(r"[1-9][0-9]{1,6}base(?:[A-Za-z0-9_]+/(?:Half|Full)|R_FEC)")
_SPEED = re.compile(r"([0-9]{1,10})Mb/s")
_FASTEST_MBPS = 10_000_000
_UNKNOWN_VALUE = re.compile(r"Unknown!(?: \((?:[0-9]{1,10}|0x[0-9a-fA-F]{1,8})\))?")
_UNKNOWN = ("Unknown", "N/A", "n/a")
_LINK_DETECTED = re.compile(r"(yes|no)(?: \((.+)\))?")
# Names of ethtool's dump_link_settings(), a closed set; a part of one is an output that was cut.
_PORTS = ("Twisted Pair", "AUI", "BNC", "MII", "FIBRE", "Direct Attach Copper", "None", "Other", *_UNKNOWN)
_TRANSCEIVERS = ("internal", "external", *_UNKNOWN)
_CUT_ADDRESS = re.compile(r"[0-9a-f]{4,5}:(?:[0-9a-f]{0,2}|[0-9a-f]{2}:(?:[0-9a-f]{0,2}|[0-9a-f]{2}\.))", re.IGNORECASE)
# An address that no kernel prints: a sign, a domain that is too long, a domain alone.
_NO_ADDRESS = re.compile(r"-.*|[0-9]{9,}(?::.*)?|0{1,4}")
_NO_VERSION = re.compile(r"-[0-9].*")
_NOTHING = ("N/A", "n/a", "Unknown", "")


def read_driver_info(text: str) -> DriverInfo:
    """Read ``ethtool -i``. "N/A", an empty value and a missing line are None: the driver or the text does not say."""
    found: dict[str, str | None] = {}
    for number, line in content(text):
        match = _DRIVER_LINE.fullmatch(line.strip())
        if match is None:
            raise unreadable(_DRIVER, f"line {number}", line, "'name: value'")
        key, value = match[1], match[2].strip()
        if key in found:
            raise unreadable(_DRIVER, f"line {number}", line, f"{key} once, of one interface")
        if key not in _DRIVER_KEYS and not (key.startswith("supports-") and value in ("yes", "no")):
            raise unreadable(_DRIVER, f"line {number}", line, f"one of {', '.join(_DRIVER_KEYS)}, or 'supports-X: yes'")
        if _REMARK.search(value):
            raise unreadable(_DRIVER, f"line {number}", line, "the tool's own words, without a remark behind them")
        if _NO_VERSION.fullmatch(value):
            raise unreadable(_DRIVER, f"line {number}", line, f"{key}: no number below zero")
        found[key] = None if value in ("", "N/A", "n/a") or not value.strip(".\u2026") else value
    driver = found.get("driver")
    if driver is None:
        raise unreadable(_DRIVER, "text", text, "a line 'driver: NAME'")
    bus = found.get("bus-info")
    if bus is not None and (_CUT_ADDRESS.fullmatch(bus) or _NO_ADDRESS.fullmatch(bus)):
        raise unreadable(_DRIVER, "bus-info", bus, "a whole address such as 0000:04:00.0")
    if len(found) == 1 and not text.endswith("\n"):
        raise unreadable(_DRIVER, "text", text[-60:], "a line end, or another line: the output was cut")
    return DriverInfo(
        driver=driver,
        version=found.get("version"),
        firmware=found.get("firmware-version"),
        bus=bus,
        expansion_rom=found.get("expansion-rom-version"),
    )


def read_link_settings(text: str) -> LinkSettings:
    """Read ``ethtool IFACE`` of one interface, old and new shapes."""
    lines = content(text)
    if is_json(lines):
        return _settings_from_json(json_interface(_LINK, lines))
    iface, settings = _settings(lines)
    iface = iface or asked_interface(text, "ethtool")
    link, reason = _link_detected(settings)
    return LinkSettings(
        iface=iface,
        speed_mbps=_speed_mbps(settings),
        duplex=_duplex(settings),
        autoneg=_choice(settings, "Auto-negotiation", {"on": True, "off": False}),
        link=link,
        link_reason=reason,
        port=_word_of(settings, "Port", _PORTS),
        transceiver=_word_of(settings, "Transceiver", _TRANSCEIVERS),
        supported=_modes(settings, "Supported link modes"),
        advertised=_modes(settings, "Advertised link modes"),
        partner=_modes(settings, "Link partner advertised link modes"),
        supports_autoneg=_choice(settings, "Supports auto-negotiation", _YES_NO),
        advertises_autoneg=_choice(settings, "Advertised auto-negotiation", _YES_NO),
        partner_autoneg=_choice(settings, "Link partner advertised auto-negotiation", _YES_NO),
    )


# The settings that are read; at least one must be there.
_READ = {
    *("Speed", "Duplex", "Auto-negotiation", "Link detected", "Port", "Transceiver"),
    *("Supported link modes", "Advertised link modes", "Link partner advertised link modes"),
    *("Supports auto-negotiation", "Advertised auto-negotiation", "Link partner advertised auto-negotiation"),
}
_YES_NO = {"Yes": True, "No": False}
_Setting = tuple[int, str]
# Settings stand one tab in; what continues one stands below its value.
_LEAST_CONTINUED = 8
# Settings whose indentation or heading was lost: a page or a pipe has taken it away.
_NAMES = (
    r"(?:(?:Supported|Advertised|Link partner advertised) (?:link modes|pause frame use|auto-negotiation|FEC modes)"
    r"|Supported ports|Supports auto-negotiation|Speed|Lanes|Duplex|Port|PHYAD|Transceiver|Auto-negotiation|MDI-X"
    r"|master-slave (?:cfg|status)|Supports Wake-on|Wake-on|SecureOn password|Current message level|SQI"
    r"|Link Down Events|Link detected)"
)
_BARE_SETTING = re.compile(rf"({_NAMES}):(.*)")
_LOST_COLON = re.compile(rf"{_NAMES}(?:\s.*|)")
# Numbers that are not kept, by which a damaged text is known.
_NUMBERS = {"PHYAD": re.compile(r"[0-9]{1,3}"), "Lanes": re.compile(r"[0-9]{1,3}|Unknown!")}


def _settings(lines: list[Line]) -> tuple[str | None, dict[str, _Setting]]:
    """Interface name, and each setting's line number and value; continuation lines are joined with a blank."""
    iface: str | None = None
    begun = bare = bool(lines) and _BARE_SETTING.fullmatch(lines[0][1]) is not None
    settings: dict[str, _Setting] = {}
    key: str | None = None
    for number, line in lines:
        header = _HEADER.fullmatch(line)
        if header is not None and not begun:
            iface, begun = header[1], True
            continue
        if not begun or header is not None:
            raise unreadable(_LINK, f"line {number}", line, "one heading 'Settings for IFACE:', then its settings")
        bare = bare or (key is None and not line[0].isspace())
        match = _BARE_SETTING.fullmatch(line) if bare else _SETTING.fullmatch(line)
        if match is not None:
            key = match[1]
            if key in settings:
                raise unreadable(_LINK, f"line {number}", line, f"{key!r} once")
            settings[key] = (number, match[2].strip())
        elif key is not None and _continues(line, bare=bare):
            first, value = settings[key]
            settings[key] = (first, f"{value} {line.strip()}")
        else:
            raise unreadable(_LINK, f"line {number}", line, "an indented 'Name: value' or its continuation")
    for name in _NUMBERS.keys() & settings:
        number, value = settings[name]
        if not _NUMBERS[name].fullmatch(value):
            raise unreadable(_LINK, f"line {number}", value, f"{name}: a whole number")
    if not _READ.intersection(settings):
        shown = "\n".join(line for _, line in lines)
        raise unreadable(_LINK, "text", shown, "'Settings for IFACE:' and a line such as Speed or Link detected")
    return iface, settings


def _continues(line: str, *, bare: bool) -> bool:
    """Whether this is more of the value above; a name that has lost its colon is not."""
    if _LOST_COLON.fullmatch(line.strip()):
        return False
    return _indentation(line) > _LEAST_CONTINUED or (bare and ":" not in line)


def _indentation(line: str) -> int:
    whole = line.expandtabs()
    return len(whole) - len(whole.lstrip())


def _word_of(settings: dict[str, _Setting], key: str, words: tuple[str, ...]) -> str | None:
    """The value as it stands; None when missing or unknown."""
    number, value = settings.get(key, (0, _UNKNOWN[0]))
    if value not in words and not _UNKNOWN_VALUE.fullmatch(value):
        raise unreadable(_LINK, f"line {number}", value, f"{key}: one of {', '.join(words)}")
    return None if value in _NOTHING or value.startswith("Unknown!") else value


def _choice(settings: dict[str, _Setting], key: str, choices: dict[str, bool]) -> bool | None:
    if key not in settings:
        return None
    number, value = settings[key]
    if _UNKNOWN_VALUE.fullmatch(value):
        return None
    if value not in choices:
        raise unreadable(_LINK, f"line {number}", value, f"{key}: {' or '.join(choices)}")
    return choices[value]


def _speed_mbps(settings: dict[str, _Setting]) -> int | None:
    """ethtool writes "Unknown!" for 0 and for all ones, so a printed 0 is not its word.

    Before 2.6.34 it wrote the 65535 of a driver without carrier as a speed.
    """
    if "Speed" not in settings or _UNKNOWN_VALUE.fullmatch(settings["Speed"][1]):
        return None
    number, value = settings["Speed"]
    match = _SPEED.fullmatch(value)
    if match is not None and match[1] in ("65535", "4294967295"):
        return None
    if match is None or not 0 < int(match[1]) <= _FASTEST_MBPS:
        raise unreadable(_LINK, f"line {number}", value, "Speed: '1000Mb/s' or 'Unknown!'")
    return int(match[1])


def _duplex(settings: dict[str, _Setting]) -> Duplex | None:
    if "Duplex" not in settings or _UNKNOWN_VALUE.fullmatch(settings["Duplex"][1]):
        return None
    number, value = settings["Duplex"]
    if value not in ("Full", "Half"):
        raise unreadable(_LINK, f"line {number}", value, "Duplex: Full, Half or 'Unknown!'")
    return Duplex(value.lower())


def _link_detected(settings: dict[str, _Setting]) -> tuple[bool | None, str | None]:
    if "Link detected" not in settings:
        return None, None
    number, value = settings["Link detected"]
    match = _LINK_DETECTED.fullmatch(value)
    if match is None:
        raise unreadable(_LINK, f"line {number}", value, "Link detected: yes or no")
    return match[1] == "yes", match[2]


def _modes(settings: dict[str, _Setting], key: str) -> tuple[str, ...] | None:
    """None for "Not reported", for "Not applicable" of a link without negotiation, and for the empty list that ethtool
    before 3.0 writes instead."""
    if key not in settings or settings[key][1] in ("Not reported", "Not applicable", ""):
        return None
    number, value = settings[key]
    modes = tuple(value.split())
    if not all(_MODE.fullmatch(mode) for mode in modes):
        raise unreadable(_LINK, f"line {number}", value, f"{key}: names such as 1000baseT/Full, or 'Not reported'")
    return modes


def _settings_from_json(node: JsonNode) -> LinkSettings:
    speed, duplex, link = node.optional("speed"), _json_word(node, "duplex"), json_bool(node.optional("link-detected"))
    if speed is None and link is None:
        raise node.wrong("speed or link-detected")
    if duplex not in (None, "Full", "Half"):
        raise node.wrong("duplex: Full, Half or 'Unknown!'")
    return LinkSettings(
        iface=node.child("ifname").text(),
        speed_mbps=None if speed is None else _json_speed(speed),
        duplex=Duplex(duplex.lower()) if duplex else None,
        autoneg=json_bool(node.optional("auto-negotiation")),
        link=link,
        link_reason=json_text(node.optional("link-detected-reason")),
        port=_json_word(node, "port"),
        transceiver=_json_word(node, "transceiver"),
        supported=_json_modes(node, "supported-link-modes"),
        advertised=_json_modes(node, "advertised-link-modes"),
        partner=_json_modes(node, "link-partner-advertised-link-modes"),
        supports_autoneg=json_bool(node.optional("supports-auto-negotiation")),
        advertises_autoneg=json_bool(node.optional("advertised-auto-negotiation")),
        partner_autoneg=json_bool(node.optional("link-partner-advertised-auto-negotiation")),
    )


def _json_speed(node: JsonNode) -> int | None:
    if isinstance(node.value, str) and node.value.startswith("Unknown"):
        return None
    value = node.count()
    if value == 0:
        raise node.wrong("a speed in Mbit/s, or 'Unknown!'")
    return value


def _json_word(node: JsonNode, name: str) -> str | None:
    word = json_text(node.optional(name))
    return None if word is None or word in _NOTHING or word.startswith("Unknown!") else word


def _json_modes(node: JsonNode, name: str) -> tuple[str, ...] | None:
    member = node.optional(name)
    if member is None or member.value == "Not reported":
        return None
    modes = tuple(entry.text() for entry in member.items())
    if not all(_MODE.fullmatch(mode) for mode in modes):
        raise member.wrong("names such as 1000baseT/Full")
    return modes or None

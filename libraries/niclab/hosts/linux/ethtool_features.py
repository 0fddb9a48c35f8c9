"""Reader of ``ethtool -k``: "Offload parameters for" (to ethtool 2.6.38) and "Features for" (since), text and JSON."""

from __future__ import annotations

import re

from niclab.hosts.errors import unreadable
from niclab.hosts.ethtool_records import Feature, Features
from niclab.hosts.linux.capture import asked_interface, content, headed, is_json, json_bool, json_interface
from niclab.hosts.reading import JsonNode

_KIND = "ethtool -k"
_HEADING = re.compile(r"(?:Features for|Offload parameters for) ([^\s:]+):")
# Names of a text without its heading: switches of a driver (--show-priv-flags) and pause frames have others.
_FIRST = re.compile(
    r"(?:[rt]x|tcp|udp|generic|large|scatter|ntuple|receive|highdma|esp|hw|l2|busy|tls|fcoe|macsec|loopback|netns|vlan)"
    r"[a-z0-9 -]{0,60}: (?:on|off)(?:\s*\[[a-z ]{1,20}\])*"
)
_FEATURE = re.compile(r"\s*([A-Za-z][A-Za-z0-9 _-]{0,63}):\s*(on|off)((?:\s*\[[a-z ]{1,20}\])*)")
_NOTES = re.compile(r"\[([a-z ]{1,20})\]")
_REQUESTED = {"requested on": True, "requested off": False, "not requested": False}
_WANTED = "'NAME: on' or 'NAME: off', with [fixed], [requested on], [requested off] or [not requested]"


def read_features(text: str) -> Features:
    """Read the features of one interface.

    :raises ReadError: also when there is no feature at all, or one name twice.
    """
    lines = content(text)
    if is_json(lines):
        return _from_json(json_interface(_KIND, lines))
    wanted = "the heading 'Features for IFACE:' or 'Offload parameters for IFACE:'"
    iface, rows = headed(_KIND, lines, _HEADING, _FIRST, wanted)
    iface = iface or asked_interface(text, "-k")
    features: dict[str, Feature] = {}
    for number, line in rows:
        match = _FEATURE.fullmatch(line)
        if match is None:
            raise unreadable(_KIND, f"line {number}", line, _WANTED)
        if match[1] in features:
            raise unreadable(_KIND, f"line {number}", line, f"{match[1]} once, of one interface")
        features[match[1]] = _feature(number, line, match[2] == "on", _NOTES.findall(match[3]))
    return _complete(iface, features)


def _feature(number: int, line: str, on: bool, notes: list[str]) -> Feature:
    unknown = [note for note in notes if note != "fixed" and note not in _REQUESTED]
    if unknown:
        raise unreadable(_KIND, f"line {number}", line, _WANTED)
    asked = [_REQUESTED[note] for note in notes if note in _REQUESTED]
    return Feature(on=on, fixed="fixed" in notes, requested=asked[-1] if asked else None)


def _from_json(node: JsonNode) -> Features:
    """``requested`` stands with every feature; it is kept where it says something else than the state does."""
    assert isinstance(node.value, dict)
    features: dict[str, Feature] = {}
    for name in node.value:
        if name == "ifname":
            continue
        entry = node.child(name)
        on, fixed = json_bool(entry.child("active")), bool(json_bool(entry.optional("fixed")))
        if on is None:
            raise entry.wrong("active: true or false")
        requested = json_bool(entry.optional("requested"))
        features[name] = Feature(on, fixed, None if fixed or requested == on else requested)
    return _complete(node.child("ifname").text(), features)


def _complete(iface: str | None, features: dict[str, Feature]) -> Features:
    if not features:
        raise unreadable(_KIND, "text", iface or "", "at least one feature")
    return Features(iface, features)

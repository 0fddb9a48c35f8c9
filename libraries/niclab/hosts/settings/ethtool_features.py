"""Reader of ``ethtool --json -k IFACE`` (ethtool 5.10 and later)."""

from __future__ import annotations

from niclab.hosts.errors import unreadable
from niclab.hosts.links.ethtool_output import json_bool, json_interface
from niclab.hosts.reading import JsonNode
from niclab.hosts.settings.ethtool_records import Feature, Features

KIND = "ethtool --json -k"


def read_features(text: str) -> Features:
    """Read the features of one interface.

    Raises:
        ReadError: The text is no such document, or holds no feature.
    """
    node = json_interface(KIND, text)
    assert isinstance(node.value, dict)
    features = {name: _feature(node.child(name)) for name in node.value if name != "ifname"}
    if not features:
        raise unreadable(KIND, "JSON", text, "at least one feature")
    return Features(node.child("ifname").text(), features)


def _feature(entry: JsonNode) -> Feature:
    """``requested`` is there for every feature; it is kept where it differs from the state and can be had.

    Of a group of features the tool says neither ``fixed`` nor ``requested``.
    """
    on = json_bool(entry.child("active"))
    assert on is not None
    fixed = bool(json_bool(entry.optional("fixed")))
    requested = json_bool(entry.optional("requested"))
    return Feature(on, fixed, None if fixed or requested == on else requested)

"""``ethtool --json -m`` (6.15 and later) as the rows of its text form, so that one reader judges both."""

from __future__ import annotations

import math
from collections.abc import Mapping

from niclab.hosts.reading import once_each

_UNITS = {
    "Laser wavelength": "nm",
    "BR, Nominal": "Mbps",
    "Module voltage": " V",
    "Module temperature": " degrees C",
}
_NAMES = {
    "vendor_name": "Vendor name",
    "vendor_pn": "Vendor PN",
    "vendor_rev": "Vendor rev",
    "vendor_sn": "Vendor SN",
    "date_code": "Date code",
    "laser_wavelength": "Laser wavelength",
    "br_nominal": "BR, Nominal",
    "br,_nominal": "BR, Nominal",
    "module_voltage": "Module voltage",
    "module_voltage_measurement": "Module voltage",
    "module_temperature": "Module temperature",
    "module_temperature_measurement": "Module temperature",
}
_THRESHOLD = "_threshold"
_BIAS = {"laser_bias_current": "Laser bias current", "laser_tx_bias_current": "Laser tx bias current"}
_POWER = {
    "laser_output_power": "Laser output power",
    "transmit_avg_optical_power": "Transmit avg optical power",
    "rx_power": "Rcvr signal avg optical power",
}


def with_thresholds(pairs: list[tuple[str, object]]) -> dict[str, object]:
    """An object whose names may stand twice: ethtool 6.15 to 6.18 give a measurement and its thresholds one name.

    The thresholds get the name that later versions give them: ``laser_bias_current_threshold``, in it ``high_alarm``.
    """
    renamed: list[tuple[str, object]] = []
    for name, value in pairs:
        if isinstance(value, dict) and value and all(part.endswith(_THRESHOLD) for part in value):
            limits = {part.removesuffix(_THRESHOLD): number for part, number in value.items()}
            renamed.append((f"{name}{_THRESHOLD}", limits))
        else:
            renamed.append((name, value))
    return once_each(renamed)


def rows_of_json(document: Mapping[str, object]) -> dict[str, list[str]]:
    """Row name -> values, as the text form prints them. What stands in the document and has no row is left out."""
    rows: dict[str, list[str]] = {}
    for key in ("identifier", "connector"):
        if key in document:
            rows[key.capitalize()] = [_coded(document[key], document.get(f"{key}_description"))]
    for key, name in _NAMES.items():
        if key in document:
            rows[name] = [f"{document[key]}{_UNITS.get(name, '')}"]
    oui = document.get("vendor_oui")
    if oui is not None:
        parts = oui if isinstance(oui, list) else [oui]
        rows["Vendor OUI"] = [":".join(f"{part:02x}" if isinstance(part, int) else str(part) for part in parts)]
    types = document.get("transceiver_type")
    if types is not None:
        rows["Transceiver type"] = [str(entry) for entry in (types if isinstance(types, list) else [types])]
    for key, value in document.items():
        _add_length(rows, key, value, in_metres=any("km" in name for name in document))
        _add_monitor(rows, key, value)
        _add_alarm(rows, key, value)
        _add_thresholds(rows, key, value)
    return rows


def _coded(code: object, description: object) -> str:
    if isinstance(code, int) and not isinstance(code, bool):
        return f"0x{code:02x} ({description})" if description else f"0x{code:02x}"
    return str(code)


def _add_length(rows: dict[str, list[str]], key: str, value: object, *, in_metres: bool) -> None:
    """Of single mode fibre kilometres, and metres under the same name where another one says kilometres."""
    if key.startswith("length_"):
        unit = "km" if "km" in key or ("smf" in key and not in_metres) else "m"
        rows[f"Length ({key.removeprefix('length_').strip('()')})"] = [f"{value}{unit}"]


def _add_monitor(rows: dict[str, list[str]], key: str, value: object) -> None:
    """A number of a module with one lane, or a list of one number a lane; rx_power is an object with the type."""
    if isinstance(value, dict):
        value = value.get("values", value.get("value"))
    for names, unit in ((_BIAS, "mA"), (_POWER, "mW")):
        if key not in names or value is None:
            continue
        lanes = value if isinstance(value, list) else [value]
        for number, lane in enumerate(lanes, start=1):
            name = f"{names[key]} (Channel {number})" if isinstance(value, list) else names[key]
            rows[name] = [f"{lane} mA" if unit == "mA" else _power(lane)]


def _power(value: object) -> str:
    """As the text form prints it: dBm is ten times the decimal logarithm of mW."""
    if not isinstance(value, int | float) or isinstance(value, bool) or value < 0:
        return str(value)
    return f"{value} mW / {f'{10 * math.log10(value):.2f}' if value > 0 else '-inf'} dBm"


def _add_thresholds(rows: dict[str, list[str]], key: str, value: object) -> None:
    if not key.endswith(_THRESHOLD) or not isinstance(value, dict):
        return
    name = key.removesuffix(_THRESHOLD).replace("_", " ").capitalize()
    for part, number in value.items():
        row = f"{name} {part.replace('_', ' ')} threshold"
        rows[row] = [_power(number) if "power" in key else f"{number}{_unit_of(key)}"]


def _unit_of(key: str) -> str:
    return " degrees C" if "temperature" in key else " V" if "voltage" in key else " mA"


def _add_alarm(rows: dict[str, list[str]], key: str, value: object) -> None:
    if not key.endswith(("_alarm", "_warning")):
        return
    name = key.replace("_", " ").capitalize()
    entries = value if isinstance(value, list) else [value]
    for number, entry in enumerate(entries, start=1):
        word = {True: "On", False: "Off"}.get(entry, str(entry)) if isinstance(entry, bool) else str(entry)
        rows[f"{name} (Chan {number})" if isinstance(value, list) else name] = [word]

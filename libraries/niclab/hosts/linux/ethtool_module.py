"""Reader of ``ethtool -m IFACE``, decoded: SFP (SFF-8472), QSFP (SFF-8636) and CMIS modules.

ethtool prints no JSON of a module before 6.15.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from niclab.hosts.errors import ReadError, unreadable
from niclab.hosts.ethtool_records import ModuleEeprom, ModuleLane
from niclab.hosts.reading import Line, filled

_KIND = "ethtool -m"
_ROW = re.compile(r"\s*([A-Z][^:]{0,80}?)\s*:\s?(.*)")
_HEX_DUMP = re.compile(r"Offset\s+Values|0x[0-9a-f]{4}:.*")
_NUMBER = r"-?[0-9]{1,9}(?:\.[0-9]{1,9})?"
_POWER = re.compile(rf"({_NUMBER}) mW / (-inf|{_NUMBER}) dBm")
_TEMPERATURE = re.compile(rf"({_NUMBER}) degrees C(?: / {_NUMBER} degrees F)?")
_QUANTITY = re.compile(rf"({_NUMBER})\s?([A-Za-z]{{1,4}})")
_NAMED_CODE = re.compile(r"0x[0-9a-fA-F]{2}(?: \(.*\))?")
_OUI = re.compile(r"[0-9a-f]{2}(?::[0-9a-f]{2}){2}")
_NO_CHANNEL = re.compile(r".*\((?:Chan|Channel) (?![0-9]{1,2}\)).*\)")
_CHANNEL = re.compile(r"(.*?)\s*\((?:Chan|Channel) ([0-9]{1,2})\)")
_ALARM = re.compile(r".*(?:high|low) (?:alarm|warning)")
_THRESHOLD = re.compile(r"(.*(?:high|low) (?:alarm|warning)) threshold")
_LENGTH = re.compile(r"Length(?: \((.{1,40})\))?|Cable assembly length")
_BIAS = ("Laser bias current", "Laser tx bias current")
_TX = ("Laser output power", "Transmit avg optical power")
_RX = ("Receiver signal average optical power", "Receiver signal OMA", "Rcvr signal avg optical power")
_RATE = ("BR, Nominal", "BR Nominal")
# Rows that tell a module from any other text of names and values.
_TELLING = {"Identifier", "Vendor PN", "Vendor OUI", "Module temperature", "Module voltage", *_BIAS, *_TX, *_RX}


@dataclass
class _Rows:
    """Rows of a module: name -> line number and values (some names occur several times)."""

    values: dict[str, list[tuple[str, str]]] = field(default_factory=dict)

    def text(self, name: str) -> str | None:
        """The only value; None when missing or empty. Twice is the text of two modules."""
        found = self.values.get(name, [])
        if len(found) > 1:
            raise unreadable(_KIND, found[1][0], f"{name}: {found[1][1]}", f"{name} once, of one interface")
        return found[0][1].strip() or None if found else None

    def _filled(self, name: str) -> str | None:
        """The only value, which is not empty; None when the row is missing."""
        value = self.text(name)
        if value is None and name in self.values:
            raise self.wrong(name, "a value: the line was cut")
        return value

    def code(self, name: str) -> str | None:
        """A code with its meaning, such as ``0x03 (SFP)``; None when the row is missing."""
        value = self._filled(name)
        if value is not None and not _NAMED_CODE.fullmatch(value):
            raise self.wrong(name, "a code such as 0x03 (SFP)")
        return value

    def oui(self) -> str | None:
        value = self.text("Vendor OUI")
        if value is not None and not _OUI.fullmatch(value):
            raise self.wrong("Vendor OUI", "three bytes such as 00:1b:21")
        return value

    def wrong(self, name: str, expected: str) -> ReadError:
        where, value = self.values[name][0]
        return unreadable(_KIND, where, f"{name}: {value}", expected)

    def quantity(self, name: str, unit: str, pattern: re.Pattern[str] = _QUANTITY) -> float | None:
        """A number with its unit; None when the row is missing."""
        value = self._filled(name)
        if value is None or value.lower() in ("n/a", "unspecified"):
            return None
        match = pattern.fullmatch(value)
        if match is None or (pattern is _QUANTITY and match[2] not in unit.split()):
            raise self.wrong(name, f"a number in {unit}")
        number = float(match[1])
        if number < 0 and pattern is not _TEMPERATURE:
            raise self.wrong(name, f"a number in {unit} from 0 on")
        return number or 0.0  # "-0.00 degrees C"

    def power(self, name: str) -> tuple[float | None, float | None]:
        """MW and dBm; "-inf dBm" is None."""
        value = self._filled(name)
        if value is None:
            return None, None
        match = _POWER.fullmatch(value)
        if match is None:
            raise self.wrong(name, "'0.5671 mW / -2.46 dBm'")
        if match[1].startswith("-"):
            raise self.wrong(name, "a power in mW from 0 on")
        return float(match[1]), None if match[2] == "-inf" else float(match[2])


def read_module(text: str) -> ModuleEeprom:
    """Read one module; what the text does not have is None. A hex dump is refused: nothing here decodes it."""
    rows = _rows(filled(text))
    said = {_CHANNEL.sub(r"\1", name) for name, found in rows.values.items() if any(value for _, value in found)}
    if not _TELLING & said and not any(_THRESHOLD.fullmatch(name) for name in said):
        raise unreadable(_KIND, "text", text, "a row 'Identifier : 0x03 (SFP)'")
    bias, tx, rx = (_first(rows, names) for names in (_BIAS, _TX, _RX))
    tx_mw, tx_dbm = rows.power(tx)
    rx_mw, rx_dbm = rows.power(rx)
    rate = rows.quantity(_first(rows, _RATE), "Mbps MBd")
    return ModuleEeprom(
        identifier=rows.code("Identifier"),
        connector=rows.code("Connector"),
        vendor_name=rows.text("Vendor name"),
        vendor_oui=rows.oui(),
        vendor_pn=rows.text("Vendor PN"),
        vendor_rev=rows.text("Vendor rev") or rows.text("Vendor Rev"),
        vendor_sn=rows.text("Vendor SN"),
        date_code=rows.text("Date code"),
        transceiver_types=tuple(value for _, value in rows.values.get("Transceiver type", [])),
        wavelength_nm=rows.quantity("Laser wavelength", "nm"),
        nominal_rate_mbps=None if rate is None else round(rate),
        lengths=_lengths(rows),
        temperature_c=rows.quantity("Module temperature", "degrees C", _TEMPERATURE),
        voltage_v=rows.quantity("Module voltage", "V"),
        bias_ma=rows.quantity(bias, "mA"),
        tx_power_mw=tx_mw,
        tx_power_dbm=tx_dbm,
        rx_power_mw=rx_mw,
        rx_power_dbm=rx_dbm,
        lanes=_lanes(rows),
        alarms=_alarms(rows),
        thresholds=_thresholds(rows),
    )


def _rows(lines: list[Line]) -> _Rows:
    rows = _Rows()
    for number, line in lines:
        if _HEX_DUMP.fullmatch(line.strip()):
            raise unreadable(_KIND, f"line {number}", line, "decoded rows; this is a hex dump")
        match = _ROW.fullmatch(line)
        if match is None:
            raise unreadable(_KIND, f"line {number}", line, "'Name : value'")
        if _NO_CHANNEL.fullmatch(match[1]):
            raise unreadable(_KIND, f"line {number}", line, "the number of a channel")
        if match[1] == "Transceiver type" and not match[2].strip():
            raise unreadable(_KIND, f"line {number}", line, "a type of transceiver")
        rows.values.setdefault(match[1], []).append((f"line {number}", match[2].strip()))
    return rows


def _first(rows: _Rows, names: tuple[str, ...]) -> str:
    return next((name for name in names if name in rows.values), names[0])


def _key(name: str) -> str:
    return re.sub(r"[^a-z0-9]+", "_", name.lower()).strip("_")


def _lengths(rows: _Rows) -> dict[str, float]:
    """In metres; the row "(SMF,km)" is in kilometres."""
    lengths: dict[str, float] = {}
    for name in rows.values:
        match = _LENGTH.fullmatch(name)
        if match is not None:
            value = rows.quantity(name, "km m")
            if value is not None:
                kilometres = (rows.text(name) or "").endswith("km")
                lengths[_key(match[1] or name)] = value * 1000 if kilometres else value
    return lengths


def _lanes(rows: _Rows) -> tuple[ModuleLane, ...]:
    lanes: dict[int, ModuleLane] = {}
    for name in rows.values:
        match = _CHANNEL.fullmatch(name)
        if match is None or match[1] not in _BIAS + _TX + _RX:
            continue
        lane = lanes.get(int(match[2]), ModuleLane(int(match[2])))
        bias, tx, rx = lane.bias_ma, (lane.tx_power_mw, lane.tx_power_dbm), (lane.rx_power_mw, lane.rx_power_dbm)
        if match[1] in _BIAS:
            bias = rows.quantity(name, "mA")
        elif match[1] in _TX:
            tx = rows.power(name)
        else:
            rx = rows.power(name)
        lanes[lane.number] = ModuleLane(lane.number, bias, *tx, *rx)
    return tuple(lanes[number] for number in sorted(lanes))


def _alarms(rows: _Rows) -> dict[str, bool]:
    alarms: dict[str, bool] = {}
    for name in rows.values:
        channel = _CHANNEL.fullmatch(name)
        if _ALARM.fullmatch(channel[1] if channel else name):
            value = rows.text(name)
            if value not in ("On", "Off"):
                raise rows.wrong(name, "On or Off")
            alarms[_key(f"{channel[1]} {channel[2]}" if channel else name)] = value == "On"
    return alarms


def _thresholds(rows: _Rows) -> dict[str, float]:
    thresholds: dict[str, float] = {}
    for name in rows.values:
        match = _THRESHOLD.fullmatch(name)
        if match is None:
            continue
        if "power" in name:
            value = rows.power(name)[0]
        elif "temperature" in name:
            value = rows.quantity(name, "degrees C", _TEMPERATURE)
        else:
            value = rows.quantity(name, "mA V")
        if value is not None:
            thresholds[_key(match[1])] = value
    return thresholds

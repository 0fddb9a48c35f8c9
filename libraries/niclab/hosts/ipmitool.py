"""Reader of ipmitool's output; the form is recognised by the text itself.

A request is not an answer: ``Chassis Power Control: Up/On`` only repeats what was asked, and is refused. An event log
without entries is an answer, and a list of none.
"""

from __future__ import annotations

import csv
import re

from niclab.hosts import ipmitool_sel, ipmitool_sensor_blocks, ipmitool_sensors
from niclab.hosts.errors import ReadError, unreadable
from niclab.hosts.ipmitool_records import Field, Fru, IpmiForm, IpmiSensor, IpmiText, SelLine
from niclab.hosts.reading import dedented
from niclab.hosts.transcript import transcript

_KIND = "ipmi"
_EXPECTED = "output of ipmitool chassis, sdr, sensor, sel, fru, mc or lan"
_POWER = re.compile(r"Chassis Power is (on|off)", re.IGNORECASE)
_PAIR = re.compile(r"\s{0,40}(?:# )?([A-Za-z0-9][^:|]{0,60}?)\s{0,40}:(?:\s+(.*)|)")
_CONTINUED = re.compile(r"\s+:\s{0,40}(.*)")
_FRU = re.compile(r"FRU Device Description\s*:\s*(.*?)\s*(?:\((?:LUN [0-9]{1,2} )?ID ([0-9]{1,3})\))?")
_FRU_FIRST = ("Chassis Type", "Board Mfg Date", "Board Mfg", "Product Manufacturer")  # each begins one of three areas
_FRU_CUT = re.compile(r"\((?:L|LU|LUN(?: [0-9]{0,2} ?)?)?(?:I|ID(?: [0-9]{0,3})?)?$")
_FRU_BAD_ID = re.compile(r"\((?:LUN \S{1,30} )?ID [^)]*\)$")
# Of each unit one: what stands twice belongs to two units, the heading of the second being lost.
_FRU_ONCE = frozenset(
    (
        *("Chassis Type", "Chassis Part Number", "Chassis Serial", "Board Mfg Date", "Board Mfg", "Board Product"),
        *("Board Serial", "Board Part Number", "Product Manufacturer", "Product Name", "Product Part Number"),
        *("Product Version", "Product Serial", "Product Asset Tag"),
    )
)
_FRU_PROBLEM = re.compile(
    r"Device not present(?: \(.{0,80}\))?|Unknown FRU header version.{0,20}|Unsupported device.{0,80}|"
    r"FRU Read failed.{0,80}|Invalid FRU size.{0,20}"
)
_FRU_FIELD = re.compile(r"(?:Board|Chassis|Product|FRU|OEM|Multi|Unknown)\b.*")
# A memory module, whose own data ipmitool decodes (dimm_spd.c); its type or size stands first.
_FRU_MEMORY = re.compile(
    r"(?:Memory|SDRAM) .*|Primary Bus Width|Number of Ranks|Logical Rank per DIMM|[0-9A-Z.]{1,5} V Nominal Op"
    r"|Technology|Voltage Intf|Error Detect/Cor|Manufacturer|Manufacture Date|Serial Number|Part Number"
)
_FRU_RECORD = re.compile(r"[A-Za-z0-9 ()/.-]{1,60} Record")  # the heading of a multirecord
_NO_ENTRIES = "SEL has no entries"
# What ipmitool 1.8 says beside a complete answer, the last ones with -v; "<<" and ">>" are the packets of lanplus.
_NOISE = re.compile(
    r"(?:<<|>>).{0,200}|"
    r"Close Session command failed(?:: .{0,80})?|Get HPM\.x Capabilities request failed, compcode = [0-9a-f]{2}|"
    r"SEL has no more entries|Loading IANA PEN Registry\.\.\.|"
    r"IANA PEN registry open failed: .{0,80}|Error response 0x[0-9a-f]{2} from Get PICMG .{0,20}|"
    r"Locating sensor record\.\.\.|Using best available cipher suite \d{1,3}|Discovered IPMB.{0,80}|"
    r"Running Get (?:VSO|PICMG) .{0,80}|"
    r"Invalid completion code received: Invalid command|No PICMG Extension discovered|Iana: .{0,40}"
)
_CHASSIS_FLAGS = {"true": True, "false": False}
_FAULTS = ("power_overload", "main_power_fault", "power_control_fault", "drive_fault", "cooling_fan_fault")
_FORMS = {
    "System Power": IpmiForm.CHASSIS_STATUS,
    "SEL Information": IpmiForm.SEL_INFO,
    "Device ID": IpmiForm.MC_INFO,
    "Set in Progress": IpmiForm.LAN_PRINT,
}
# What every version prints; less is a text that was cut.
_NEEDED = {
    IpmiForm.CHASSIS_STATUS: ("system_power", *_FAULTS),
    IpmiForm.SEL_INFO: ("entries", "overflow"),
    IpmiForm.MC_INFO: ("device_id", "firmware_revision", "ipmi_version", "manufacturer_id"),
    IpmiForm.LAN_PRINT: ("ip_address", "mac_address"),
}

_CHASSIS_WORDS = (
    *("true", "false", "active", "inactive", "allowed", "not allowed", "on", "off"),
    *("always-on", "always-off", "previous", "unknown"),
)
# Four numbers, or four parts of which some are blotted out, or no number at all.
_IP = re.compile(
    r"(?:(?:[0-9]{1,2}|1[0-9]{2}|2[0-4][0-9]|25[0-5]|[0-9]{0,2}[xX*]{1,3}|[^0-9.]{1,12})(?:\.|$)){4}(?<!\.)|[^0-9]+"
)
_SHAPES = {
    "device_id": re.compile(r"[0-9]{1,3}"),
    "device_revision": re.compile(r"[0-9]{1,3}"),
    "manufacturer_id": re.compile(r"[0-9]{1,8}"),
    "firmware_revision": re.compile(r"[0-9]{1,3}\.[0-9a-fA-F]{1,4}"),
    "ipmi_version": re.compile(r"[0-9]\.[0-9a-fA-F]{1,2}"),
    "ip_address": _IP,
    "subnet_mask": _IP,
    "default_gateway_ip": _IP,
    "mac_address": re.compile(r"[0-9a-fA-Fx-zX-Z*#]{2}(?::[0-9a-fA-Fx-zX-Z*#]{2}){5}|[^0-9:]+"),
}

# What ipmi_chassis.c, ipmi_mc.c, ipmi_sel.c and ipmi_lanp.c print; other lines are of another tool.
_NAMES = {
    IpmiForm.CHASSIS_STATUS: re.compile(
        r"system_power|power_overload|power_interlock|main_power_fault|power_control_fault|power_restore_policy"
        r"|last_power_event|chassis_intrusion|front_panel_lockout|drive_fault|cooling_fan_fault"
        r"|(?:sleep|diag|reset|power|standby)_button_\w+|front_panel_\w+|\w+_identify_\w+"
    ),
    IpmiForm.SEL_INFO: re.compile(
        r"version|entries|free_space|percent_used|last_(?:add|del)_time|overflow|supported_cmds|of_alloc_units"
        r"|alloc_unit_size|free_units|largest_free_blk|max_record_size"
    ),
    IpmiForm.LAN_PRINT: re.compile(
        # The tool itself writes "Gratituous ARP Intrvl".
        r"(?:set_in_progress|auth_type|ip_|subnet|mac_address|snmp|bmc_arp|grat[a-z]{3,8}_arp|default_gateway"
        r"|backup_gateway|802_1q|(?:primary_|secondary_)?rmcp|cipher|bad_password|invalid_password|attempt_count"
        r"|user_lockout|ipv6|arp|vlan|dhcp|oem|lan_)\w*"
    ),
    IpmiForm.MC_INFO: re.compile(
        r"device_(?:id|revision|available)|firmware_revision\w*|ipmi_version|manufacturer_(?:id|name)"
        r"|product_(?:id|name)|provides_device_sdrs|additional_device_support|aux_firmware_rev\w*|guid|system_guid"
    ),
}

_MANY = 5  # different names
_SENSOR_COLUMNS = 10  # of "sensor list"
_SDR_COLUMNS = 5  # of "sdr elist", the widest of the others

Lines = tuple[tuple[int, str], ...]


def read_ipmitool(text: str) -> IpmiText:
    """Read the output of one ipmitool command.

    :raises ReadError: when the text is an error message, of another tool, or broken.
    """
    lines = tuple(
        (number, line) for number, line in transcript(text, "ipmitool").filled if not _NOISE.fullmatch(line.strip())
    )
    if not lines:
        raise unreadable(_KIND, "text", text, _EXPECTED)
    first = lines[0][1].strip()
    power = _POWER.fullmatch(first)
    if power is not None:
        _refuse_more(lines[1:])
        return IpmiText(IpmiForm.POWER_STATUS, power=power[1].lower())
    if first == _NO_ENTRIES:
        _refuse_more(lines[1:])
        return IpmiText(IpmiForm.SEL_LIST, entries=())
    if "|" in first:
        return _table(_unfolded([(number, [cell.strip() for cell in line.split("|")]) for number, line in lines]))
    if _FRU.fullmatch(first):
        return IpmiText(IpmiForm.FRU_PRINT, frus=_frus(lines))
    name = first.split(":")[0].strip()
    if name in _FRU_FIRST and ":" in first:
        return IpmiText(IpmiForm.FRU_PRINT, frus=(_fru(None, None, lines),))  # "fru print 0" does not name the unit
    if name == "SEL Record ID":
        return IpmiText(IpmiForm.SEL_LIST, entries=ipmitool_sel.verbose_entries(lines))
    if name == ipmitool_sensor_blocks.FIRST:
        lines = dedented(lines)
        return IpmiText(IpmiForm.SDR_VERBOSE, sensors=ipmitool_sensor_blocks.sensor_blocks(lines))
    if name in _FORMS and (":" in first or name == "SEL Information"):
        return _pairs(_FORMS[name], lines)
    if "," in first and not first.lower().startswith(("error", "unable", "could not", "invalid")):
        return _table([(number, [cell.strip() for cell in _cells(number, line)]) for number, line in lines], comma=True)
    raise _refused(lines[0])


def _refused(line: tuple[int, str]) -> ReadError:
    return unreadable(_KIND, f"line {line[0]}", line[1].strip(), _EXPECTED)


def _refuse_more(lines: Lines) -> None:
    if lines:
        raise unreadable(_KIND, f"line {lines[0][0]}", lines[0][1], "one answer only")


def _cells(number: int, line: str) -> list[str]:
    try:
        return next(csv.reader([line]))
    except csv.Error as error:
        raise unreadable(_KIND, f"line {number}", line, f"values between commas ({error})") from error


def _table(rows: list[tuple[int, list[str]]], *, comma: bool = False) -> IpmiText:
    """Lines of cells, all of the form of the first one."""
    number, first = rows[0]
    if ipmitool_sel.is_entry(first):
        entries: list[SelLine] = [ipmitool_sel.entry(number, cells) for number, cells in rows]
        ipmitool_sel.refuse_cut(rows[-1][0], entries)
        ipmitool_sel.refuse_twice(entries)
        return IpmiText(IpmiForm.SEL_LIST, entries=tuple(entries))
    form = _sensor_form(first, comma=comma)
    if form is None:
        raise unreadable(_KIND, f"line {number}", " | ".join(first), "an entry of an event log or a sensor")
    sensors: list[IpmiSensor] = []
    for number, cells in rows:
        if len(cells) != len(first) and not (comma and form is IpmiForm.SDR_LIST):
            raise unreadable(_KIND, f"line {number}", " | ".join(cells), f"{len(first)} columns, as in the first line")
        if comma and form is IpmiForm.SDR_LIST:
            if len(cells) not in (3, 4):
                raise unreadable(_KIND, f"line {number}", ",".join(cells), "name, reading, unit, status")
            sensors.append(ipmitool_sensors.sdr_csv_row(number, cells))
        elif form is IpmiForm.SENSOR_LIST:
            sensors.append(ipmitool_sensors.sensor_row(number, cells))
        elif form is IpmiForm.SDR_ELIST:
            sensors.append(ipmitool_sensors.elist_row(number, cells))
        else:
            sensors.append(ipmitool_sensors.sdr_row(number, cells))
    _refuse_two_lists(sensors)
    return IpmiText(form, sensors=tuple(sensors))


def _refuse_two_lists(sensors: list[IpmiSensor]) -> None:
    """Two lists of one BMC, and a numbered sensor twice. The names alone may stand twice ("Temp" of each CPU), a whole
    list of different ones does not."""
    names = [(sensor.name, sensor.number, sensor.entity) for sensor in sensors]
    half = len(names) // 2
    numbered = [name for name in names if name[1] is not None]
    doubled = half >= _MANY and len(set(names)) == half and names == names[:half] * 2
    if doubled or len(set(numbered)) < len(numbered):
        raise unreadable(_KIND, "output", ", ".join(name[0] for name in names[:5]), "one list, each sensor once")


def _unfolded(rows: list[tuple[int, list[str]]]) -> list[tuple[int, list[str]]]:
    """The rows of ``sensor list`` that a mail or a page has folded at a column; other rows as they are."""
    if len(rows[0][1]) <= _SDR_COLUMNS or len(rows[0][1]) >= _SENSOR_COLUMNS or ipmitool_sel.is_entry(rows[0][1]):
        return rows
    whole: list[tuple[int, list[str]]] = []
    for number, cells in rows:
        if whole and len(whole[-1][1]) < _SENSOR_COLUMNS and "" in (whole[-1][1][-1], cells[0]):
            before = whole[-1][1]
            whole[-1] = (whole[-1][0], before[:-1] + cells if before[-1] == "" else before + cells[1:])
        else:
            whole.append((number, cells))
    return whole if all(len(cells) == _SENSOR_COLUMNS for _, cells in whole) else rows


def _sensor_form(cells: list[str], *, comma: bool) -> IpmiForm | None:
    if len(cells) == _SENSOR_COLUMNS:
        return IpmiForm.SENSOR_LIST
    if comma:
        return IpmiForm.SDR_LIST if len(cells) in (3, 4) and ipmitool_sensors.is_status(cells[-1]) else None
    if len(cells) == 5 and ipmitool_sensors.is_sensor_number(cells[1]):
        return IpmiForm.SDR_ELIST
    if len(cells) != 3 or ipmitool_sensors.is_sensor_number(cells[1]):  # a row of elist that was cut
        return None
    return IpmiForm.SDR_LIST if ipmitool_sensors.is_status(cells[2]) else None


def _pairs(form: IpmiForm, lines: Lines) -> IpmiText:
    found = _fields(lines[1:] if form is IpmiForm.SEL_INFO else lines)
    for name in _NEEDED[form]:
        if found.get(name) is None:
            raise unreadable(_KIND, "output", sorted(found), f"the line '{name.replace('_', ' ')}' of {form.value}")
    _refuse_odd(form, found)
    if form is IpmiForm.SEL_INFO:
        if not isinstance(found["entries"], int):
            raise unreadable(_KIND, "Entries", found["entries"], "a whole number")
        return IpmiText(form, sel_info=found)
    if form is IpmiForm.MC_INFO:
        return IpmiText(form, controller=found)
    if form is IpmiForm.LAN_PRINT:
        return IpmiText(form, lan=found)
    power = found["system_power"]
    if power not in ("on", "off"):
        raise unreadable(_KIND, "System Power", power, "on or off")
    faults = tuple(name for name in _FAULTS if found.get(name) is True)
    for name in _FAULTS:
        if name in found and not isinstance(found[name], bool):
            raise unreadable(_KIND, name.replace("_", " "), found[name], "true or false")
    return IpmiText(form, power=str(power), faults=faults, chassis=found)


def _refuse_odd(form: IpmiForm, found: dict[str, Field]) -> None:
    """Values of another shape than ipmitool prints them, and words that are the beginning of one."""
    known = _NAMES.get(form)
    for name, value in found.items():
        if known is not None and not known.fullmatch(name):
            raise unreadable(_KIND, "output", name.replace("_", " "), f"names of {form.value} only")
        pattern = _SHAPES.get(name) if form in (IpmiForm.MC_INFO, IpmiForm.LAN_PRINT) else None
        if value is not None and pattern is not None and not pattern.fullmatch(str(value)):
            raise unreadable(_KIND, name.replace("_", " "), value, "a value as ipmitool prints it")
        cut = isinstance(value, str) and value not in _CHASSIS_WORDS and _begins_one(value)
        if form is IpmiForm.CHASSIS_STATUS and cut:
            raise unreadable(_KIND, name.replace("_", " "), value, f"one of {', '.join(_CHASSIS_WORDS)}")


def _begins_one(value: str) -> bool:
    return any(word.startswith(value) for word in _CHASSIS_WORDS)


def _fields(lines: Lines) -> dict[str, Field]:
    """Lines ``Name : value``; lines below that are set in, or begin with the colon, are further values."""
    found: dict[str, Field] = {}
    last: str | None = None
    for number, line in lines:
        pair, continued = _PAIR.fullmatch(line[:1000]), _CONTINUED.fullmatch(line[:1000])
        inset = line[0] in " \t" and pair is None
        if last is not None and (continued is not None or inset):
            before = found[last]
            values = before if isinstance(before, tuple) else () if before is None else (str(before),)
            found[last] = (*values, (continued[1] if continued else line).strip())
        elif pair is not None:
            last = re.sub(r"[^a-z0-9]+", "_", pair[1].lower()).strip("_")
            if last in found:
                raise unreadable(_KIND, f"line {number}", line, f"{pair[1]} once")
            found[last] = _value((pair[2] or "").strip())
        else:
            raise unreadable(_KIND, f"line {number}", line, "a line 'Name : value'")
    return found


def _value(text: str) -> Field:
    if text in _CHASSIS_FLAGS:
        return _CHASSIS_FLAGS[text]
    if text in ("", "na", "N/A", "n/a", "Not Available", "unknown"):
        return None
    if re.fullmatch(r"[0-9]{1,15}", text):
        return int(text)
    percent = re.fullmatch(r"([0-9]{1,3})%", text)
    return int(percent[1]) if percent else text


def _frus(lines: Lines) -> tuple[Fru, ...]:
    groups: list[tuple[re.Match[str], list[tuple[int, str]]]] = []
    for number, line in lines:
        head = _FRU.fullmatch(line.strip())
        if head is not None:
            groups.append((head, []))
        else:
            groups[-1][1].append((number, line))
    frus = tuple(_fru(head[1], int(head[2]) if head[2] else None, tuple(rest)) for head, rest in groups)
    told = [fru for fru in frus if fru.fields or fru.problem]
    for head, _ in groups:
        if _FRU_BAD_ID.search(head[1]):
            raise unreadable(_KIND, "FRU Device Description", head[1], "'NAME (ID 0)'")
    known = [(fru.name, fru.id) for fru in frus if fru.id is not None]
    if len(set(known)) < len(known):
        raise unreadable(_KIND, "output", [fru.name for fru in frus], "each unit once")
    if not told or (told[-1] is not frus[-1] and frus[-1].id is None) or _FRU_CUT.search(frus[-1].name or ""):
        raise unreadable(_KIND, f"line {lines[-1][0]}", lines[-1][1], "the fields of an inventory below it")
    return frus


def _fru(unit: str | None, number: int | None, lines: Lines) -> Fru:
    if lines and _FRU_PROBLEM.fullmatch(problem := lines[0][1].strip()):
        _refuse_more(lines[1:])
        return Fru(unit, number, False if problem.startswith("Device not") else None, {}, problem)
    fields: dict[str, str | tuple[str, ...]] = {}
    in_record = False
    field = _FRU_MEMORY if lines and lines[0][1].strip().startswith("Memory ") else _FRU_FIELD
    for place, line in lines:
        if _FRU_RECORD.fullmatch(line.strip()):
            in_record = True
            continue
        pair = _PAIR.fullmatch(line[:1000])
        known = pair is not None and (field.fullmatch(pair[1].strip()) or (in_record and line[0] in " \t"))
        if pair is None or not known or _FRU.fullmatch(line.strip()):
            raise unreadable(_KIND, f"line {place}", line, "a line 'Name : value' of an inventory")
        name, value = pair[1].strip(), (pair[2] or "").strip()
        before = fields.get(name)
        if before is not None and name in _FRU_ONCE:
            raise unreadable(_KIND, f"line {place}", line, f"{name} once, of one unit")
        fields[name] = value if before is None else (*([before] if isinstance(before, str) else before), value)
    return Fru(unit, number, True if fields else None, fields, None)

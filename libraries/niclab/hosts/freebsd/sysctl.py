"""Reader of FreeBSD's ``sysctl`` (``name: value``, ``-e``: ``name=value``, ``-n``: values only)."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from niclab.hosts.errors import ReadError, unreadable
from niclab.hosts.freebsd.kernel_values import driver_version
from niclab.hosts.freebsd.pciconf import slot_of
from niclab.hosts.reading import dedented
from niclab.hosts.transcript import command_words, refuse_error, transcript

_KIND = "sysctl"
_TOOLS = ("sysctl",)

# Every value has a name of at least two parts, the first one of the tree's roots; "%" begins the names of newbus.
# Messages of old Linux drivers begin with a name of their source ("acenic.c: v0.92").
# The dummy child of a node of jail parameters has an empty name: "security.jail.param.sysvshm.: 0".
_OID = r"(?![a-z0-9_]+\.[ch][:=])(?:[a-z][a-z_]*|p1003_1b)(?:\.[A-Za-z0-9_%:@/+-]+)+\.?"
# The roots of the kernel's tree; modules of others may plant one. Scripts and hosts have names with dots as well:
# "run.sh: line 3: sysctl: command not found", "dut.example.org: Name or service not known".
_ROOTS = frozenset(
    (
        *("sysctl", "kern", "vm", "vfs", "net", "debug", "hw", "machdep", "user", "p1003_1b", "compat", "security"),
        *("dev", "kstat", "regression", "dtrace"),
    )
)
_LINE = re.compile(rf"({_OID})(: |:$|=)(.*)")
_NAME_ALONE = re.compile(rf"{_OID}:?")
# A single word that could become a name; the values of several lines end in other things.
_BEGINNING = re.compile(r"[a-z][a-z0-9_]*\.?(?:[A-Za-z0-9_%.]*)")
_WHOLE = re.compile(r"0|-?[1-9][0-9]{0,19}")
_OF_SEVERAL_LINES = (
    *("kern.version", "kern.geom.conf", "kern.conftxt", "kern.msgbuf", "kern.sched.topology_spec", "kern.console"),
    *("vm.", "debug.", "vfs.", "kern.timecounter.", "kern.eventtimer."),
)
_CHANGE = re.compile(r"(.*) -> (.*)")
_DEVICE = re.compile(r"dev\.([a-z][a-z0-9_]*)\.([0-9]{1,4})\.(.+)")
# What sysctl -d says of the names that every device has (sys/kern/subr_bus.c), and -t of their type.
_DESCRIPTIONS = {
    "%desc": ("device description", "string"),
    "%driver": ("device driver name", "string"),
    "%location": ("device location relative to parent", "string"),
    "%pnpinfo": ("device identification", "string"),
    "%parent": ("parent device", "string"),
}
_ADDRESS = re.compile(r"\bpci[0-9]{1,5}(?::[0-9]{1,3}){3}\b")
# Where values have no names, what a shell or a connection says must be told from them.
_MESSAGE = re.compile(
    r"-?(?:[a-z]{0,4}sh|sudo|doas|su|env|exec|usage|[Ee]rror|ERROR|[Ww]arning|ld-elf\.so\.1|kex_[a-z_]{1,30}): .*"
    r"|(?:.{0,200}: )?(?:[Cc]ommand not found|not found|Permission denied|Operation not permitted"
    r"|No such file or directory|No route to host|Name or service not known|Host key verification failed"
    r"|Connection (?:refused|timed out|reset|closed)|.{1,80} is not in the sudoers file)\b.{0,100}"
)
_LOG_LINE = re.compile(r"[a-z][a-z0-9_]*[0-9]: <.+")
# Firmware and driver versions under the names that drivers give them.
_FIRMWARE = ("firmware_version", "fw_version", "fw_ver", "ver.fw_ver", "hw.fw_version", "nvm_version", "tp_version")
_VERSION = ("driver_version", "component_revision", "iflib.driver_version", "version", "ver.driver_ver")


@dataclass(frozen=True)
class BsdDevice:
    """A newbus device: what ``dev.DRIVER.UNIT`` says. ``pnpinfo`` and ``location`` are words by name
    (``vendor``: ``0x19a2``, ``slot``: ``0``). ``bus`` is the PCI address ``0000:04:00.0`` and the ids are four
    hexadecimal digits, where these words tell them (the address since release 10)."""

    name: str
    driver: str
    unit: int
    description: str | None
    parent: str | None
    location: dict[str, str]
    pnpinfo: dict[str, str]
    firmware: str | None
    version: str | None
    bus: str | None
    vendor_id: str | None
    device_id: str | None
    subvendor: str | None
    subdevice: str | None


@dataclass(frozen=True)
class Sysctls:
    """``values``: whole numbers as int, everything else as text; lines of a value are joined by line feeds.

    ``changed``: the value before a setting took place. ``errors``: complaints of the tool beside values.
    ``unnamed``: lines of a multi-line value whose name was cut off (by grep).
    """

    values: dict[str, int | str]
    changed: dict[str, int | str] = field(default_factory=dict)
    errors: tuple[str, ...] = ()
    unnamed: tuple[str, ...] = ()

    def __getitem__(self, name: str) -> int | str:
        if name not in self.values:
            raise ReadError(f"no sysctl {name!r} among {len(self.values)}")
        return self.values[name]

    def devices(self) -> tuple[BsdDevice, ...]:
        """The devices of the tree ``dev``, in order."""
        found: dict[tuple[str, int], dict[str, str]] = {}
        for name, value in self.values.items():
            match = _DEVICE.fullmatch(name)
            if match is not None:
                found.setdefault((match[1], int(match[2])), {})[match[3]] = str(value)
        return tuple(_device(driver, unit, leaves) for (driver, unit), leaves in found.items())

    def as_json(self) -> dict[str, object]:
        devices = self.devices()
        values: dict[str, object] = {
            "values": self.values,
            "devices": devices,
            "changed": self.changed,
            "errors": self.errors,
            "unnamed": self.unnamed,
        }
        if len(devices) == 1:
            values |= {name: getattr(devices[0], name) for name in ("driver", "firmware", "version", "bus")}
        return values


def read_sysctl(text: str, command: str | None = None) -> Sysctls:
    """Read ``sysctl``. Without names (``-n``) the command must say them; ``-d``, ``-t`` and ``-N`` are refused."""
    found = transcript(text, *_TOOLS, alone=_KIND)
    command = command or found.command
    options, names = _asked(command)
    for option, meaning in (("d", "descriptions"), ("t", "types"), ("N", "names only")):
        if option in options:
            raise unreadable(_KIND, "command", command, f"values; -{option} prints {meaning}")
    filled = dedented(found.filled)
    errors = tuple(line for _, line in filled if line.startswith("sysctl: "))
    lines = tuple((number, line) for number, line in filled if not line.startswith("sysctl: "))
    if "n" in options:
        return Sysctls(_values_only(lines, names), errors=errors)
    return _named(lines, errors, found.filled)


def _asked(command: str | None) -> tuple[str, list[str]]:
    """The option letters and the names of a command line."""
    words = command_words(command)
    while words and words[0].rpartition("/")[2] != "sysctl":
        words = words[1:]
    letters = "".join(word[1:] for word in words[1:] if word.startswith("-"))
    return letters, [word for word in words[1:] if not word.startswith("-")]


def _values_only(lines: tuple[tuple[int, str], ...], names: list[str]) -> dict[str, int | str]:
    texts = [line for _, line in lines]
    for number, line in lines:
        if _MESSAGE.fullmatch(line):
            raise unreadable(_KIND, f"line {number}", line, "a value; this is a message")
    if len(names) == 1 and texts:
        return {names[0]: _value("\n".join(texts))}
    if not names or len(names) != len(texts):
        wanted = f"one value of each of {len(names)} names in the command"
        raise unreadable(_KIND, "text", "\n".join(texts), wanted)
    return {name: _value(text) for name, text in zip(names, texts, strict=True)}


def _named(lines: tuple[tuple[int, str], ...], errors: tuple[str, ...], whole: tuple[tuple[int, str], ...]) -> Sysctls:
    texts: dict[str, list[str]] = {}
    unnamed: list[str] = []
    name: str | None = None
    for number, line in lines:
        match = _LINE.fullmatch(line)
        if match is not None and (match[1].partition(".")[0] in _ROOTS or _WHOLE.fullmatch(match[3].strip())):
            name = match[1]
            if name in texts and texts[name] != [match[3]]:
                raise unreadable(_KIND, f"line {number}", line, f"{name} once, or always with the same value")
            if "%" in name:
                _refuse_description(number, line, name, match[3])
            texts[name] = [match[3]]
        elif _belongs_to_a_log(line, name, texts, unnamed):
            unnamed.append(line)
        elif name is None or _is_whole(name, texts[name], line) or _cut_off(number, line, lines):
            raise unreadable(_KIND, f"line {number}", line, "'name: value' such as 'dev.oce.0.%driver: oce'")
        else:
            texts[name].append(line)
    if name in texts and name.endswith(("%location", "%pnpinfo")) and _cut_words(texts[name][-1]):
        raise unreadable(_KIND, name, texts[name][-1], "words such as slot=0; the last one was cut")
    if not texts:
        raise refuse_error(_KIND, whole, _TOOLS, "'name: value' such as 'dev.oce.0.%driver: oce'")
    if not any(part for parts in texts.values() for part in parts):
        raise unreadable(_KIND, "text", ", ".join(texts), "a value of at least one name")
    if texts.get("kern.ostype", ["FreeBSD"]) != ["FreeBSD"]:
        raise unreadable(_KIND, "kern.ostype", texts["kern.ostype"][0], "FreeBSD")
    changed: dict[str, int | str] = {}
    values: dict[str, int | str] = {}
    for name, parts in texts.items():
        change = _CHANGE.fullmatch(parts[0]) if len(parts) == 1 and " -> " in parts[0] else None
        values[name] = _value(change[2] if change else "\n".join(parts))
        if change is not None:
            changed[name] = _value(change[1])
    return Sysctls(values, changed, errors, tuple(unnamed))


def _belongs_to_a_log(line: str, name: str | None, texts: dict[str, list[str]], unnamed: list[str]) -> bool:
    """A line of the kernel's log that stands alone, or the rest of such a line that a page has broken."""
    if name == "kern.msgbuf":
        return False
    if _LOG_LINE.fullmatch(line):
        return True
    return bool(unnamed) and (name is None or _WHOLE.fullmatch(texts[name][0]) is not None)


def _is_whole(name: str, parts: list[str], line: str) -> bool:
    """Whether the value above this line has one line only: a number, and what does not begin on the next line, unless
    it is known to have several or the line is set in."""
    if _WHOLE.fullmatch(parts[0]) or "%" in name:
        return True
    return bool(parts[0]) and not line[:1].isspace() and not name.startswith(_OF_SEVERAL_LINES)


def _cut_off(number: int, line: str, lines: tuple[tuple[int, str], ...]) -> bool:
    """A name without a value at the very end, or the beginning of one: the output was cut."""
    return number == lines[-1][0] and (_NAME_ALONE.fullmatch(line) or _BEGINNING.fullmatch(line)) is not None


def _cut_words(value: str) -> bool:
    """Whether the last of several words ``slot=0 function=1`` is not whole."""
    *words, last = value.split() or [""]
    return bool(words) and "=" in words[0] and (not re.search(r"=.", last) or re.search(r"=0x$", last) is not None)


def _refuse_description(number: int, line: str, name: str, value: str) -> None:
    if value.strip() in _DESCRIPTIONS.get(name.rpartition(".")[2], ()):
        raise unreadable(_KIND, f"line {number}", line, "values; this is what -d or -t prints")


def _value(text: str) -> int | str:
    """A number only when printing it gives the same text again: "00123" stays text."""
    text = text.strip()
    return int(text) if _WHOLE.fullmatch(text) else text


def _device(driver: str, unit: int, leaves: dict[str, str]) -> BsdDevice:
    pnpinfo = _words(leaves.get("%pnpinfo", ""))
    address = _ADDRESS.search(leaves.get("%location", ""))
    return BsdDevice(
        name=f"{driver}{unit}",
        driver=leaves.get("%driver") or driver,
        unit=unit,
        description=leaves.get("%desc") or None,
        parent=leaves.get("%parent") or None,
        location=_words(leaves.get("%location", "")),
        pnpinfo=pnpinfo,
        firmware=next((leaves[name] for name in _FIRMWARE if leaves.get(name)), None),
        version=next((leaves[name] for name in _VERSION if leaves.get(name)), None)
        or driver_version(leaves.get("%desc", "")),
        bus=slot_of(_KIND, f"dev.{driver}.{unit}.%location", address[0]) if address else None,
        vendor_id=_pci_id(pnpinfo, "vendor"),
        device_id=_pci_id(pnpinfo, "device"),
        subvendor=_pci_id(pnpinfo, "subvendor"),
        subdevice=_pci_id(pnpinfo, "subdevice"),
    )


def _pci_id(pnpinfo: dict[str, str], name: str) -> str | None:
    """``vendor=0x19a2`` -> ``19a2``; devices of other buses have other words under these names."""
    match = re.fullmatch(r"0x([0-9a-f]{4})", pnpinfo.get(name, ""))
    return match[1] if match else None


def _words(text: str) -> dict[str, str]:
    """``slot=0 function=1 dbsf=pci0:1:0:0`` by name."""
    return dict(word.split("=", 1) for word in text.split() if "=" in word)

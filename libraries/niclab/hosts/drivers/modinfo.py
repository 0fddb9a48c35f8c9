"""Reader of ``modinfo MODULE`` (kmod 25 and later)."""

from __future__ import annotations

import re

from niclab.hosts.errors import unreadable
from niclab.hosts.host_records import ModuleFile, ModuleParameter
from niclab.hosts.reading import filled

_KIND = "modinfo"

_LINE = re.compile(r"([a-z][a-z0-9_]{0,30}):(?:\s+(.*)|)")
_ONCE = ("filename", "name", "srcversion", "vermagic", "depends")
_NEVER_EMPTY = ("firmware", "alias", "vermagic")
# Values that may run over several lines, which then begin anywhere.
_MULTI_LINE = ("parm", "description", "author", "signature")
_SIGNATURE_LINE = re.compile(r"\s*[0-9A-Fa-f]{2}(?::?[0-9A-Fa-f]{2})*:?\s*|\s*:\s*")
_NO_VERSION = re.compile(r"-[0-9].*")
_BUILT_IN = "(builtin)"
_MODULE_FILE = re.compile(r"\.ko(?:\.[a-z0-9]{1,4})?$")
# Fields of the record, or of no use in it (a signature is a page of digits).
_NAMED = (*_ONCE, "version", "firmware", "description", "license", "author", "alias", "parm", "intree", "signer")
_LEFT_OUT = ("signature",)

_IS_SRCVERSION = re.compile(r"[0-9A-F]{1,24}")
_PARAMETER = re.compile(r"([A-Za-z0-9_.-]{1,80}):(.*)", re.DOTALL)
_TYPE = re.compile(
    r"(?:array of )?(?:byte|hexint|short|ushort|int|uint|long|ulong|ullong|bool|invbool|bint|charp|string)"
)
_TYPE_AT_END = re.compile(r"\(((?:array of )?[a-z_ ]{3,20})\)$")


def read_modinfo(text: str) -> ModuleFile:
    """Read ``modinfo MODULE``. A module built into the kernel has no version, srcversion or vermagic line.

    Raises:
        ReadError: The text is no such output, or that of two modules.
    """
    found = _fields(text)
    filename = _first(found, "filename")
    if filename is None or (filename != _BUILT_IN and not _MODULE_FILE.search(filename)):
        raise unreadable(_KIND, "filename", filename or text, "the path of a module, FILE.ko, or (builtin)")
    if filename != _BUILT_IN and not found.get("vermagic"):
        raise unreadable(_KIND, "text", text, "a line 'vermagic: ...': the output is incomplete")
    depends = _first(found, "depends")
    return ModuleFile(
        filename=None if filename == _BUILT_IN else filename,
        built_in=filename == _BUILT_IN,
        name=_first(found, "name") or None,
        version=_first(found, "version") or None,
        srcversion=_first(found, "srcversion") or None,
        vermagic=_first(found, "vermagic") or None,
        depends=None if depends is None else tuple(name for name in depends.split(",") if name),
        firmware=tuple(found.get("firmware", ())),
        description=_first(found, "description") or None,
        license=_first(found, "license") or None,
        parameters=tuple(_parameter(value) for value in found.get("parm", ())),
        signer=_first(found, "signer") or None,
        in_tree=None if filename == _BUILT_IN else _first(found, "intree") == "Y",
        fields={key: tuple(values) for key, values in found.items() if key not in (*_NAMED, *_LEFT_OUT)},
    )


def _fields(text: str) -> dict[str, list[str]]:
    """Every field with its values; a value of several lines keeps its line ends."""
    found: dict[str, list[str]] = {}
    key = ""
    for number, line in filled(text):
        match = _LINE.fullmatch(line)
        if match is not None:
            key = match[1]
            found.setdefault(key, []).append((match[2] or "").strip())
            if _is_damaged(key, found[key][-1]):
                raise unreadable(_KIND, f"line {number}", line, f"a value of {key}")
            if key in _ONCE and len(found[key]) > 1:
                raise unreadable(_KIND, f"line {number}", line, f"{key} once, of one module")
        elif key in _MULTI_LINE and _continues(key, found[key][-1], line):
            found[key][-1] += f"\n{line.strip()}"
        else:
            raise unreadable(_KIND, f"line {number}", line, "'name: value'")
    return found


def _is_damaged(key: str, value: str) -> bool:
    if key == "srcversion":
        return bool(value) and _IS_SRCVERSION.fullmatch(value) is None
    if key in ("version", "vermagic") and _NO_VERSION.fullmatch(value):
        return True
    return key in _NEVER_EMPTY and not value


def _continues(key: str, value: str, line: str) -> bool:
    """Return True if this is another line of the value; that of a parameter ends with its type."""
    if key in _LEFT_OUT:
        return _SIGNATURE_LINE.fullmatch(line) is not None
    return key != "parm" or not _TYPE_AT_END.search(value)


def _parameter(value: str) -> ModuleParameter:
    """``debug:Debug level (0=none,...,16=all) (int)``, ``RSS:array of int``, ``mode: as it is``."""
    match = _PARAMETER.fullmatch(value)
    if match is None:
        return ModuleParameter(value, None, None)
    rest = match[2].strip()
    if _TYPE.fullmatch(rest):
        return ModuleParameter(match[1], None, rest)
    typed = _TYPE_AT_END.search(rest)
    if typed is None:
        return ModuleParameter(match[1], rest or None, None)
    return ModuleParameter(match[1], rest[: typed.start()].strip() or None, typed[1])


def _first(found: dict[str, list[str]], key: str) -> str | None:
    return found[key][0] if key in found else None

"""Reader of FreeBSD's package tools: ``pkg info`` (list, -f, -q, -o, -s), ``pkg_info`` (list) and ``pkg query``.

"No package matches" is an error, not an empty list: the same tool says the same of a misspelt name.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

from niclab.hosts.errors import ReadError, unreadable
from niclab.hosts.freebsd.fields import with_fields
from niclab.hosts.freebsd.pkgquery import QUERY_FIELDS, Query, read_query
from niclab.hosts.transcript import refuse_error, transcript

_KIND = "pkg"
_LONGEST_LINE = 1000
_TOOLS = ("pkg", "pkg_info", "pkg-static", "pkg_version")

# A version never holds a hyphen; it begins with a digit or, rarely, with a letter before digits ("s20150114").
_VERSION = r"[0-9a-z][0-9A-Za-z.+~]*(?:_[0-9]+)?(?:,[0-9]+)?"
_NAME = r"[A-Za-z0-9][A-Za-z0-9_.+@-]*"
_VERSIONED = re.compile(rf"({_NAME})-({_VERSION})")
_LISTED = re.compile(r"(\S+)(?:\s+(\S.*))?")
_FIELD = re.compile(r"([A-Z][A-Za-z ]{2,20}?)\s*:(?: (.*)|)")
_ORIGIN = re.compile(r"[a-z0-9][a-z0-9-]*/[A-Za-z0-9_.+-]+(?:@[a-z0-9]+)?")
_ABI = re.compile(r"[A-Za-z]+:[0-9*]+:[A-Za-z0-9:_*-]+")
_COMPARED = re.compile(r"[=<>?!*]\s")
_SIZE = re.compile(r"([0-9]{1,6}(?:\.[0-9]{1,6})?) ?([KMGT]?i?B)")
_NO_PACKAGE = re.compile(r"(?:pkg(?:-static)?: No package\(s\) (?:matching|installed)|pkg_info: (?:no|can't find)).*")
# What the long form prints in one shape; anything else was cut or is of another tool.
_WHOLE = {
    "Version": re.compile(r"(?!-)(?=.*[0-9]).*[0-9A-Za-z]"),
    "Architecture": re.compile(r"\S+:\S+:\S+|\*"),
    "Installed on": re.compile(r".*[0-9]{1,2}:[0-9]{2}:[0-9]{2}.* [0-9]{4}(?: \S{1,8})?|[0-9]{4}-[0-9]{2}-[0-9]{2}.*"),
    "Origin": re.compile(r"[^/\s]+/[^/\s]+"),
    "Prefix": re.compile(r"/.*"),
}
_ANNOTATION = re.compile(r"([A-Za-z0-9_.-]+)\s*: (.*)")
_OLD_INFORMATION = re.compile(r"Information for (\S+):")
# Fields of rpm -qi, which begins with a name and a version as well.
_OF_RPM = re.compile(r".*\.(?:x86_64|noarch|i[3-6]86|aarch64|ppc64(?:le)?|s390x)")
_OF_ANOTHER_TOOL = (
    "Release",
    "Source RPM",
    "Summary",
    "Signature",
    "Group",
    "Install Date",
    "Build Date",
    "Build Host",
)
_UNITS = {"B": 1, "KiB": 2**10, "MiB": 2**20, "GiB": 2**30, "TiB": 2**40, "KB": 10**3, "MB": 10**6, "GB": 10**9}
_FIELDS = {
    "Name": "name",
    "Version": "version",
    "Installed on": "installed_on",
    "Origin": "origin",
    "Architecture": "arch",
    "Prefix": "prefix",
    "Repository": "repository",
    "Comment": "comment",
    "Flat size": "size_bytes",
}


@dataclass(frozen=True)
class Package:
    """``arch`` as printed (``FreeBSD:13:amd64``), ``abi`` release and architecture of it when it has that form.
    ``size_bytes`` is rounded as the tool rounds it."""

    name: str
    version: str
    comment: str | None = None
    origin: str | None = None
    arch: str | None = None
    prefix: str | None = None
    repository: str | None = None
    installed_on: str | None = None
    size_bytes: int | None = None

    def as_json(self) -> dict[str, object]:
        values: dict[str, object] = {name: getattr(self, name) for name in self.__dataclass_fields__}
        return {**values, "abi": self.arch if self.arch and _ABI.fullmatch(self.arch) else None}


@dataclass(frozen=True)
class Packages:
    packages: tuple[Package, ...]

    def as_json(self) -> dict[str, object]:
        """``packages``; of a single one the same fields also at the top level."""
        top = self.packages[0].as_json() if len(self.packages) == 1 else {}
        return {**top, "packages": self.packages}


def read_pkg(text: str, command: str | None = None) -> Packages:
    """Read a list or the long form of the package tools."""
    found = transcript(text, *_TOOLS, alone=_KIND)
    lines = tuple((number, line.strip()) for number, line in found.filled)
    for number, line in lines:
        if _NO_PACKAGE.fullmatch(line):
            raise unreadable(_KIND, f"line {number}", line, "at least one package; none of this name is installed")
    lines = tuple((number, line) for number, line in lines if not re.match(r"pkg(?:-static|_info)?: ", line))
    if not lines:
        raise refuse_error(_KIND, found.filled, _TOOLS, "at least one package, 'NAME-VERSION COMMENT'")
    query = read_query(_KIND, command or found.command)
    if query is not None:
        return Packages(tuple(_queried(number, line, query) for number, line in lines))
    if any(re.fullmatch(r"Name\s*: .*", line) for _, line in lines):
        return Packages(_long(lines))
    if _OLD_INFORMATION.fullmatch(lines[0][1]):
        return Packages(_old_long(lines))
    return Packages(_all_listed(lines))


def _all_listed(lines: tuple[tuple[int, str], ...]) -> tuple[Package, ...]:
    """One package a line; the same name and version twice are two lists in one text."""
    packages: list[Package] = []
    seen: set[tuple[str, str]] = set()
    for number, line in lines:
        package = _listed(number, line)
        if (package.name, package.version) in seen:
            raise unreadable(_KIND, f"line {number}", line, f"{package.name}-{package.version} once")
        seen.add((package.name, package.version))
        packages.append(package)
    if not _WHOLE["Version"].fullmatch(packages[-1].version):
        raise unreadable(_KIND, f"line {number}", line, "a whole version; it was cut")
    return tuple(packages)


def _listed(number: int, line: str) -> Package:
    """``NAME-VERSION [COMMENT|ORIGIN|SIZE]``, or ``NAME VERSION [COMMENT]`` as people let pkg query print it."""
    where = f"line {number}"
    match = _LISTED.fullmatch(line)
    versioned = _VERSIONED.fullmatch(match[1]) if match else None
    if match is not None and (versioned is None or not re.search(r"[0-9]", versioned[2])):
        versioned = None
        words = line.split(None, 2)
        if (
            len(words) > 1
            and re.match(r"[0-9]+[.,_]", words[1])
            and re.fullmatch(rf"{_NAME} {_VERSION}", " ".join(words[:2]))
        ):
            return _with_rest(Package(words[0], words[1]), words[2] if len(words) == 3 else None, where, line)
    if match is None or versioned is None:
        raise unreadable(_KIND, where, line, "'NAME-VERSION COMMENT' such as 'oce-4.2.313.0 oce driver for freebsd'")
    if _OF_RPM.fullmatch(versioned[2]):
        raise unreadable(_KIND, where, line, "'NAME-VERSION COMMENT'; an architecture behind the version is rpm's")
    return _with_rest(Package(versioned[1], versioned[2]), match[2], where, line)


def _with_rest(package: Package, rest: str | None, where: str, line: str) -> Package:
    if rest is None:
        return package
    size = _SIZE.fullmatch(rest)
    if size is not None and size[2] in _UNITS:
        return replace(package, size_bytes=_bytes(size))
    if _ORIGIN.fullmatch(rest):
        return replace(package, origin=rest)
    if not re.search(r"[A-Za-z0-9]", rest) or _COMPARED.match(rest):
        raise unreadable(_KIND, where, line, "a comment after the version; pkg version is another tool")
    return replace(package, comment=rest)


def _queried(number: int, line: str, query: Query) -> Package:
    match = query.pattern.fullmatch(line) if len(line) <= _LONGEST_LINE else None
    if match is None:
        raise unreadable(_KIND, f"line {number}", line, "what the format of pkg query prints")
    values = {QUERY_FIELDS[name]: text.strip() or None for name, text in match.groupdict().items()}
    name, version = values.pop("name", query.name), values.pop("version")
    if not name or not version or not re.search(r"[0-9]", version):
        raise unreadable(_KIND, f"line {number}", line, "a name and a version")
    return with_fields(Package(name, version), values)


def _long(lines: tuple[tuple[int, str], ...]) -> tuple[Package, ...]:
    """``pkg info -f``: fields up to "Description", after that text until the next package."""
    starts = [index for index, (_, line) in enumerate(lines) if re.fullmatch(r"Name\s*: .*", line)]
    for number, line in lines[: starts[0]]:
        if not _VERSIONED.fullmatch(line.removesuffix(":")):
            raise unreadable(_KIND, f"line {number}", line, "'NAME-VERSION', then 'Name : NAME'")
    ends = [*starts[1:], len(lines)]
    return tuple(_one_long(lines[start:end]) for start, end in zip(starts, ends, strict=True))


def _one_long(lines: tuple[tuple[int, str], ...]) -> Package:
    values: dict[str, str] = {}
    section = ""
    for number, line in lines:
        match = _FIELD.fullmatch(line)
        if match is not None and match[1] == "Description":
            break
        if match is not None and match[1] in _OF_ANOTHER_TOOL:
            raise unreadable(_KIND, f"line {number}", line, f"one of {', '.join(_FIELDS)}; this is no field of pkg")
        if match is not None and match[1] in _FIELDS:
            if match[1] in values:
                raise unreadable(_KIND, f"line {number}", line, f"{match[1]} once per package")
            values[match[1]] = (match[2] or "").strip()
        elif section == "Annotations" and (annotation := _ANNOTATION.fullmatch(line)) is not None:
            if annotation[1] == "repository":
                values["Repository"] = annotation[2].strip()
        elif match is None and not section:
            raise unreadable(_KIND, f"line {number}", line, "'Field : value'")
        section = match[1] if match is not None else section
    number, first = lines[0]
    if not values.get("Name") or not values.get("Version"):
        raise unreadable(_KIND, f"line {number}", first, "the fields Name and Version")
    for field, pattern in _WHOLE.items():
        if values.get(field) and not pattern.fullmatch(values[field]):
            raise unreadable(_KIND, field, values[field], "a whole value, as pkg info prints it")
    texts = {_FIELDS[name]: text or None for name, text in values.items() if name != "Flat size"}
    size = _SIZE.fullmatch(values["Flat size"]) if values.get("Flat size") else None
    if values.get("Flat size") and (size is None or size[2] not in _UNITS):
        raise unreadable(_KIND, "Flat size", values["Flat size"], "a size such as 9.14MiB")
    name, version = texts.pop("name"), texts.pop("version")
    package = replace(Package(str(name), str(version)), size_bytes=_bytes(size) if size else None)
    return with_fields(package, texts)


def _old_long(lines: tuple[tuple[int, str], ...]) -> tuple[Package, ...]:
    """``pkg_info NAME``: "Information for NAME-VERSION:", then "Comment:" and its text on the next line."""
    packages: list[Package] = []
    for index, (number, line) in enumerate(lines):
        match = _OLD_INFORMATION.fullmatch(line)
        versioned = _VERSIONED.fullmatch(match[1]) if match else None
        if match is not None and versioned is None:
            raise unreadable(_KIND, f"line {number}", line, "'Information for NAME-VERSION:'")
        if versioned is not None:
            packages.append(Package(versioned[1], versioned[2]))
        elif line == "Comment:" and packages[-1].comment is None and index + 1 < len(lines):
            packages[-1] = replace(packages[-1], comment=lines[index + 1][1])
    return tuple(packages)


def _bytes(match: re.Match[str]) -> int:
    return round(float(match[1]) * _UNITS[match[2]])


def not_installed(error: ReadError) -> bool:
    """Whether a failed read says that no such package is installed."""
    return "none of this name is installed" in error.message

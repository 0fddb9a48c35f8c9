"""Reader of ``dpkg -l``, ``dpkg -s`` and ``dpkg-query -W``, from dpkg 1.15 (no architecture) to 1.22."""

from __future__ import annotations

import re

from niclab.hosts.errors import unreadable
from niclab.hosts.package_records import Package, Packages
from niclab.hosts.reading import dedented, unbroken
from niclab.hosts.transcript import Transcript, transcript

_LIST = "dpkg -l"
_STATUS = "dpkg -s"
_SHOW = "dpkg-query -W"

_NAME = r"[a-z0-9][a-z0-9+.-]{0,127}"
_ARCH = r"(?:[a-z]+-)*[a-z][a-z0-9_]{1,14}"
_VERSION = r"(?:[0-9]{1,6}:)?[0-9][A-Za-z0-9.+~:_-]{0,120}(?<!:)"
# First letters: wish and state of dpkg(1), third: an error.
_DESIRED = {"u": "unknown", "i": "install", "r": "deinstall", "p": "purge", "h": "hold"}
_STATES = {
    "n": "not-installed",
    "c": "config-files",
    "H": "half-installed",
    "U": "unpacked",
    "F": "half-configured",
    "W": "triggers-awaited",
    "t": "triggers-pending",
    "i": "installed",
}
_LIST_LINE = re.compile(rf"([uirph][ncHUFWti][ RX]?)\s+({_NAME})(?::({_ARCH})?)?\s+(\S+)(?:\s+(\S.*))?")
_ARCHITECTURES = frozenset(
    " ".join(
        (
            "all amd64 i386 arm64 armel armhf ppc64el ppc64 powerpc s390x s390 mips mipsel mips64el riscv64 ia64 sparc",
            "sparc64 alpha hppa m68k sh4 x32 lpia loong64 kfreebsd-amd64 kfreebsd-i386 hurd-i386",
        )
    ).split()
)
# The headings are translated ("Gewünscht=Unbekannt/Installieren/..."), the letters below them are not.
_HEADING = re.compile(
    r"\w{2,30}=[^/=]{1,40}(?:/[^/]{1,60}){2,6}|\| \w{2,30}=.*|\|/ \w{2,30}\?=.*|\|\|/ \w.*|\+\+\+-[=-]*"
)
_COLUMNS = re.compile(r"\|\|/ \w+\s+\w+\s+(\w+\s+)?\w+\s*")
# The meanings of the letters may take two lines.
_MORE_HEADING = re.compile(r"\s+\S[^/]*(?:/[^/]+)+")
_NOTHING = re.compile(r"<\w{2,20}>")  # "<none>" and its translations
_FIELD = re.compile(r"([A-Z][A-Za-z0-9-]{0,40}):(?:\s+(.*)|)")
_STATUS_WORDS = re.compile(r"(install|hold|deinstall|purge|unknown) (ok|reinstreq|hold|hold-reinstreq) ([a-z-]{6,20})")
_WISH = r"(?:install|hold|deinstall|purge|unknown)[\t ]"  # a status begins here, where an architecture could stand
_SHOW_LINE = re.compile(
    rf"({_NAME})(?::({_ARCH}))?(?:(?:[\t ]+({_VERSION}))?(?:[\t ]+(?!{_WISH})({_ARCH}))?(?:[\t ]+(\S.*))?)?[\t ]*"
)
_SEPARATOR = "--"  # grep -A writes it between groups of lines
_ABSENT = (
    re.compile(r"(?:dpkg-query: )?[Nn]o packages found matching (\S+?)\.?"),
    re.compile(
        r"(?:dpkg-query: |dpkg: )?[Pp]ackage [`'‘](\S+?)['’] is not installed and no info(?:rmation)? is available\.?"
    ),
)
_WARNING = ("dpkg-query: warning: ", "dpkg: warning: ")
_ADVICE = re.compile(r"Use dpkg (?:--info|--contents|--listfiles|-I).*|(?:and )?dpkg --contents .*")


def read_dpkg(text: str) -> Packages:
    """Read any of the three forms; the first line that says something tells which it is."""
    lines = _lines(text)
    absent = [package for _, line in lines for package in _absent(line)]
    kept = [(number, line) for number, line in lines if not list(_absent(line)) and not _ADVICE.fullmatch(line.strip())]
    if not [line for _, line in kept if line.strip()]:
        if not absent:
            raise unreadable("dpkg", "text", text, "at least one package")
        return Packages(tuple(absent))
    first = next((number, line) for number, line in kept if line.strip())
    if _HEADING.fullmatch(first[1]) or (_LIST_LINE.fullmatch(first[1]) and first[1][1:2] in _STATES):
        packages = _listed(kept)
    elif first[1].startswith("Package:"):
        packages = _stanzas(kept)
    else:
        packages = _shown(kept, text)
    if not packages:
        raise unreadable("dpkg", "text", text, "at least one package")
    return Packages((*packages, *absent))


def _lines(text: str) -> tuple[tuple[int, str], ...]:
    """Without prompts and warnings; a first line ``dpkg<TAB>1.21`` is a package and no command."""
    seen: Transcript = transcript(text, "dpkg", "dpkg-query")
    if seen.command is not None and not any(word.startswith("-") for word in seen.command.split()):
        seen = transcript(text)
    lines: list[tuple[int, str]] = []
    warned = False
    for number, line in dedented(seen.lines):
        # A warning that ends in a colon goes on in the next line: "... line 12 package 'x':", " missing maintainer".
        goes_on = warned and line.startswith(" ")
        warning = line.startswith(_WARNING) or goes_on
        warned = warning and not goes_on and line.endswith(":")
        if not warning:
            lines.append((number, line))
    return tuple(lines)


def _absent(line: str) -> list[Package]:
    for pattern in _ABSENT:
        match = pattern.fullmatch(line.strip())
        if match is not None:
            return [Package(match[1], None, None, None, False)]
    return []


def _listed(lines: list[tuple[int, str]]) -> list[Package]:
    """``dpkg -l``. The architecture is a column of its own since dpkg 1.16.2."""
    column: bool | None = None
    heading = False
    packages: list[Package] = []
    for number, line in unbroken([entry for entry in lines if entry[1].strip()], _begins):
        heading = bool(_HEADING.fullmatch(line) or (heading and _MORE_HEADING.fullmatch(line)))
        if heading:
            columns = _COLUMNS.fullmatch(line)
            column = columns[1] is not None if columns else column
            continue
        match = _LIST_LINE.fullmatch(line)
        if match is None:
            raise unreadable(_LIST, f"line {number}", line, "'ii  NAME  VERSION  [ARCHITECTURE]  DESCRIPTION'")
        packages.append(_listed_package(number, match, column))
    return packages


def _description(text: str | None, *, known: bool) -> str | None:
    """None for "(no description available)", which stands cut and translated with packages that are not there."""
    if text is None or text == "(no description available)" or (not known and text.startswith("(")):
        return None
    return text.strip()


def _begins(line: str) -> bool:
    return any(pattern.fullmatch(line) for pattern in (_LIST_LINE, _HEADING))


def _listed_package(number: int, match: re.Match[str], column: bool | None) -> Package:
    marks, name, suffix, version, rest = match.groups()
    known, state = not _NOTHING.fullmatch(version), _STATES[marks[1]]
    if known and not re.fullmatch(_VERSION, version):
        raise unreadable(_LIST, f"line {number}", version, "a version that begins with a digit, or '<none>'")
    architecture, description = suffix, rest
    # What is not there may have an empty column.
    words = [] if rest is None or (not known and rest.startswith("(")) else rest.split(None, 1)
    nothing = bool(words) and _NOTHING.fullmatch(words[0]) is not None
    if words and (column is True or (column is None and (nothing or words[0] in _ARCHITECTURES))):
        architecture = None if nothing else words[0] if column or suffix not in _ARCHITECTURES else suffix
        description = words[1] if len(words) > 1 else None
    broken = marks[2:3] == "R"
    return Package(
        name=name,
        version=version if known else None,
        architecture=architecture,
        status=marks.strip(),
        installed=state == "installed" and not broken,
        desired=_DESIRED[marks[0]],
        state=state,
        broken=broken,
        description=_description(description, known=known),
    )


def _stanzas(lines: list[tuple[int, str]]) -> list[Package]:
    """``dpkg -s``: one paragraph a package; continuation lines begin with a blank."""
    packages: list[Package] = []
    fields: dict[str, str] = {}
    for number, line in [*lines, (0, "")]:
        if not line.strip() or line == _SEPARATOR:
            if fields:
                packages.append(_stanza_package(number, fields))
                fields = {}
            continue
        match = _FIELD.fullmatch(line)
        if match is not None and match[1] == "Package" and fields:
            packages.append(_stanza_package(number, fields))
            fields = {}
        if match is not None:
            if match[1] in fields:
                raise unreadable(_STATUS, f"line {number}", line, f"{match[1]} once per package")
            fields[match[1]] = (match[2] or "").strip()
        elif not fields or line[0] not in " \t":
            raise unreadable(_STATUS, f"line {number}", line, "'Field: value' or an indented continuation")
    return packages


def _stanza_package(number: int, fields: dict[str, str]) -> Package:
    name, status = fields.get("Package", ""), fields.get("Status")
    empty = [key for key in ("Version", "Architecture", "Status") if fields.get(key) == ""]
    if empty:
        raise unreadable(_STATUS, f"before line {number}", f"{empty[0]}:", f"a value of {empty[0]}")
    if not re.fullmatch(_NAME, name):
        raise unreadable(_STATUS, f"before line {number}", name, "'Package: NAME'")
    if not fields.keys() & {"Version", "Status"}:
        raise unreadable(_STATUS, f"package {name}", ", ".join(fields), "a status or a version; the output was cut")
    architecture = fields.get("Architecture") or None
    if architecture is not None and architecture.rpartition("-")[2] not in _ARCHITECTURES:
        raise unreadable(_STATUS, f"package {name}", architecture, "an architecture of Debian's")
    version = fields.get("Version") or None
    if version is not None and not re.fullmatch(_VERSION, version):
        raise unreadable(_STATUS, f"package {name}", version, "a version that begins with a digit")
    words = _STATUS_WORDS.fullmatch(status) if status is not None else None
    if status is not None and (words is None or words[3] not in _STATES.values()):
        raise unreadable(_STATUS, f"package {name}", status, "a status such as 'install ok installed'")
    return Package(
        name=name,
        version=version,
        architecture=architecture,
        status=status,
        installed=_installed(words),
        desired=words[1] if words else None,
        state=words[3] if words else None,
        broken=words[2] != "ok" if words else None,
        description=fields.get("Description") or None,
        source=fields.get("Source") or None,
    )


def _installed(words: re.Match[str] | None) -> bool | None:
    return None if words is None else words[3] == "installed" and words[2] == "ok"


def _shown(lines: list[tuple[int, str]], text: str) -> list[Package]:
    """``dpkg-query -W``: name, version, and what a format of one's own may add (architecture, status)."""
    packages: list[Package] = []
    as_printed = text.split("\n")
    for number, line in lines:
        if not line.strip():
            continue
        match = _SHOW_LINE.fullmatch(line)
        words = _STATUS_WORDS.fullmatch(match[5].strip()) if match and match[5] else None
        if match is None or (match[5] and words is None) or (match[4] and match[4] not in _ARCHITECTURES):
            raise unreadable(_SHOW, f"line {number}", line, "'NAME<TAB>VERSION'")
        # A package without version has the tab still.
        if match[3] is None and words is None and "\t" not in as_printed[number - 1]:
            raise unreadable(_SHOW, f"line {number}", line, "'NAME<TAB>VERSION'")
        packages.append(
            Package(
                name=match[1],
                version=match[3],
                architecture=match[2] or match[4],
                status=words[0] if words else None,
                installed=_installed(words) if words else (False if match[3] is None else None),
                desired=words[1] if words else None,
                state=words[3] if words else None,
                broken=words[2] != "ok" if words else None,
            )
        )
    return packages

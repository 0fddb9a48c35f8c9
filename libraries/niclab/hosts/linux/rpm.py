"""Reader of ``rpm -q``, ``rpm -qa`` (also with --last) and ``rpm -qi``, from rpm 4.4 (RHEL 5: no architecture) on."""

from __future__ import annotations

import re

from niclab.hosts.errors import unreadable
from niclab.hosts.package_records import Package, Packages
from niclab.hosts.transcript import transcript

_KIND = "rpm -q"
_INFO = "rpm -qi"

_ARCHITECTURES = (
    "noarch|x86_64|i[3-6]86|athlon|ia32e|ia64|amd64|aarch64|armv[5-8][a-z]{0,3}|ppc|ppc64|ppc64le|ppc64p7|s390|s390x"
    r"|sparc(?:64|v9)?|riscv64|loongarch64|mips64el|src|nosrc|\(none\)"
)
_PACKAGE = re.compile(
    r"([A-Za-z0-9_][A-Za-z0-9+._-]{0,127})-(?:([0-9]{1,6}):)?([A-Za-z0-9_.+~^]{1,80})-([A-Za-z0-9_.+~^]{1,80})"
)
_ARCHITECTURE = re.compile(rf"(.*)\.({_ARCHITECTURES})")
_CUT_ARCHITECTURE = re.compile(r"\.(?:x8(?:6_?6?)?|no(?:a(?:rc?)?)?|aa(?:r(?:ch?6?)?)?|i[3-6]8?|pp|ppc64l|s3(?:90?)?)$")
_LINE = re.compile(r"([^\s]{5,400})(?:\s{1,200}([A-Z][a-z]{2} \S[^\t]*)(?:\t.*)?)?")
# Whatever the language: a year, no number below zero, and no end within the time of day.
_TIME = re.compile(r"(?!.*(?:^|\s)-[0-9])(?=.*(?<![0-9])[0-9]{4}(?![0-9])).*[^:\s]")
# The only line of rpm's that is translated.
_ABSENT = re.compile(
    r"package (\S+) is not installed|[Dd]as Paket (\S+) ist nicht installiert|[Ll]e paquet (\S+) n'est pas installé"
    r"|[Ee]l paquete (\S+) no está instalado|[Ii]l pacchetto (\S+) non è installato"
    r"|[Oo] pacote (\S+) não está instalado|[Пп]акет (\S+) не установлен"
    r"|パッケージ (\S+) はインストールされていません。|未安装软件包 (\S+)"
)
_FIELD = re.compile(r"([A-Z][A-Za-z0-9 ]{2,20}?)\s*: ?(.*)")
# The second column of rpm before 4.9 (RHEL 6).
_SECOND_COLUMN = re.compile(r"(.*?)\s+(Relocations|Vendor|Build Date|Build Host|Source RPM|License)\s*: ?(.*)")
_DESCRIPTION = "Description"
_SIGNATURES = "Signature"  # rpm 6 writes each of them on a line of its own
_BELOW = 14 * " "
# Fields of "yum info" and "dnf info", which tell of packages to be had as well as of installed ones.
_OF_OTHERS = ("Repo", "Repository", "From repo", "Arch")
_LONGEST_VALUE = 1000
_NOISE = ("warning: ",)
_WANTED = ("Name", "Version", "Release")
_VERSION = r"[A-Za-z0-9_.+~^]{1,80}"
_NEVER = "(not installed)"


def read_rpm(text: str) -> Packages:
    """Read any of the forms. A package that is not installed is an answer: ``installed`` False.

    :raises ReadError: when rpm complains: its data base is damaged or locked, and what it lists may not be all.
    """
    lines = [(number, line) for number, line in transcript(text, "rpm").lines if not line.startswith(_NOISE)]
    filled = [(number, line) for number, line in lines if line.strip()]
    for number, line in filled:
        if line.startswith(("error: ", "rpm: ", "rpmdb: ", "rpmQuery: ")):
            raise unreadable(_KIND, f"line {number}", line, "packages; the tool complains")
    if not filled:
        raise unreadable(_KIND, "text", text, "at least one package")
    information = any(re.match(r"\s*Name\s*: ", line) for _, line in filled)
    return Packages(tuple(_information(lines) if information else [_package(*line) for line in filled]))


def _package(number: int, line: str) -> Package:
    absent = _absent(line)
    if absent is not None:
        return absent
    match = _LINE.fullmatch(line.strip())
    label = match[1] if match else ""
    split = _ARCHITECTURE.fullmatch(label)
    if split is None and _CUT_ARCHITECTURE.search(label):
        raise unreadable(_KIND, f"line {number}", line, "a whole architecture such as x86_64")
    named = _PACKAGE.fullmatch(split[1] if split else label)
    if match is None or named is None or not (re.search("[0-9]", named[3]) or named[1] == "gpg-pubkey"):
        raise unreadable(_KIND, f"line {number}", line, "'NAME-VERSION-RELEASE.ARCHITECTURE'")
    if match[2] is not None and not _TIME.fullmatch(match[2]):
        raise unreadable(_KIND, f"line {number}", match[2], "the time of the installation with its year")
    return Package(
        name=named[1],
        version=named[3],
        architecture=split[2] if split and split[2] != "(none)" else None,
        status=None,
        installed=True,
        epoch=int(named[2]) if named[2] else None,
        release=named[4],
        install_time=match[2],
    )


def _absent(line: str) -> Package | None:
    match = _ABSENT.fullmatch(line.strip())
    return Package(next(filter(None, match.groups())), None, None, None, False) if match else None


def _information(lines: list[tuple[int, str]]) -> list[Package]:
    """``rpm -qi``: fields until the description, whose lines are free text until the next package."""
    packages: list[Package] = []
    fields: dict[str, str] = {}
    last = ""
    for number, line in lines:
        absent = _absent(line)
        match = _FIELD.fullmatch(line.strip())
        begins = match is not None and match[1] == "Name"
        if (absent is not None or begins) and fields:
            packages.append(_informed(number, fields))
            fields = {}
        if absent is not None:
            packages.append(absent)
        elif last == _SIGNATURES and line.startswith(_BELOW) and _DESCRIPTION not in fields:
            continue
        elif line.strip() and _DESCRIPTION not in fields:
            if match is None or (not fields and not begins):
                raise unreadable(_INFO, f"line {number}", line, "'Field : value'")
            _take(number, fields, match[1], match[2])
            last = match[1]
    if fields:
        packages.append(_informed(lines[-1][0], fields))
    return packages


def _take(number: int, fields: dict[str, str], key: str, value: str) -> None:
    if len(value) > _LONGEST_VALUE and key != _DESCRIPTION:
        raise unreadable(_INFO, f"line {number}", value, f"a value of at most {_LONGEST_VALUE} characters")
    second = _SECOND_COLUMN.fullmatch(value) if key != _DESCRIPTION else None
    if second is not None:
        _take(number, fields, second[2], second[3])
        value = second[1]
    if key in fields:
        raise unreadable(_INFO, f"line {number}", f"{key}: {value}", f"{key} once per package")
    fields[key] = value.strip()


def _informed(number: int, fields: dict[str, str]) -> Package:
    strange = [key for key in _OF_OTHERS if key in fields]
    if strange:
        raise unreadable(_INFO, f"before line {number}", strange[0], "fields of rpm -qi; dnf writes this one")
    missing = [key for key in _WANTED if not fields.get(key)]
    if missing:
        raise unreadable(_INFO, f"before line {number}", ", ".join(fields), f"also {' and '.join(missing)}")
    if not re.fullmatch(_VERSION, fields["Version"]) or not re.fullmatch(_VERSION, fields["Release"]):
        raise unreadable(
            _INFO, f"before line {number}", f"{fields['Version']} {fields['Release']}", "a version and a release"
        )
    if not re.search("[0-9]", fields["Version"]):
        raise unreadable(_INFO, f"before line {number}", fields["Version"], "a version")
    time = fields.get("Install Date")
    if time is not None and time != _NEVER and not _TIME.fullmatch(time):
        raise unreadable(_INFO, f"before line {number}", f"Install Date: {time}", "a time with its year")
    epoch = fields.get("Epoch", "")
    return Package(
        name=fields["Name"],
        version=fields["Version"],
        architecture=_said(fields, "Architecture"),
        status=None,
        installed=_said(fields, "Install Date") is not None if "Install Date" in fields else None,
        epoch=int(epoch) if epoch.isdecimal() else None,
        release=fields["Release"],
        description=_said(fields, "Summary"),
        vendor=_said(fields, "Vendor"),
        source=_said(fields, "Source RPM"),
        install_time=_said(fields, "Install Date"),
    )


def _said(fields: dict[str, str], key: str) -> str | None:
    value = fields.get(key)
    return None if value in (None, "", "(none)", _NEVER) else value

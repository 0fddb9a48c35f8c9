"""DKMS: the sources of drivers that it knows, and why it has not built one. Pure: nothing runs here."""

from __future__ import annotations

import re
from collections.abc import Sequence

from niclab.hosts.drivers.build_records import Build, BuildEnd, InstalledKernel, Source
from niclab.hosts.errors import unreadable
from niclab.hosts.host_commands import shortened
from niclab.hosts.reading import filled

_SOURCE = re.compile(r"([A-Za-z0-9_.+-]+?)-([0-9][A-Za-z0-9_.+~-]*)")
_STATUS = re.compile(
    r"(?P<name>[^\s,/]+)(?:/|, )(?P<version>[^\s,/]+)(?:, (?P<kernel>[^\s,]+), (?P<architecture>[^\s,:]+))?"
    r": (?P<state>added|built|installed|installed-weak from \S+|broken)(?P<notes>(?: ?\([^()]+\))*)"
)
_EXCLUDED = 77
"""The exit status for BUILD_EXCLUSIVE directives: dkms, prepare_build()."""
_NO_ROOM = (
    "No space left on device|Read-only file system|Input/output error|Disk quota exceeded|[Oo]ut of memory"
    "|Cannot allocate memory|virtual memory exhausted|Killed signal|internal compiler error"
)
_NOT_NEWER = "is not newer than what is already found in kernel|exactly matches what is already found in kernel"
_SAID = (
    (r"kernel headers for kernel \S+ cannot be found", BuildEnd.NO_HEADERS),
    ("does not appear to have module source", BuildEnd.NO_SOURCE),
    (r"Build of \S+ failed for", BuildEnd.OF_DRIVER),
)
"""Words of dkms itself. The last: make ended well, and left no module of the name in the source's dkms.conf."""
_SHOWN_LINES = 4


def read_source(name: str) -> Source:
    """Read NAME-VERSION; the version begins with a digit.

    Raises:
        ReadError: It is none.
    """
    match = _SOURCE.fullmatch(name)
    if match is None:
        raise unreadable("/usr/src", "folder", name, "NAME-VERSION of a source of DKMS")
    return Source(match[1], match[2])


def read_installed(text: str) -> frozenset[tuple[str, str]]:
    """Read ``dkms status``, of release 2 and 3: source (NAME-VERSION) and kernel of each module that is installed.

    Raises:
        ReadError: A line is none of these.
    """
    found = set[tuple[str, str]]()
    for number, line in filled(text):
        match = _STATUS.fullmatch(line.strip())
        if match is None:
            wanted = "NAME/VERSION, KERNEL, ARCHITECTURE: STATE"
            raise unreadable("dkms status", f"line {number}", line, wanted)
        if match["kernel"] and match["state"].startswith("installed") and "Missing some" not in match["notes"]:
            found.add((f"{match['name']}-{match['version']}", match["kernel"]))
    return frozenset(found)


def read_kernels(text: str, headers: str) -> tuple[InstalledKernel, ...]:
    """Read the lines ``RELEASE running|other headers|none`` of our own command.

    Args:
        text: The lines.
        headers: See :func:`headers_of`.

    Raises:
        ReadError: A line is none of these, or the running kernel is not among them.
    """
    found = list[InstalledKernel]()
    for number, line in filled(text):
        words = line.split()
        if len(words) != 3 or words[1] not in ("running", "other") or words[2] not in ("headers", "none"):
            raise unreadable("kernels", f"line {number}", line, "RELEASE running|other headers|none")
        found.append(
            InstalledKernel(words[0], words[1] == "running", words[2] == "headers", headers_of(headers, words[0]))
        )
    if sum(each.is_running for each in found) != 1:
        raise unreadable("kernels", "text", text, "the running kernel among those of /lib/modules")
    return tuple(found)


def headers_of(pattern: str, release: str) -> str:
    """Name the package with the headers of a kernel.

    Args:
        pattern: With ``{release}``, or ``{flavour}``: the word after its last hyphen, such as default.
        release: As ``uname -r`` shows it.
    """
    return pattern.format(release=release, flavour=release.rpartition("-")[2])


def read_build(source: Source, status: int | None, said: str, log: str) -> Build:
    """Say how a build has ended.

    Args:
        source: The source.
        status: The exit status of ``dkms install``.
        said: What dkms said.
        log: ``make.log`` of this build; empty where there is none.
    """
    errors = [line for line in said.splitlines() if re.match(r"Error!|cp:|strip:", line)]
    own = shortened("\n".join(errors) or said)
    if older := _first(_NOT_NEWER, said.splitlines()):  # Debian's release 3 ends well then, and calls it installed
        return Build(BuildEnd.NOT_NEWER, older[0])
    if status == 0:
        return Build(BuildEnd.DONE)
    if room := _first(_NO_ROOM, [*log.splitlines(), *said.splitlines()]):
        return Build(BuildEnd.OF_SERVER, room[0])
    if status == _EXCLUDED:
        return Build(BuildEnd.EXCLUDED, own)
    for words, end in _SAID:
        if re.search(words, said):
            return Build(end, own)
    place = re.escape(f"{source.place}/build/")
    lines = _first(
        rf"^(?:{place}|(?!/))[^\s:]+:\d+(?::\d+)?: (?:fatal )?error: "
        rf'|^ERROR: (?:modpost: )?"\S+" \[\S+\] undefined!|^(?:FATAL|ERROR): modpost: GPL-incompatible module',
        log.splitlines(),
    )
    if lines:
        return Build(BuildEnd.OF_DRIVER, " / ".join(line.removeprefix(f"{source.place}/build/") for line in lines))
    return Build(BuildEnd.UNCLEAR, shortened(f"{own}\n{log}"))


def _first(words: str, lines: Sequence[str]) -> list[str]:
    return [line.strip() for line in lines if re.search(words, line)][:_SHOWN_LINES]

"""The package systems of Linux: which one a distribution has, and what each must do. Pure: nothing runs here."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Protocol

from niclab.hosts.drivers.package_words import APT, DNF, RPM, RPM_SCRIPT, ZYPPER, Ending
from niclab.hosts.errors import unreadable
from niclab.hosts.host import CommandResult
from niclab.hosts.host_commands import shortened, words_of
from niclab.hosts.reading import filled
from niclab.hosts.settings.settings_records import ChangedFile, Package


class PackageSystem(Protocol):
    """The commands of a package system, and the meaning of what they say. Names and versions are checked before."""

    def query(self, name: str) -> str:
        """Return the command that shows an installed package."""

    def is_absent(self, result: CommandResult) -> bool:
        """Return whether the answer to a query says that nobody knows such a package."""

    def read(self, text: str) -> Package:
        """Read the answer to a query.

        Raises:
            ReadError: It is none.
        """

    def installing(self, name: str, version: str) -> str:
        """Return the command that installs a version from a repository, over an older or newer one."""

    def rehearsing(self, name: str, version: str) -> str | None:
        """Return the command that shows an installation and changes nothing; None where it removes no other package."""

    def removed_others(self, result: CommandResult) -> str | None:
        """Return the line of a rehearsal that names another package which would go; None where none would."""

    def removing(self, name: str) -> str:
        """Return the command that removes a package that is installed, and nothing that it needs or that needs it."""

    def removal_ending(self, name: str, result: CommandResult) -> Ending:
        """Return what became of a removal of a package."""

    def listing(self, name: str) -> str:
        """Return the command that lists the versions of a package that the repositories have."""

    def offered(self, result: CommandResult) -> frozenset[str] | None:
        """Return the full versions of such a list; None where the answer is none."""

    def refreshing(self) -> str:
        """Return the command that fetches the lists of the repositories again."""

    def ending(self, name: str, result: CommandResult) -> Ending:
        """Return what became of an installation of a package."""

    def cause(self, result: CommandResult) -> str:
        """Return what the tool says of the cause, without what it says each time."""

    def verifying(self, name: str) -> str:
        """Return the command that compares a package's files with what it brought."""

    def asking_owners(self) -> str:
        """Return the command that names the packages that brought the file in the shell's ``f``."""

    def owners(self, result: CommandResult) -> frozenset[str] | None:
        """Return the packages that the answer names; None where it is none."""

    def files(self, name: str) -> str:
        """Return the command that lists the files of an installed package."""

    def signer(self, name: str) -> str | None:
        """Return the command that shows who signed an installed package; None where packages are not signed."""

    def restoring(self, name: str, before: Package | None) -> str:
        """Return an idempotent command that brings a package back to what it was."""

    def keys(self) -> str | None:
        """Return the command that lists the keys that the system trusts; None where no installation brings one."""


@dataclass(frozen=True)
class Apt:
    """dpkg and apt, of Debian and Ubuntu. A repository is signed there, a package is not."""

    def query(self, name: str) -> str:
        return r"dpkg-query -W -f '${Package} ${db:Status-Status} ${Architecture} ${Version}\n' " + name

    def is_absent(self, result: CommandResult) -> bool:
        return result.exit_status == 1 and "no packages found matching" in result.stderr

    def read(self, text: str) -> Package:
        words = text.split()
        if len(words) != 4 or text.count("\n") > 1:
            raise unreadable("dpkg-query -W", "text", text, "one line: package, status, architecture, version")
        name, status, architecture, version = words
        return Package(name, version, architecture, status)

    def installing(self, name: str, version: str) -> str:
        # what would have to go for it stays: the undo brings back no other package
        return f"{_QUIET_APT} install --yes --no-remove --allow-downgrades --no-install-recommends {name}={version}"

    def rehearsing(self, name: str, version: str) -> None:
        del name, version

    def removed_others(self, result: CommandResult) -> None:
        del result

    def removing(self, name: str) -> str:
        return f"DEBIAN_FRONTEND=noninteractive dpkg --purge {name}"  # apt-get would take along what needs it

    def removal_ending(self, name: str, result: CommandResult) -> Ending:
        return self.ending(name, result)

    def listing(self, name: str) -> str:
        return f"apt-cache madison {name}"

    def offered(self, result: CommandResult) -> frozenset[str] | None:
        rows = [line.split("|") for line in result.stdout.splitlines() if line.strip()]
        if result.exit_status != 0 or any(len(row) != 3 for row in rows):
            return None
        return frozenset(row[1].strip() for row in rows)

    def refreshing(self) -> str:
        return "apt-get -q update"

    def ending(self, name: str, result: CommandResult) -> Ending:
        return Ending.DONE if result.exit_status == 0 else APT.ending(name, result)

    def cause(self, result: CommandResult) -> str:
        return words_of(result)

    def verifying(self, name: str) -> str:
        return f"dpkg -V {name}"

    def asking_owners(self) -> str:
        return 'dpkg-query -S "*${f#/usr}"'  # packages name files below /lib, which is a link to /usr/lib by now

    def owners(self, result: CommandResult) -> frozenset[str] | None:
        if result.exit_status == 1 and "no path found matching" in result.stderr:
            return frozenset()
        if result.exit_status != 0:
            return None
        lines = [line for line in result.stdout.splitlines() if not line.startswith("diversion by ")]
        names = [name for line in lines for name in line.partition(": /")[0].split(", ")]
        return frozenset(name.partition(":")[0] for name in names)

    def files(self, name: str) -> str:
        return f"dpkg-query -L {name}"

    def signer(self, name: str) -> str | None:
        del name
        return None

    def restoring(self, name: str, before: Package | None) -> str:
        # purging is no error when it is not installed, nor when nobody knows such a package
        words = f"dpkg --force-remove-reinstreq --purge {name}"
        if before is not None:
            words = f"apt-get -q {_WAITING} --yes --allow-downgrades install {name}={before.full_version}"
        return f"{_APT_AFTER_A_KILL} && {words}"

    def keys(self) -> None:
        return None


_WAITING = "-o DPkg::Lock::Timeout=300"
_APT_AFTER_A_KILL = (
    f"{{ export DEBIAN_FRONTEND=noninteractive; apt-get -q {_WAITING} check; dpkg --configure -a; true; }}"
)
"""Waits for the lock, which dpkg itself does not, and ends what a killed installation has left half done."""
_QUIET_APT = "DEBIAN_FRONTEND=noninteractive apt-get -q"


class _Rpm(ABC):
    """Asks rpm, and reads its answers, for the package systems above it."""

    def query(self, name: str) -> str:
        return rf"rpm -q --qf '%{{NAME}} %{{EPOCH}} %{{VERSION}} %{{RELEASE}} %{{ARCH}}\n' {name}"

    def is_absent(self, result: CommandResult) -> bool:
        return result.exit_status == 1 and bool(re.fullmatch(r"package \S+ is not installed\s*", result.stdout))

    def read(self, text: str) -> Package:
        words = text.split()
        if len(words) != 5 or text.count("\n") > 1:
            raise unreadable("rpm -q", "text", text, "one line: name, epoch, version, release, architecture")
        name, epoch, version, release, architecture = words
        before = "" if epoch in ("(none)", "0") else f"{epoch}:"
        return Package(name, f"{before}{version}", _ARCHITECTURES.get(architecture, architecture), "installed", release)

    def verifying(self, name: str) -> str:
        return f"rpm -V {name}"

    def asking_owners(self) -> str:
        return "rpm -qf --qf '%{NAME}\\n' \"$f\""

    def owners(self, result: CommandResult) -> frozenset[str] | None:
        if result.exit_status == 1 and "is not owned by any package" in result.stdout:
            return frozenset()
        return frozenset(result.stdout.split()) if result.exit_status == 0 else None

    def files(self, name: str) -> str:
        return f"rpm -ql {name}"

    def signer(self, name: str) -> str | None:
        return rf"rpm -q --qf '%{{RSAHEADER:pgpsig}}|%{{DSAHEADER:pgpsig}}|%{{SIGPGP:pgpsig}}\n' {name}"

    def removing(self, name: str) -> str:
        return f"rpm -e {name}"  # dnf and zypper would take along what needs it

    def removal_ending(self, name: str, result: CommandResult) -> Ending:
        if result.exit_status == 0 and not _has_failed_script(name, result):  # 0 also when the last script has failed
            return Ending.DONE
        return RPM.ending(name, result)

    def cause(self, result: CommandResult) -> str:
        said = [line for line in f"{result.stdout}\n{result.stderr}".splitlines() if not _EACH_TIME.match(line)]
        return shortened("\n".join(said))

    def restoring(self, name: str, before: Package | None) -> str:
        gone, wanted = f"rpm -e --allmatches {name}", f"{_SHOWN} {name}"
        if before is None:
            return f"if rpm -q {name} >/dev/null; then {gone}; fi"
        # A killed change leaves both versions in the database, or the files of the other one. The tools take that for
        # done, so all goes first, also where others need it: it comes back at once.
        version, change = before.full_version.rpartition(":")[2], r"'^(missing|..5......) +/'"
        sound = f"! rpm -V {name} | grep -Eq {change} || {gone} --nodeps"
        left = f'case $({wanted}) in "{version};") {sound} ;; *\\;*\\;) {gone} --nodeps ;; esac'
        install = self.installing(name, before.full_version)
        return f'{{ {left} && {{ [ "$({wanted})" = "{version};" ] || {install}; }}; }}'

    def keys(self) -> str:
        return _KEYS  # dnf -y takes the key that a repository names, for ever

    @abstractmethod
    def installing(self, name: str, version: str) -> str: ...


_EACH_TIME = re.compile(
    r"\s*$|Loading repository|Reading installed|Resolving package|Building repository|Overall download|Additional rpm"
    r"|Checking for file|Continue\?|Abort, retry|Retrieving|History:| - ABORT request|Please see the above"
    r"|Problem occurred during|Installation has been aborted|File conflicts happen|The following "
    r"|\d+ (?:new )?packages? |rpm: (?:RPM should|However)|Choose from above|After the operation"
    r"|Last metadata|Dependencies resolved|=+$|Transaction |Install +\d|Installed|Installing:|Downgrad|Upgrad"
    r"|Total |Downloading|Running transaction|  \w+(?: scriptlet)? *: |Complete!|Failed:| \S+ +\S+ +\S+ +\S+ +[\d.]+ \w"
    r"| Package +Arch|.* \d+:\d\d *$"
)
"""Beginnings of lines that zypper, dnf and Debian's rpm write whatever happens."""
_SHOWN = "rpm -q --qf '%{VERSION}-%{RELEASE};'"


# rpm's words for what sheets call amd64, as Debian and FreeBSD do
_ARCHITECTURES = {"x86_64": "amd64", "aarch64": "arm64", "i586": "i386", "i686": "i386", "noarch": "all"}


@dataclass(frozen=True)
class Dnf(_Rpm):
    """rpm and dnf, of RHEL from release 8, its rebuilds, and Fedora."""

    def installing(self, name: str, version: str) -> str:
        return f"dnf -y install {name}-{version}"  # -q would hide what a script says of its failure: a full disk

    def rehearsing(self, name: str, version: str) -> str:
        return f"dnf --assumeno install {name}-{version}"

    def removed_others(self, result: CommandResult) -> str | None:
        return _first(r"^ +replacing +\S.*|^Removing.*:\n.*", result)

    def listing(self, name: str) -> str:
        return rf"dnf -q repoquery --qf '%{{epoch}}:%{{version}}-%{{release}}\n' {name}"

    def offered(self, result: CommandResult) -> frozenset[str] | None:
        if result.exit_status != 0:
            return None
        return frozenset(version.removeprefix("0:") for version in result.stdout.split())

    def refreshing(self) -> str:
        # -q hides the warning that a repository is left out
        return "dnf -q --refresh '--setopt=*.skip_if_unavailable=False' makecache"

    def ending(self, name: str, result: CommandResult) -> Ending:
        if result.exit_status == 0 and not _has_failed_script(name, result):  # 0 also when a script has failed
            return Ending.DONE
        return DNF.ending(name, result)


@dataclass(frozen=True)
class Zypper(_Rpm):
    """rpm and zypper, of SLES and openSUSE. Its exit statuses say what has happened: zypper(8), EXIT CODES."""

    def installing(self, name: str, version: str) -> str:
        return f"zypper --non-interactive install --oldpackage {name}={version}"

    def rehearsing(self, name: str, version: str) -> str:
        return f"zypper --non-interactive install --dry-run --oldpackage {name}={version}"

    def removed_others(self, result: CommandResult) -> str | None:
        return _first(r"^The following .*going to be REMOVED:\n.*", result)

    def listing(self, name: str) -> str:
        return f"zypper --non-interactive --quiet search -s --match-exact -t package {name}"

    def offered(self, result: CommandResult) -> frozenset[str] | None:
        if result.exit_status == _ZYPPER_UNKNOWN:
            return frozenset()
        rows = [[word.strip() for word in line.split("|")] for line in result.stdout.splitlines() if "|" in line]
        if result.exit_status != 0 or not rows or any(len(row) != 6 for row in rows):
            return None
        return frozenset(row[3] for row in rows[1:] if row[5] != _INSTALLED_ONLY)

    def refreshing(self) -> str:
        return "zypper --non-interactive refresh"

    def restoring(self, name: str, before: Package | None) -> str:
        if before is None:
            return super().restoring(name, before)
        done = "|".join(str(status) for status in _ZYPPER_DONE if status)
        return f"{{ {super().restoring(name, before)} || case $? in {done}) ;; *) false ;; esac; }}"

    def ending(self, name: str, result: CommandResult) -> Ending:
        status = result.exit_status
        if status in _ZYPPER_DONE and not _has_failed_script(name, result):
            return Ending.DONE
        if status == _ZYPPER_UNKNOWN:
            return Ending.UNKNOWN
        has_tried = status in (*_ZYPPER_DONE, _ZYPPER_COMMIT, _ZYPPER_SCRIPT_FAILED)
        has_tried = has_tried or (status == _ZYPPER_PROBLEM and "Problem: " in result.stdout)
        return ZYPPER.ending(name, result) if has_tried else Ending.NO_ANSWER


_ZYPPER_DONE = (0, 102, 103, 106)
"""Done; done and a reboot, or a restart of zypper, is wanted; done although some repository could not be read."""
_INSTALLED_ONLY = "(System Packages)"
"""In the place of a repository, where none has this version."""
_ZYPPER_PROBLEM, _ZYPPER_COMMIT, _ZYPPER_UNKNOWN, _ZYPPER_SCRIPT_FAILED = 4, 8, 104, 107

_BY_ID: dict[str, PackageSystem] = {"debian": Apt(), "ubuntu": Apt(), "rhel": Dnf(), "fedora": Dnf(), "centos": Dnf()}
_BY_ID |= {"suse": Zypper(), "sles": Zypper(), "opensuse": Zypper()}


def package_system(ids: tuple[str, ...]) -> PackageSystem | None:
    """Return the package system of a distribution; None for one that is not known.

    Args:
        ids: ``ID`` of ``/etc/os-release``, and the names in ``ID_LIKE``, the nearest first: os-release(5).
    """
    return next((_BY_ID[each] for each in ids if each in _BY_ID), None)


def read_changed_files(text: str) -> tuple[ChangedFile, ...]:
    """Read ``rpm -V NAME`` or ``dpkg -V NAME``, which has rpm's format: a line for each file that differs.

    Only the files' contents count: owner, mode and time of a file may be changed on purpose. Files that the package
    itself calls its configuration (``c``), documentation (``d``) or left to be made (``g``) are left out.

    Raises:
        ReadError: A line is none of these, or the content of a file could not be read.
    """
    found = list[ChangedFile]()
    for number, line in filled(text):
        match = _VERIFIED.fullmatch(line.rstrip())
        if match is None:
            if _UNMET.match(line):
                continue
            raise unreadable("rpm -V", f"line {number}", line, "nine marks or 'missing', a kind, and a file")
        is_missing = match["marks"] == "missing"
        if match["kind"] is None and match["marks"][2] == "?":
            raise unreadable("rpm -V", f"line {number}", line, "a file whose content could be read (no third mark '?')")
        if match["kind"] is None and (is_missing or match["marks"][2] == "5"):
            found.append(ChangedFile(match["file"], is_missing))
    return tuple(found)


_VERIFIED = re.compile(
    r"(?P<marks>missing|[S.?][M.?][5.?][D.?][L.?][U.?][G.?][T.?][P.?]) +(?:(?P<kind>[cdglmr]) )?"
    r"(?P<file>/\S.*?)(?: \([^)]*\))?"
)
_UNMET = re.compile(r"Unsatisfied dependencies for |\S+ is needed by |\t")

_KEYS, _KEY_PACKAGE = "rpm -qa gpg-pubkey", re.compile(r"gpg-pubkey-[0-9a-f]+-[0-9a-f]+")
_KEY = re.compile(r"[Kk]ey ID ([0-9a-f]{8,40})")


def forgetting(known: str) -> str:
    """Return an idempotent command that takes its trust from all keys but those of a list.

    Args:
        known: What :meth:`PackageSystem.keys` has printed.

    Raises:
        ReadError: It is no such list.
    """
    words = known.split()
    if not all(map(_KEY_PACKAGE.fullmatch, words)):
        raise unreadable(_KEYS, "text", known, "gpg-pubkey-VERSION-RELEASE in each line")
    kept = "*) rpm -e $k || exit ;; esac; done"
    return f"{_KEYS} | while read -r k; do case ' {' '.join(words)} ' in *\" $k \"*) ;; {kept}"


def read_signer(text: str) -> str | None:
    """Read whose key signed a package, as rpm's ``:pgpsig`` shows it; None for an unsigned package.

    Raises:
        ReadError: It says neither a key nor that there is none.
    """
    shown = [each for each in text.strip().split("|") if each != "(none)"]
    if text.strip() and not shown:
        return None
    keys = {match[1] for each in shown if (match := _KEY.search(each))}
    if len(keys) != 1:
        raise unreadable("rpm -q --qf :pgpsig", "text", text, "(none), or one 'Key ID' in hexadecimal digits")
    return keys.pop()


def _first(words: str, result: CommandResult) -> str | None:
    """Return the first lines that match; those after the first are joined with it."""
    found = re.search(words, result.stdout, re.MULTILINE)
    return None if found is None else " ".join(found[0].split())


def _has_failed_script(name: str, result: CommandResult) -> bool:
    """Return whether rpm says that a script of this package has failed; it may be installed all the same."""
    said = f"{result.stderr}\n{result.stdout}"
    return bool(re.search(RPM_SCRIPT.replace("NAME", re.escape(name)), said, re.MULTILINE))

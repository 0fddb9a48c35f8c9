"""The words of package tools: which name a package as the cause, and which the lab. Pure: nothing runs here."""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import Enum

from niclab.hosts.host import CommandResult
from niclab.hosts.host_commands import is_no_answer


class Ending(Enum):
    """The ending of a change of packages.

    ``REFUSED``: the tool names this package as the cause. ``UNMET``: nothing that the server knows provides what a
    package needs, or something on it conflicts with the package: the package asks for too much, or the server lacks a
    repository or has a package too many. ``UNKNOWN``: no repository has such a package or version. ``NO_ANSWER``: the
    tool, the server, a repository or another package is the cause. ``UNCLEAR``: the words name no cause.
    """

    DONE = "done"
    REFUSED = "refused"
    UNMET = "unmet"
    UNKNOWN = "unknown"
    NO_ANSWER = "no answer"
    UNCLEAR = "unclear"


@dataclass(frozen=True)
class ToolWords:
    """Regular expressions for what one tool says, where ``NAME`` is the package. They are tried in this order.

    Attributes:
        unknown: No repository has such a package or version.
        own: This package is the cause.
        lacks: The repositories, their setup or the tool's database are the cause, or the administrator's holds.
        needs: This package has a dependency that nothing provides, or a conflict with another.
        others: Another package is the cause.
    """

    unknown: str
    own: str
    lacks: str
    needs: str
    others: str

    def ending(self, name: str, result: CommandResult) -> Ending:
        """Return what became of a change that did not end well.

        Args:
            name: The package that was to be changed.
            result: The tool's exit status and words.
        """
        said = f"{result.stderr}\n{result.stdout}"
        endings = (
            (self.unknown, Ending.UNKNOWN),
            (_SERVER, Ending.NO_ANSWER),
            (self.own, Ending.REFUSED),
            (f"{_MIRROR}|{self.lacks}", Ending.NO_ANSWER),
            (self.needs, Ending.UNMET),
            (self.others, Ending.NO_ANSWER),
        )
        own_name = rf"(?<![\w.+-]){re.escape(name)}"
        for words, ending in endings:
            if ending is Ending.NO_ANSWER and is_no_answer(result):
                return ending
            if re.search(words.replace("NAME", own_name), said, re.MULTILINE):
                return ending
        return Ending.UNCLEAR


def has_all_lists(result: CommandResult) -> bool:
    """Return whether fetching the lists of the repositories has left out none: apt ends well with old lists, too."""
    said = f"{result.stderr}\n{result.stdout}"
    return result.exit_status == 0 and not is_no_answer(result) and not re.search(f"{_MIRROR}|{_SKIPPED}", said)


_SERVER = (
    "Read-only file system|Input/output error|[Nn]ot enough (?:disk |free )?space|more space needed"
    r"|needs \d+\S* (?:more space )?on the|Disk quota exceeded|Structure needs cleaning|Stale file handle"
    "|[Ss]uperuser privileges|Root privileges|Insufficient privileges|are you root|Out of memory"
    "|advisory lock|transaction lock|[Dd]atabase is locked|System management is locked"
)
_MIRROR = (
    r"Connection (?:refused|reset|closed|failed|timed out)|Operation t(?:imed out|oo slow)|Timeout (?:exceeded|was re)"
    "|No route to host|Network is (?:unreachable|down)|(?:Could(?:n't| not)|Failed to|Unable to|Can(?:not|'t)) "
    "(?:connect|resolve|download)|Temporary failure|No address record|does not resolve"
    r"|(?:Status code|[Ee]rror|HTTP\S*):? [45]\d\d\b|40[34] +(?:Not Found|Forbidden)|Failed to download|Curl error"
    "|[Cc]hecksum (?:mismatch|does not match)|incorrect checksum|failed checksum|Hash Sum mismatch"
)
_SKIPPED = "Ignoring repositories|Skipping repository|index files failed|Failed to (?:obtain|synchronize)"

_DPKG_OWN = r"^dpkg: error processing (?:package |archive )?(?:\S*/)?NAME(?:[:_]\S*)? \(-\S+\):\n"
_OVERWRITES = " *trying to overwrite (?:directory )?'"
"""A file is another package's, too: it may be of the wrong place, or a package that should not be on the server."""

APT = ToolWords(
    unknown="Version '.*' for '.*' was not found|Unable to locate package|has no installation candidate",
    own=rf"{_DPKG_OWN}(?!{_OVERWRITES})"
    r"(?! *(?:dependency problems|cannot access archive|package is in a very bad|.*(?:interrupted|killed by)))"
    r"|\A(?!(?s:.*)^dpkg: error processing)(?s:.*)^Errors were encountered while processing:\n"
    r"(?: .*\n)*? (?:\S*/)?NAME(?:[:_].*)?$",
    lacks=rf"{_SKIPPED}|Held packages were changed|remove is disabled|--fix-broken|Malformed (?:entry|line|stanza)"
    "|Type '.*' is not known|list of sources could not|lists or status file could not|Problem with MergeList"
    "|section with no Package|unauthenticated packages|cannot be authenticated"
    "|dpkg: unrecoverable|parsing file '/var/lib/dpkg",
    needs=r"^ NAME(?::\w+)? : (?:.*\n {3,})*?"
    r"(?:.*but it is not installable|.*but .* is to be installed|(?:Conflicts|Breaks): )"
    rf"|{_DPKG_OWN}{_OVERWRITES}",
    others=r"^ (?!NAME[ :])\S+ : (?:Pre)?Depends: |^dpkg: error processing (?!.*NAME\S* \()|very bad inconsistent"
    r"|dependency problems|cannot access archive|\A(?!(?s:.*)NAME)(?s:.*)^Errors were encountered while processing:$",
)

RPM_SCRIPT = r"Error in \S+ scriptlet in rpm package NAME(?:-\d|\s|$)|%\w+\(NAME-\d[^)]*\) scriptlet failed"
_RPM_OWN = (
    rf"{RPM_SCRIPT}|NAME-\d.* is (?:not signed|unsigned)|NAME-\d\S*: .*[Ss]ignature.*: BAD"
    r"|NAME-\d\S* (?:is intended for a different|does not have a compatible arch)"
)
_RPM_NEEDS = (
    r"nothing provides .* needed by (?:the to be installed )?NAME-\d|NAME-\d\S* conflicts with "
    r"|from install of\s+NAME-\d|conflicts between attempted installs of (?:.* and )?NAME-\d"
)
_RPM_OTHERS = r"nothing provides .* needed by |\) scriptlet failed|scriptlet in rpm package "
_RPM_LACKS = (
    rf"{_SKIPPED}|rpmdb|cannot open Packages|exclude filtering|is needed by \(installed\)"
    r"|package (?!NAME-\d)\S+ requires NAME\b.*none of the providers"
    r"|Problem: (?:the (?:to be )?installed )?(?!NAME-\d)\S+ requires '?NAME\b"
)
"""Another package may need the version that would go: the tools say so in these words, too."""

RPM = ToolWords(unknown="is not installed$", own=_RPM_OWN, lacks=_RPM_LACKS, needs="(?!)", others=_RPM_OTHERS)
"""The words of ``rpm`` itself, which removes a package."""

DNF = ToolWords(
    unknown="Unable to find a match|No match for argument",
    own=_RPM_OWN,
    lacks=f"{_RPM_LACKS}|do not have any GPG public keys|is not installed. Failing package|no enabled repositories"
    "|not correct for this package"
    "|is not registered|Config error|Parsing file|downloading metadata for repository|modular filtering"
    "|GPG key retrieval failed|[Pp]rotected packages|All mirrors were tried",
    needs=_RPM_NEEDS,
    others=_RPM_OTHERS,
)
ZYPPER = ToolWords(
    unknown="No provider of '.*' found",
    own=_RPM_OWN,
    lacks=rf"{_RPM_LACKS}|corrupted during transfer|not found on medium|Download \(curl\) error|Problem retrieving"
    "|Failed to retrieve|Permission to access|public key is not available|key not trusted|remove lock to allow"
    "|[Nn]o (?:enabled )?repositories|have not been refreshed",
    needs=_RPM_NEEDS,
    others=_RPM_OTHERS,
)
PKG = ToolWords(
    unknown="No packages available to install matching|can't stat package file",
    own=r"wrong architecture"
    r"|\A(?!(?s:.*)\] (?:Installing|Upgrading|Reinstalling|Downgrading|Deinstalling) (?!NAME-))(?s:.*)"
    r"(?:(?:INSTALL|UPGRADE) script failed|install script returned error)",
    lacks="unable to fetch|: Not Found$|Error updating repositories|Unable to update repository|No active remote"
    "|Authentication error|No trusted public keys|Service Unavailable|Internal Server Error|Bad Gateway"
    "|Gateway Time|sqlite|disk image is malformed|is locked|locked or vital|[Nn]ewer FreeBSD version"
    "|repository .* (?:contains packages for|cannot be)|repository is not signed|meta file is",
    needs=r"NAME-\S+ has a missing dependency|NAME-\S+ conflicts with ",
    others="has a missing dependency| script failed",
)
"""pkg, and pkg_add before it. A script is this package's where no other package is changed with it."""

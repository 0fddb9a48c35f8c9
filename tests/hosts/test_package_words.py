"""A package is at fault only where its tool names it as the cause: apt, dnf, zypper and pkg."""

from __future__ import annotations

import pytest
from fake_shell import Answer, FakeShell, Script

from niclab.core.verdict import BenchFault, Undecided
from niclab.hosts.freebsd_host import FreeBsdHost
from niclab.hosts.linux_host import LinuxHost

N = "be2net-modules"
RPM = f"{N}-12.0.0.0-1.x86_64"
RELEASES = {
    "apt": "ID=debian\n",
    "dnf": "ID=rocky\nID_LIKE='rhel centos fedora'\n",
    "zypper": "ID=sles\nID_LIKE=suse\n",
}
LISTS = ("apt-get -q update", "dnf -q --refresh ...", "zypper --non-interactive refresh")
INSTALLS = (
    "DEBIAN_FRONTEND=noninteractive apt-get -q install...",
    "dnf -y install...",
    "zypper --non-interactive install --oldpackage...",
)
ABORTED = "Problem occurred during or after installation or removal of packages:\nInstallation has been aborted.\n"
ABORT = "\nAbort, retry, ignore? [a/r/i/...? shows all options] (a): a\n"
ERRORS = "Errors were encountered while processing:\n"
DPKG_ENDED = "E: Sub-process /usr/bin/dpkg returned an error code (1)\n"
UNMET = "The following packages have unmet dependencies:\n"
BROKEN = "E: Unable to correct problems, you have held broken packages.\n"

CARD, BENCH, UNDECIDED = "refused", "bench", "undecided"
FAULTS = {BENCH: BenchFault, UNDECIDED: Undecided}


def said(tool: str, status: int, text: str, lists: Answer | None = None) -> str | None:
    """Install the package with a tool that ends so, and return its refusal."""
    script: dict[str, Script] = {"modinfo...": ""}
    script |= dict.fromkeys(LISTS, lists or "") | dict.fromkeys(INSTALLS, Answer(text, status))
    script["dpkg-query..."] = Answer(exit_status=1, stderr="dpkg-query: no packages found matching x\n")
    script["dnf --assumeno ..."] = script["zypper --non-interactive install --dry-run ..."] = ""
    script["rpm -q..."] = Answer(f"package {N} is not installed\n", 1)
    if tool != "pkg":
        return (
            LinuxHost(FakeShell({"cat /etc/os-release": RELEASES[tool], **script}), "dut")
            .drivers.install_package(N, "12.0.0.0")
            .refused
        )
    script |= {"if pkg -N ...": "pkg\n", "env ASSUME_ALWAYS_YES=yes pkg...": Answer(text, status)}
    script["pkg query ..."] = Answer(exit_status=1)
    return FreeBsdHost(FakeShell(script), "dut").drivers.install_package(N, "12.0.0.0").refused


def dpkg(name: str, reason: str, step: str = "--configure") -> str:
    kind = "archive" if name.endswith(".deb") else "package"
    return f"dpkg: error processing {kind} {name} ({step}):\n {reason}\n{ERRORS} {name}\n{DPKG_ENDED}"


SCRIPT = "installed {} package post-installation script subprocess returned error exit status 1"
DEB = f"/var/cache/apt/archives/{N}_12.0.0.0_amd64.deb"
APT = [
    (CARD, "script", dpkg(N, SCRIPT.format(N))),
    (CARD, "script of an architecture", dpkg(f"{N}:amd64", SCRIPT.format(N))),
    (CARD, "wrong architecture", dpkg(DEB, "package architecture (i386) does not match system (amd64)", "--unpack")),
    (UNDECIDED, "file conflict",
     dpkg(DEB, "trying to overwrite '/lib/x.ko', which is also in package mlx 1", "--unpack")),
    (BENCH, "file conflict of another", dpkg("/a/x.deb", "trying to overwrite '/x', which is also in package y 1")),
    (UNDECIDED, "nothing provides", f"{UNMET} {N} : Depends: kernel-core (= 9.9) but it is not installable\n{BROKEN}"),
    (UNDECIDED, "another version", f"{UNMET} {N} : Depends: kernel-core (= 9.9) but 6.1 is to be installed\n{BROKEN}"),
    (UNDECIDED, "conflict", f"{UNMET} {N} : Depends: libc6\n{' ' * 18}Conflicts: mlx-modules\n{BROKEN}"),
    (BENCH, "held", f"The following held packages will be changed:\n  {N}\nE: Held packages were changed and -y "
     "was used without --allow-change-held-packages.\n"),
    (BENCH, "another would go", "The following packages will be REMOVED:\n  be2net-dkms\n"
     "E: Packages need to be removed but remove is disabled.\n"),
    (BENCH, "another needs it", f"dpkg: dependency problems prevent removal of {N}:\n manager depends on {N}.\n\n"
     f"dpkg: error processing package {N} (--purge):\n dependency problems - not removing\n"
     f"Errors were encountered while processing:\n {N}\n"),
    (BENCH, "other broken", f"{UNMET} libfoo : Depends: libbar (>= 2) but it is not going to be installed\n"
     "E: Unmet dependencies. Try 'apt --fix-broken install' with no packages (or specify a solution).\n"),
    (BENCH, "broken before", f"{UNMET} {N} : Depends: libbar (>= 2) but it is not installable\n"
     "E: Unmet dependencies. Try 'apt --fix-broken install' with no packages (or specify a solution).\n"),
    (BENCH, "other needs", f"{UNMET} libfoo : Depends: libbar but it is not installable\n{BROKEN}"),
    (BENCH, "sources.list", "E: Malformed entry 3 in list file /etc/apt/sources.list (Component)\n"
     "E: The list of sources could not be read.\n"),
    (BENCH, "lists damaged", "E: Encountered a section with no Package: header\nE: Problem with MergeList /var/lib/x\n"
     "E: The package lists or status file could not be parsed or opened.\n"),
    (BENCH, "no candidate", f"E: Package '{N}' has no installation candidate\n"),
    (BENCH, "not signed repository", f"WARNING: The following packages cannot be authenticated!\n  {N}\nE: There were "
     "unauthenticated packages and -y was used without --allow-unauthenticated\n"),
    (BENCH, "full disk in its script", f"gzip: stdout: No space left on device\n{dpkg(N, SCRIPT.format(N))}"),
    (BENCH, "script of another", dpkg("other-modules", SCRIPT.format("other-modules"))),
    (BENCH, "other of a longer name", dpkg(f"x-{N}", SCRIPT.format(f"x-{N}")) + dpkg(f"{N}-doc", SCRIPT.format("y"))),
    (BENCH, "waits for another", dpkg("other", SCRIPT.format("other"))
     + dpkg(N, "dependency problems - leaving unconfigured")),
    (BENCH, "interrupted before", dpkg(N, "package is in a very bad inconsistent state; you should\n reinstall it")),
    (UNDECIDED, "killed", dpkg(N, "new pre-installation script subprocess was killed by signal (Killed)")),
    (UNDECIDED, "its dependency needs", f"{UNMET} {N} : Depends: dkms but it is not going to be installed\n{BROKEN}"),
    (UNDECIDED, "no cause", DPKG_ENDED),
    (UNDECIDED, "unknown words", f"E: Internal Error, {N}\n"),
]  # fmt: skip

NEEDS = f"Error: \n Problem: conflicting requests\n  - nothing provides dkms needed by {RPM}\n"
ON_READ_ONLY = (
    "error: unpacking of archive failed on file /lib/modules/x.ko: cpio: open failed - Read-only file system\n"
)
NO_HASH = "error: unpacking of archive failed on file /lib/modules/x.ko: cpio: Digest mismatch\n"
DNF = [
    (CARD, 1, "unsigned", f"Package {RPM}.rpm is not signed\nError: GPG check FAILED\n"),
    (CARD, 1, "bad signature", f"error: {RPM}.rpm: Header V4 RSA/SHA256 Signature, key ID 2e450a70: BAD\n"),
    (CARD, 1, "script", f"Error in PREIN scriptlet in rpm package {N}\nError: Transaction failed\n"),
    (CARD, 0, "script after the end", f"warning: %post({RPM}) scriptlet failed, exit status 1\n"),
    (UNDECIDED, 1, "nothing provides", NEEDS),
    (UNDECIDED, 1, "conflict", f"Error: \n Problem: package {RPM} conflicts with mlx provided by mlx-1.0-1.x86_64\n"),
    (UNDECIDED, 1, "files",
     f"  file /lib/x.ko from install of {RPM} conflicts with file from package mlx-1.0-1.x86_64\n"),
    (UNDECIDED, 1, "files of a package with it",
     f"  file /lib/x.ko conflicts between attempted installs of libfoo-1-1.x86_64 and {RPM}\n"),
    (CARD, 1, "architecture", f"error: package {N}-12.0.0.0-1.ppc64 is intended for a different architecture\n"),
    (BENCH, 1, "not registered", 'Error: There are no enabled repositories in "/etc/yum.repos.d".\n'),
    (BENCH, 1, "rpmdb", "error: rpmdb: BDB0113 Thread/process 123 failed: BDB1507 Thread died in DB library\n"
     "error: cannot open Packages database in /var/lib/rpm\nError: Error: rpmdb open failed\n"),
    (BENCH, 1, "repo file", 'Config error: Parsing file "/etc/yum.repos.d/x.repo" failed: IniParser: Missing\n'),
    (BENCH, 1, "read-only", f"Error unpacking rpm package {RPM}\n{ON_READ_ONLY}Error: Transaction failed\n"),
    (BENCH, 1, "skipped", "Errors during downloading metadata for repository 'baseos':\n  - Status code: 503 for "
     f"http://mirror.lab/repomd.xml (IP: 10.0.0.9)\nIgnoring repositories: baseos\n{NEEDS}"),
    (BENCH, 1, "excluded", f"Error: Unable to find a match: {N}-12.0.0.0\n"),
    (BENCH, 1, "filtered", f"Error: \n Problem: conflicting requests\n  - package {RPM} is filtered out by exclude "
     f"filtering\n  - nothing provides dkms needed by {RPM}\n"),
    (BENCH, 1, "other needs", "  - nothing provides libbar needed by libfoo-1-1.x86_64\n"),
    (BENCH, 1, "another's longer name", f"  - nothing provides libbar needed by x-{RPM}\n"),
    (BENCH, 0, "full disk", f"dracut: No space left on device\nError in POSTIN scriptlet in rpm package {N}\n"),
    (UNDECIDED, 1, "damaged payload", f"Error unpacking rpm package {RPM}\n{NO_HASH}Error: Transaction failed\n"),
    (UNDECIDED, 1, "no cause", "Error: Transaction failed\n"),
]  # fmt: skip

FAILED = (
    f"(1/1) Installing: {RPM} [..error]\nInstallation of {RPM} failed:\nError: Subprocess failed. Error: RPM failed: "
)
ZYPPER = [
    (UNDECIDED, 4, "nothing provides", f"Problem: nothing provides dkms needed by {RPM}\n Solution 1: do not\n"),
    (UNDECIDED, 4, "newer words", f"Problem: nothing provides 'dkms' needed by the to be installed {RPM}\n"),
    (UNDECIDED, 4, "conflict", f"Problem: {RPM} conflicts with mlx-modules provided by mlx-modules-1.0-1.x86_64\n"),
    (CARD, 107, "script", f"warning: %post({RPM}) scriptlet failed, exit status 1\n"),
    (CARD, 106, "script, skipped", f"Skipping repository 'SDK'\n%post({RPM}) scriptlet failed\n"),
    (CARD, 8, "script before", f"{FAILED}error: %prein({RPM}) scriptlet failed, exit status 1{ABORT}{ABORTED}"),
    (UNDECIDED, 8, "files", f"Detected 1 file conflict:\n\nFile /lib/x.ko\n  from install of\n     {RPM} (Vendor)\n  "
     f"conflicts with file from package\n     mlx-1.0-1.x86_64 (@System)\n{ABORTED}"),
    (CARD, 8, "unsigned", f"{RPM} (Vendor): Signature verification failed [6-File is unsigned]{ABORT}{ABORTED}"),
    (BENCH, 8, "mirror lacks it", f"File './{RPM}.rpm' not found on medium 'http://mirror.lab/'\n{ABORT}{ABORTED}"),
    (BENCH, 8, "mirror down", "Download (curl) error for 'http://mirror.lab/x.rpm':\nError code: Connection failed\n"
     f"Error message: Failed to connect to mirror.lab port 80: Connection refused\n{ABORT}{ABORTED}"),
    (BENCH, 8, "mirror slow", f"Timeout exceeded when accessing 'http://mirror.lab/vendor/x.rpm'.\n{ABORT}{ABORTED}"),
    (BENCH, 8, "read-only", f"{FAILED}{ON_READ_ONLY}"),
    (BENCH, 8, "no key", f"{RPM} (x): Signature verification failed [4-Signatures public key is not available]\n"),
    (BENCH, 4, "skipped", f"Problem: nothing provides dkms needed by {RPM}\nProblem retrieving files from 'SDK'.\n"
     "Permission to access 'https://x' denied.\nSkipping repository 'Basesystem' because of the above error.\n"),
    (BENCH, 4, "locked by the administrator", f"Problem: conflicting requests\n Solution 1: remove lock to allow "
     f"installation of {RPM}\n"),
    (BENCH, 107, "script of another", "warning: %post(libfoo-1-1.x86_64) scriptlet failed, exit status 1\n"),
    (BENCH, 7, "another zypper", "System management is locked by the application with pid 4711 (zypper).\n"),
    (UNDECIDED, 8, "damaged payload", f"{FAILED}{NO_HASH}{ABORT}{ABORTED}"),
    (UNDECIDED, 4, "unknown problem", "Problem: some odd thing\n"),
]  # fmt: skip

OF_PKG = "pkg: https://pkg.FreeBSD.org/FreeBSD:13:amd64/latest"
PKG = [
    (CARD, "architecture", "pkg: wrong architecture: FreeBSD:9:i386 instead of FreeBSD:13:amd64\n"),
    (CARD, "script", f"[1/1] Installing {N}-12.0.0.0...\npkg: PRE-INSTALL script failed\n"),
    (UNDECIDED, "files", f"pkg: {N}-12.0.0.0 conflicts with oce-kmod-1 (installs files into the same place).\n"),
    (UNDECIDED, "nothing provides", f"pkg: {N}-12.0.0.0 has a missing dependency: oce-kmod\n"),
    (BENCH, "mirror down", f"Updating repository catalogue...\n{OF_PKG}/meta.txz: Operation timed out\nrepository "
     f"FreeBSD has no meta file, using default settings\n{OF_PKG}/packagesite.txz: Operation timed out\nUnable to "
     "update repository FreeBSD\nError updating repositories!\n"),
    (BENCH, "no DNS", f"{OF_PKG}/meta.txz: No address record\nUnable to update repository FreeBSD\n"),
    (BENCH, "mirror lacks it", f"{OF_PKG}/All/{N}-12.0.0.0.pkg: Not Found\n"),
    (BENCH, "another pkg", "pkg: Cannot get an advisory lock on a database, it is locked by another process\n"),
    (BENCH, "not root", "pkg: Insufficient privileges to install packages\n"),
    (BENCH, "disk full", "pkg: Not enough space in /var/cache/pkg, needed 30 MiB available 5 MiB\n"),
    (BENCH, "script of another", f"[1/2] Installing libfoo-1...\npkg: POST-INSTALL script failed\n{N}-12.0.0.0\n"),
    (BENCH, "held", f"{N}-4.2 is locked and may not be modified\n"),
    (BENCH, "other needs", "pkg: libfoo-1 has a missing dependency: libbar\n"),
    (BENCH, "skipped", f"{OF_PKG}/meta.txz: Not Found\npkg: {N}-12.0.0.0 has a missing dependency: libbar\n"),
    (UNDECIDED, "unknown words", f"pkg: {N}-12.0.0.0: odd\n"),
]  # fmt: skip

CASES = [("apt", wanted, 100, what, text) for wanted, what, text in APT]
CASES += [("dnf", *each) for each in DNF] + [("zypper", *each) for each in ZYPPER]
CASES += [("pkg", wanted, 1, what, text) for wanted, what, text in PKG]


@pytest.mark.parametrize(
    ("tool", "wanted", "status", "text"),
    [pytest.param(tool, wanted, status, text, id=f"{tool}: {what}") for tool, wanted, status, what, text in CASES],
)
def test_a_package_is_refused_where_the_tool_names_it(tool: str, wanted: str, status: int, text: str) -> None:
    if wanted == CARD:
        assert said(tool, status, text)
        return
    with pytest.raises(FAULTS[wanted], match=rf"^dut: `.*` failed with exit status {status}, said: [\s\S]+"):
        said(tool, status, text)


OLD_LISTS = "W: Failed to fetch http://mirror.lab/Packages\nW: Some index files failed to download.\n"


@pytest.mark.parametrize(
    ("tool", "status", "needs", "lists"),
    [
        ("apt", 100, f"{UNMET} {N} : Depends: dkms but it is not installable\n{BROKEN}", Answer(stderr=OLD_LISTS)),
        ("dnf", 1, NEEDS, Answer(exit_status=1, stderr="Error: Failed to download metadata for repo 'baseos'\n")),
        ("zypper", 4, f"Problem: nothing provides dkms needed by {RPM}\n", Answer("Skipping repository 'SDK'\n", 106)),
    ],
)
def test_a_dependency_is_not_missing_where_a_repository_is(tool: str, status: int, needs: str, lists: Answer) -> None:
    with pytest.raises(BenchFault, match=r"^dut: `.*(update|makecache|refresh)` failed with exit status"):
        said(tool, status, needs, lists)

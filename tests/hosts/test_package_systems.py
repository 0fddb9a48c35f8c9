"""Package systems of Linux, on what apt, dnf and zypper really said: tests/hosts/packages.yaml says where."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml
from fake_shell import Answer, FakeShell

from niclab.core.verdict import BenchFault, NotApplicable, Undecided
from niclab.hosts.drivers.package_systems import forgetting, package_system, read_changed_files, read_signer
from niclab.hosts.errors import ReadError
from niclab.hosts.linux_host import LinuxHost
from niclab.hosts.settings.settings_records import ChangedFile, Package

RECORDED: dict[str, Any] = yaml.safe_load((Path(__file__).parent / "packages.yaml").read_text())
NAME = "be2net-modules"
KEY = "gpg-pubkey-1a-2b\n"
OLD, NEW = (Package(NAME, version, "amd64", "installed", "1") for version in ("4.4.161.0", "12.0.0.0"))
SYSTEMS = {"dnf": "ID=rocky\nID_LIKE='rhel centos fedora'\n", "zypper": "ID=sles\nID_LIKE=suse\n"}
QUERY = r"rpm -q --qf '%{NAME} %{EPOCH} %{VERSION} %{RELEASE} %{ARCH}\n' be2net-modules"
DONE = "|| case $? in 102|103|106) ;; *) false ;; esac; }"
SHOWN = "rpm -q --qf '%{VERSION}-%{RELEASE};' be2net-modules"
LEFT = (
    f"case $({SHOWN}) in \"4.4.161.0-1;\") ! rpm -V be2net-modules | grep -Eq '^(missing|..5......) +/' || rpm -e "
    "--allmatches be2net-modules --nodeps ;; *\\;*\\;) rpm -e --allmatches be2net-modules --nodeps ;; esac && { "
    f'[ "$({SHOWN})" = "4.4.161.0-1;" ] ||'
)
ZYPPER_INSTALL = "zypper --non-interactive install --oldpackage be2net-modules=4.4.161.0-1"
GONE = "if rpm -q be2net-modules >/dev/null; then rpm -e --allmatches be2net-modules; fi"
SEARCHED = """
S | Name           | Type    | Version     | Arch   | Repository
--+----------------+---------+-------------+--------+------------------
v | be2net-modules | package | 4.4.161.0-1 | x86_64 | vendor
i | be2net-modules | package | 12.0.0.0-1  | x86_64 | (System Packages)
"""
ABSENT = Answer("package be2net-modules is not installed\n", 1)
INSTALLED = "be2net-modules (none) 12.0.0.0 1 x86_64\n"


def answer(entry: dict[str, Any]) -> Answer:
    return Answer(entry.get("stdout", ""), entry["status"], entry.get("stderr", ""))


@dataclass
class Session:
    """A host whose package tool says what was recorded, one answer a command."""

    host: LinuxHost
    shell: FakeShell


def session(system: str, *entries: dict[str, Any], query: list[str | Answer] | None = None) -> Session:
    script: dict[str, Any] = {"cat /etc/os-release": SYSTEMS[system], QUERY: query or INSTALLED}
    script["dnf --assumeno install..."] = script["zypper --non-interactive install --dry-run ..."] = ""
    script["dnf -q repoquery ..."] = "0:4.4.161.0-1\n\n0:12.0.0.0-1\n"
    script["zypper --non-interactive --quiet search ..."] = SEARCHED
    script["rpm -qa gpg-pubkey"] = KEY
    script["modinfo -n be2net"] = "/lib/modules/6.1.0/kernel/be2net.ko\n"
    for entry in entries:
        script.setdefault(entry["command"], []).append(answer(entry))
    shell = FakeShell(script)
    return Session(LinuxHost(shell, "dut"), shell)


def entry(name: str) -> dict[str, Any]:
    found: dict[str, Any] = RECORDED[name]
    return found


@pytest.mark.parametrize("system", SYSTEMS)
def test_installing_downgrading_and_removing(system: str) -> None:
    made = session(
        system,
        *(entry(f"{system} {what}") for what in ("install", "downgrade", "remove")),
        query=[INSTALLED, INSTALLED.replace("12.0.0.0", "4.4.161.0"), INSTALLED, ABSENT],
    )
    drivers = made.host.drivers
    for version, wanted in (("12.0.0.0", NEW), ("4.4.161.0", OLD)):
        attempt = drivers.install_package(NAME, version)
        assert (attempt.refused, attempt.now) == (None, wanted)
    gone = drivers.remove_package(NAME)
    assert (gone.refused, gone.now) == (None, None)


@pytest.mark.parametrize("system", SYSTEMS)
def test_a_package_that_is_not_there_is_removed_already(system: str) -> None:
    made = session(system, query=[ABSENT])
    assert made.host.drivers.remove_package(NAME).refused is None
    assert made.shell.commands == ["cat /etc/os-release", QUERY]


REFRESH = {
    "dnf": "dnf -q --refresh '--setopt=*.skip_if_unavailable=False' makecache",
    "zypper": "zypper --non-interactive refresh",
}
REFUSED = {
    "dnf unsigned": "is not signed",
    "dnf scriptlet": "Error in POSTIN scriptlet in rpm package be2net-modules",
    "zypper scriptlet": "scriptlet failed, exit status 1",
}


UNMET = {"dnf conflict", "dnf needs", "zypper conflict", "zypper needs"}


@pytest.mark.parametrize("name", sorted(UNMET))
def test_what_a_package_needs_may_be_the_servers_to_have(name: str) -> None:
    """It is looked for once more, in new lists."""
    system = name.split()[0]
    made = session(system, entry(name), entry(name), {"command": REFRESH[system], "status": 0})
    with pytest.raises(Undecided, match=r"nothing provides kernel-core = 9\.9|conflicts with mlx-modules"):
        made.host.drivers.install_package(NAME, entry(name)["version"])
    assert REFRESH[system] in made.shell.commands


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_wrong_with_a_package_is_a_refusal_in_the_tools_words(name: str) -> None:
    """Also where the tool ends well: dnf says so of a package whose script has failed."""
    made = session(name.split()[0], entry(name))
    refused = made.host.drivers.install_package(NAME, entry(name)["version"]).refused
    assert refused is not None and REFUSED[name] in refused


@pytest.mark.parametrize(
    "name",
    ["dnf damaged", "dnf no key", "dnf no rights", "zypper damaged", "zypper no rights"],
)
def test_what_the_lab_lacks_is_no_refusal(name: str) -> None:
    made = session(name.split()[0], entry(name))
    with pytest.raises(BenchFault, match=rf"^dut: `{name.split()[0]} .*` failed with exit status [1-9]"):
        made.host.drivers.install_package(NAME, "12.0.0.0")


@pytest.mark.parametrize("system", SYSTEMS)
def test_a_version_that_no_repository_has_is_looked_for_in_new_lists(system: str) -> None:
    unknown, again = entry(f"{system} unknown"), {"command": REFRESH[system], "status": 0}
    made = session(system, unknown, again, unknown)
    with pytest.raises(BenchFault, match=r"failed with exit status (1|104), said: .*be2net-modules.9\.9"):
        made.host.drivers.install_package(NAME, "9.9")
    assert made.shell.commands[-2:] == [again["command"], unknown["command"]]


def test_zypper_installs_an_unsigned_package_which_its_signer_shows() -> None:
    """It trusts the signed list of the repository."""
    made = session("zypper", entry("zypper unsigned"), entry("rpm no signer"))
    assert made.host.drivers.install_package(NAME, entry("zypper unsigned")["version"]).refused is None
    assert made.host.drivers.package_signer(NAME) is None
    made = session("zypper", entry("rpm signer"))
    assert made.host.drivers.package_signer(NAME) == "a3e07a792e450a70"


@pytest.mark.parametrize("text", ["", "\n", "what\n", "RSA/SHA256, Key ID\n", "Key ID a3e07a79|Key ID 11111111\n"])
def test_what_names_no_key_is_no_answer(text: str) -> None:
    with pytest.raises(ReadError):
        read_signer(text)


def test_apt_checks_the_repository_and_no_package() -> None:
    host = LinuxHost(FakeShell({"cat /etc/os-release": "ID=debian\n"}), "dut")
    with pytest.raises(NotApplicable, match=r"^dut: package be2net-modules: apt checks the signature of the repos"):
        host.drivers.package_signer(NAME)


@pytest.mark.parametrize(
    ("name", "wanted"),
    [
        ("rpm verify", (ChangedFile("/lib/modules/5.14.0/extra/be2net/be2net.ko", True),)),
        ("rpm verify whole", ()),
        (
            "dpkg verify",
            (ChangedFile("/usr/bin/rdebsums", False), ChangedFile("/usr/share/man/man1/debsums.1.gz", True)),
        ),
    ],
)
def test_changed_files_but_those_of_the_configuration(name: str, wanted: tuple[ChangedFile, ...]) -> None:
    release = "ID=debian\n" if name.startswith("dpkg") else SYSTEMS["dnf"]
    found = entry(name)
    host = LinuxHost(FakeShell({"cat /etc/os-release": release, found["command"]: answer(found)}), "dut")
    assert host.drivers.changed_files(found["command"].split()[-1]) == wanted


@pytest.mark.parametrize("text", ["package be2net-modules is not installed\n", "S.5 /x\n", "missing\n", "missing c\n"])
def test_what_is_no_list_of_files_is_no_answer(text: str) -> None:
    with pytest.raises(ReadError):
        read_changed_files(text)


@pytest.mark.parametrize("text", ["..?......    /lib/y.ko\n", "?????????    /lib/y.ko\n"])
def test_a_file_that_could_not_be_read_is_no_unchanged_one(text: str) -> None:
    with pytest.raises(ReadError, match="expected a file whose content could be read"):
        read_changed_files(text)


def test_time_mode_and_owner_of_a_file_say_nothing_of_its_content() -> None:
    text = ".M....G..    /etc/x\n.......T.    /lib/y.ko\nUnsatisfied dependencies for be2net-modules-1-1.x86_64:\n"
    assert read_changed_files(text) == ()


@pytest.mark.parametrize("text", ["be2net-modules (none) 1 1\n", f"{INSTALLED}{INSTALLED}", ""])
def test_what_is_no_package_is_no_answer(text: str) -> None:
    with pytest.raises(BenchFault, match="expected one line: name, epoch, version, release, architecture"):
        session("dnf", query=[text]).host.drivers.package(NAME)


def test_an_epoch_is_part_of_the_version() -> None:
    made = session("dnf", query=["be2net-modules 2 1.0 3.el9 noarch\n"])
    found = made.host.drivers.package(NAME)
    assert found == Package(NAME, "2:1.0", "all", "installed", "3.el9") and found.full_version == "2:1.0-3.el9"


@pytest.mark.parametrize(
    ("system", "before", "command"),
    [
        ("dnf", OLD, f"{{ {LEFT} dnf -y install be2net-modules-4.4.161.0-1; }}; }}"),
        ("zypper", OLD, f"{{ {{ {LEFT} {ZYPPER_INSTALL}; }}; }} {DONE}"),
        ("dnf", None, GONE),
        ("zypper", None, GONE),
    ],
)
def test_the_undo_brings_back_the_very_package(system: str, before: Package | None, command: str) -> None:
    made = session(system)
    forgotten = f" && {forgetting(KEY)}"
    assert made.host.undo.package(NAME, before, "be2net") == (
        f"{command}{forgotten} && modprobe -r be2net && modprobe be2net && sync"
    )


def test_keys_that_are_none_are_refused() -> None:
    assert "case '  ' in" in forgetting("")
    with pytest.raises(ReadError, match=r"rpm -qa gpg-pubkey: .*expected gpg-pubkey-VERSION-RELEASE"):
        forgetting("gpg-pubkey-1a-2b\ngpg-pubkey-'; reboot; '")


@pytest.mark.parametrize(
    ("ids", "tool"),
    [
        *((("debian",), "Apt"), (("ubuntu", "debian"), "Apt"), (("linuxmint", "ubuntu", "debian"), "Apt")),
        *((("rhel", "fedora"), "Dnf"), (("rocky", "rhel", "centos", "fedora"), "Dnf"), (("fedora",), "Dnf")),
        *((("almalinux", "rhel"), "Dnf"), (("ol", "fedora"), "Dnf"), (("sles", "suse"), "Zypper")),
        *((("opensuse-leap", "suse", "opensuse"), "Zypper"), (("opensuse-tumbleweed", "opensuse", "suse"), "Zypper")),
        (("alpine",), "NoneType"),
    ],
)
def test_the_distribution_says_which_system_it_has(ids: tuple[str, ...], tool: str) -> None:
    assert type(package_system(ids)).__name__ == tool


def test_a_distribution_without_a_known_one_is_a_fault_of_the_bench() -> None:
    host = LinuxHost(FakeShell({"cat /etc/os-release": "ID=alpine\n"}), "dut")
    with pytest.raises(BenchFault, match=r"^dut: /etc/os-release: alpine; expected a system of apt, dnf or zypper$"):
        host.drivers.package(NAME)


@pytest.mark.parametrize(
    ("system", "listing", "listed"),
    [
        ("dnf", "dnf -q repoquery ...", "0:4.4.161.0-1\n"),
        ("zypper", "zypper --non-interactive --quiet search ...", SEARCHED),
        ("zypper", "zypper --non-interactive --quiet search ...", Answer("No matching items found.\n", 104)),
    ],
)
def test_a_version_that_no_repository_has_is_not_changed(system: str, listing: str, listed: str | Answer) -> None:
    """The lists are fetched once more before that."""
    shell = FakeShell({"cat /etc/os-release": SYSTEMS[system], listing: listed, REFRESH[system]: ""})
    with pytest.raises(
        BenchFault, match=r"12\.0\.0\.0-1 is installed, and no repository has it; expected a version that"
    ):
        LinuxHost(shell, "dut").undo.package(NAME, NEW, "be2net")
    assert REFRESH[system] in shell.commands


def test_apt_lists_what_it_could_bring_back() -> None:
    rows = f"{NAME} | 12.0.0.0 | http://mirror.lab/apt ./ Packages\n"
    script = {"cat /etc/os-release": "ID=debian\n", "apt-cache madison ...": rows, "apt-get -q update": ""}
    host = LinuxHost(FakeShell({**script, "modinfo...": ""}), "dut")
    assert f"install {NAME}=12.0.0.0" in host.undo.package(NAME, Package(NAME, "12.0.0.0", "amd64", "installed"), "x")
    with pytest.raises(BenchFault, match=r"4\.4\.161\.0-1 is installed, and no repository has it"):
        host.undo.package(NAME, OLD, "be2net")


@pytest.mark.parametrize(
    ("system", "listing", "answer"),
    [
        ("dnf", "dnf -q repoquery ...", Answer(exit_status=1, stderr="Error: Failed to download metadata for repo\n")),
        ("zypper", "zypper --non-interactive --quiet search ...", Answer("odd\n")),
        ("zypper", "zypper --non-interactive --quiet search ...", Answer("S | Name\n")),
    ],
)
def test_a_list_that_cannot_be_read_is_no_answer(system: str, listing: str, answer: Answer) -> None:
    host = LinuxHost(FakeShell({"cat /etc/os-release": SYSTEMS[system], listing: answer}), "dut")
    with pytest.raises(BenchFault, match=r"^dut: `.*be2net-modules` failed with exit status"):
        host.undo.package(NAME, NEW, "be2net")


@pytest.mark.parametrize(
    ("system", "rehearsal", "shown"),
    [
        (
            "dnf",
            "dnf --assumeno ...",
            " be2net-modules x86_64 12-1 vendor 6 k\n     replacing  mlx-modules.x86_64 1.0-1\n",
        ),
        ("dnf", "dnf --assumeno ...", "Removing dependent packages:\n mlx-modules x86_64 1.0-1 @vendor 4\n"),
        (
            "zypper",
            "zypper --non-interactive install --dry-run ...",
            "The following package is going to be REMOVED:\n  mlx-modules\n",
        ),
    ],
)
def test_a_package_for_which_another_would_go_is_not_installed(system: str, rehearsal: str, shown: str) -> None:
    shell = FakeShell({"cat /etc/os-release": SYSTEMS[system], rehearsal: Answer(shown, 1)})
    with pytest.raises(BenchFault, match=r"shows '.*mlx-modules.*'; expected that no other package goes$"):
        LinuxHost(shell, "dut").drivers.install_package(NAME, "12.0.0.0")
    assert len(shell.commands) == 2

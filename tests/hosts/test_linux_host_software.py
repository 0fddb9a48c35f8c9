"""Packages, firmware and PCI Express errors of a Linux host."""

from __future__ import annotations

from operator import attrgetter

import pytest
from fake_shell import Answer, FakeShell, Script, failed

from niclab.core.undo import SLOW_DEADLINE_S
from niclab.core.verdict import BenchFault, NotApplicable
from niclab.hosts.errors import NoDevice, ReadError
from niclab.hosts.linux_host import LinuxHost
from niclab.hosts.pci.aer import read_aer
from niclab.hosts.settings.settings_records import AerCounters, Package

QUERY = r"dpkg-query -W -f '${Package} ${db:Status-Status} ${Architecture} ${Version}\n' be2net-modules"
INSTALLED = "be2net-modules installed amd64 12.0.0.0\n"
HALF = "half-configured"
ABSENT = failed("dpkg-query: no packages found matching be2net-modules\n")
INSTALL = (
    "DEBIAN_FRONTEND=noninteractive apt-get -q install --yes --no-remove --allow-downgrades --no-install-recommends"
    " be2net-modules=12.0.0.0"
)
PURGE = "DEBIAN_FRONTEND=noninteractive dpkg --purge be2net-modules"
INFO = """driver: be2net
version: 12.0.0.0
firmware-version: 4.4.249.3
expansion-rom-version:
bus-info: 0000:81:00.0
supports-statistics: yes
supports-test: yes
supports-eeprom-access: yes
supports-register-dump: yes
supports-priv-flags: yes
"""


def host(script: dict[str, Script]) -> tuple[LinuxHost, FakeShell]:
    shell = FakeShell({"cat /etc/os-release": "ID=debian\n", **script})
    return LinuxHost(shell, "dut"), shell


@pytest.mark.parametrize(
    ("answer", "wanted"),
    [
        (INSTALLED, Package("be2net-modules", "12.0.0.0", "amd64", "installed")),
        (
            "be2net-modules half-configured amd64 12.0.0.0\n",
            Package("be2net-modules", "12.0.0.0", "amd64", "half-configured"),
        ),
        ("be2net-modules config-files amd64 12.0.0.0\n", None),
        (ABSENT, None),
    ],
)
def test_a_package_as_dpkg_knows_it(answer: str | Answer, wanted: Package | None) -> None:
    found = host({QUERY: answer})[0].drivers.package("be2net-modules")
    assert found == wanted
    assert found is None or found.complete is (found.status == "installed")


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        ("", "cannot read dpkg-query -W"),
        ("be2net-modules installed amd64\n", "expected one line: package, status, architecture, version"),
        (INSTALLED + INSTALLED, "cannot read dpkg-query -W"),
        ("other installed amd64 1.0\n", "answered for other"),
        (failed("dpkg-query: error: failed to open package info file", exit_status=2), "failed with exit status 2"),
        (failed("", exit_status=1), "failed with exit status 1"),
    ],
)
def test_what_says_nothing_about_a_package_is_an_error(answer: str | Answer, words: str) -> None:
    with pytest.raises(BenchFault, match=words):
        host({QUERY: answer})[0].drivers.package("be2net-modules")


def test_installing_and_removing_read_back() -> None:
    dut, shell = host({INSTALL: "", PURGE: "", QUERY: [INSTALLED, INSTALLED, ABSENT]})
    installed = dut.drivers.install_package("be2net-modules", "12.0.0.0")
    assert installed.refused is None and installed.now is not None and installed.now.version == "12.0.0.0"
    removed = dut.drivers.remove_package("be2net-modules")
    assert (removed.refused, removed.now) == (None, None)
    assert shell.timeouts_s[INSTALL] == SLOW_DEADLINE_S


def test_a_package_that_nobody_knows_is_removed_already() -> None:
    dut, shell = host({QUERY: ABSENT})
    removed = dut.drivers.remove_package("be2net-modules")
    assert (removed.refused, removed.now) == (None, None) and PURGE not in shell.commands
    left = "be2net-modules config-files amd64 12.0.0.0\n"
    dut, shell = host({QUERY: [left, ABSENT], PURGE: ""})
    assert dut.drivers.remove_package("be2net-modules").now is None and PURGE in shell.commands


def test_an_installation_that_stops_half_way_is_a_refusal_with_what_is_there() -> None:
    said = (
        "dpkg: error processing package be2net-modules (--configure):\n script subprocess returned error exit status 1"
    )
    broken = failed(f"{said}\nE: Sub-process /usr/bin/dpkg returned an error code (1)\n", exit_status=100)
    dut, _ = host({INSTALL: broken, QUERY: "be2net-modules half-configured amd64 12.0.0.0\n"})
    attempt = dut.drivers.install_package("be2net-modules", "12.0.0.0")
    assert attempt.refused == f"{said}\nE: Sub-process /usr/bin/dpkg returned an error code (1)"
    assert attempt.now is not None and not attempt.now.complete


@pytest.mark.parametrize(
    "failed_one",
    ["be2net-modules", "/var/cache/apt/archives/be2net-modules_12.0.0.0.deb", "be2net-modules:amd64"],
)
def test_a_package_that_dpkg_names_is_refused(failed_one: str) -> None:
    said = f"Errors were encountered while processing:\n other-modules\n {failed_one}\nE: Sub-process /usr/bin/dpkg"
    dut, _ = host({INSTALL: failed(said, exit_status=100), QUERY: ABSENT})
    assert dut.drivers.install_package("be2net-modules", "12.0.0.0").refused


@pytest.mark.parametrize(
    "said",
    [
        "E: Could not get lock /var/lib/dpkg/lock-frontend",
        "W: Failed to fetch http://mirror.example/x.deb",
        "E: Could not open lock file - open (13: Permission denied)",
        "dpkg: error processing archive: cannot copy extracted data: failed to write (No space left on device)",
        "E: You don't have enough free space in /var/cache/apt/archives/.",
        "E: dpkg was interrupted, you must manually run 'dpkg --configure -a' to correct the problem.",
        "E: Unable to acquire the dpkg frontend lock (/var/lib/dpkg/lock-frontend), is another process using it?",
        "fork: Cannot allocate memory",
        "dpkg: error: unable to create new file '/var/lib/dpkg/status-new': Read-only file system",
        "E: Failed to fetch file:/srv/be2net-modules_12.0.0.0_amd64.deb  Hash Sum mismatch",
        "dpkg: unrecoverable fatal error, aborting:\n files list file: Input/output error",
        "Errors were encountered while processing:\n other-modules\n"
        "E: Sub-process /usr/bin/dpkg returned an error code (1)",
    ],
)
def test_what_the_lab_lacks_is_no_refusal(said: str) -> None:
    with pytest.raises(BenchFault, match=r"^dut: `DEBIAN_FRONTEND=\S+ apt-get .*` failed with exit status 100"):
        host({INSTALL: failed(said, exit_status=100)})[0].drivers.install_package("be2net-modules", "12.0.0.0")


@pytest.mark.parametrize(
    "said",
    ["E: Unable to locate package be2net-modules", "E: Version '12.0.0.0' for 'be2net-modules' was not found"],
)
def test_a_version_that_apt_does_not_know_is_looked_for_in_new_lists(said: str) -> None:
    unknown = failed(said, exit_status=100)
    dut, shell = host({INSTALL: [unknown, ""], "apt-get -q update": "", QUERY: INSTALLED})
    assert dut.drivers.install_package("be2net-modules", "12.0.0.0").refused is None
    assert shell.commands[1:4] == [INSTALL, "apt-get -q update", INSTALL]
    dut, _ = host({INSTALL: unknown, "apt-get -q update": failed("E: no network", exit_status=100)})
    with pytest.raises(BenchFault, match=r"^dut: `DEBIAN_FRONTEND=\S+ apt-get .*` failed with exit status 100"):
        dut.drivers.install_package("be2net-modules", "12.0.0.0")


def test_firmware_is_written_and_read_back() -> None:
    dut, shell = host({"ethtool -f eth0 oc11-4.4.249.3.ufi": "", "ethtool -i eth0": INFO})
    attempt = dut.firmware.flash("eth0", "oc11-4.4.249.3.ufi")
    assert (attempt.refused, attempt.now.firmware) == (None, "4.4.249.3")
    assert shell.timeouts_s["ethtool -f eth0 oc11-4.4.249.3.ufi"] == 600


@pytest.mark.parametrize("status", [1, 255])
def test_a_refused_image_is_an_answer_and_a_missing_device_is_none(status: int) -> None:
    """Status 255 is what ethtool 6 ends with."""
    refused = failed("Flashing failed: Invalid argument\n", exit_status=status)
    attempt = host({"ethtool -f eth0 x.bin": refused, "ethtool -i eth0": INFO})[0].firmware.flash("eth0", "x.bin")
    assert attempt.refused == "Flashing failed: Invalid argument"
    gone = failed("Flashing failed: No such device\n", exit_status=1)
    with pytest.raises(BenchFault, match="No such device"):
        host({"ethtool -f eth0 x.bin": gone})[0].firmware.flash("eth0", "x.bin")


def test_a_file_of_firmware_is_looked_for() -> None:
    dut, _ = host({"test -f /lib/firmware/x.bin": [Answer(), Answer(exit_status=1), failed("odd", exit_status=2)]})
    assert (dut.firmware.has_image("x.bin"), dut.firmware.has_image("x.bin")) == (True, False)
    with pytest.raises(BenchFault, match="failed with exit status 2"):
        dut.firmware.has_image("x.bin")


def test_a_module_parameter_is_what_the_kernel_shows() -> None:
    dut, _ = host({"cat /sys/module/acenic/parameters/trace": "0\n"})
    assert dut.drivers.parameter("acenic", "trace") == "0"


@pytest.mark.parametrize(
    ("ask", "arguments"),
    [
        ("drivers.package", ("be2net;reboot",)),
        ("drivers.install_package", ("be2net-modules", "1.0;reboot")),
        ("drivers.remove_package", ("../x",)),
        ("firmware.flash", ("eth0", "../../etc/shadow")),
        ("firmware.has_image", ("a b",)),
        ("drivers.parameter", ("acenic", "../x")),
        ("pci.aer", ("eth0",)),
    ],
)
def test_what_is_no_name_reaches_no_shell(ask: str, arguments: tuple[str, ...]) -> None:
    dut, shell = host({})
    with pytest.raises(BenchFault, match="; expected "):
        attrgetter(ask)(dut)(*arguments)
    assert shell.commands == []


SLOT = "0000:81:00.0"
FOLDER = f"/sys/bus/pci/devices/{SLOT}"
CORRECTABLE = "RxErr 0\nBadTLP 2\nBadDLLP 0\nTOTAL_ERR_COR 2\n"
FATAL = "Other 0\nDLP 0\nTOTAL_ERR_FATAL 0\n"
NONFATAL = "Other 0\nDLP 1\nTOTAL_ERR_NONFATAL 1\n"
LOOK = f"[ -d {FOLDER} ] || {{ echo absent; exit; }}; cd {FOLDER} && if [ -e aer_dev_correctable ]; ..."
HEARD = "devctl=283f 00100000 00002000\nowner=os\n"
CLASSES = f"class=correctable\n{CORRECTABLE}class=nonfatal\n{NONFATAL}class=fatal\n{FATAL}"


def test_errors_are_read_in_their_three_classes() -> None:
    found = host({LOOK: HEARD + CLASSES})[0].pci.aer(SLOT)
    wanted = AerCounters({"RxErr": 0, "BadTLP": 2, "BadDLLP": 0}, {"Other": 0, "DLP": 1}, {"Other": 0, "DLP": 0})
    assert found == wanted
    assert wanted.growth_since(AerCounters({"BadTLP": 1}, {}, {})) == {"correctable BadTLP": 1, "nonfatal DLP": 1}


@pytest.mark.parametrize(
    ("masks", "masked"),
    [
        ("00000000 000031c1", ("RxErr", "BadTLP", "BadDLLP", "Rollover", "Timeout")),
        ("00062010 00002040", ("DLP", "FCP", "RxOF", "MalfTLP", "BadTLP")),
    ],
)
def test_errors_that_a_device_masks_are_named(masks: str, masked: tuple[str, ...]) -> None:
    found = host({LOOK: f"devctl=283f {masks}\nowner=os\n{CLASSES}"})[0].pci.aer(SLOT)
    assert found is not None and found.masked == masked


def test_a_device_without_counters_and_one_that_is_not_there() -> None:
    assert host({LOOK: ""})[0].pci.aer(SLOT) is None
    with pytest.raises(NoDevice, match=f"^dut: there is no PCI device at {SLOT}$"):
        host({LOOK: "absent\n"})[0].pci.aer(SLOT)


@pytest.mark.parametrize(
    "text",
    [
        CORRECTABLE,
        f"class=correctable\n{CORRECTABLE}",
        CLASSES + CLASSES,
        CLASSES.replace("class=nonfatal", "class=fatal"),
        f"class=correctable\nclass=nonfatal\n{NONFATAL}class=fatal\n{FATAL}",
        f"x\n{CLASSES}",
    ],
)
def test_classes_that_are_not_all_there_are_an_error(text: str) -> None:
    with pytest.raises(ReadError, match="AER counters"):
        host({LOOK: HEARD + text})[0].pci.aer(SLOT)


@pytest.mark.parametrize(
    ("heard", "reason"),
    [
        ("devctl=2836 00000000 00002000\nowner=os\n", r"it does not report correctable errors \(DevCtl 2836\)"),
        ("devctl=0001 00000000 00002000\nowner=os\n", r"it does not report non-fatal, fatal errors \(DevCtl 0001\)"),
        (
            "devctl=283f 00000000 00002000\nowner=\n",
            r"the kernel's AER driver has not its root port \(firmware owns AER, or pci=noaer\)",
        ),
    ],
)
def test_counters_that_nobody_counts_are_not_applicable(heard: str, reason: str) -> None:
    """The files are there, and stay at 0."""
    with pytest.raises(NotApplicable, match=f"^dut: PCI Express errors of {SLOT} are not counted: {reason}$"):
        host({LOOK: heard + CLASSES})[0].pci.aer(SLOT)


@pytest.mark.parametrize(
    "heard",
    [
        "",
        "devctl=\nowner=os\n",
        "devctl=283f\nowner=os\n",
        "devctl=283f 00000000\nowner=os\n",
        "devctl=283f 00000000 00002000\nowner=me\n",
        "owner=os\ndevctl=283f 00000000 00002000\n",
    ],
)
def test_who_counts_must_be_said(heard: str) -> None:
    with pytest.raises(ReadError, match=r"cannot read AER counters"):
        host({LOOK: heard + CLASSES})[0].pci.aer(SLOT)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "RxErr 0\n",
        "TOTAL_ERR_COR 0\n",
        "RxErr 0\nRxErr 1\nTOTAL_ERR_COR 1\n",
        "RxErr -1\nTOTAL_ERR_COR 0\n",
        "RxErr none\nTOTAL_ERR_COR 0\n",
        "RxErr\nTOTAL_ERR_COR 0\n",
        "TOTAL_ERR_COR 0\nRxErr 0\n",
        "cat: aer_dev_correctable: No such file or directory\n",
    ],
)
def test_what_is_no_count_of_errors_is_refused(text: str) -> None:
    with pytest.raises(ReadError, match=r"^cannot read AER counters: "):
        read_aer(text)

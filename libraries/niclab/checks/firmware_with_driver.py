"""Firmware and driver that go together, as the sheet pairs them (EMX-04)."""

from __future__ import annotations

from niclab.bench.records import Port
from niclab.card import FirmwarePair, VersionLists, VersionVerdict
from niclab.checks.asked import Say, driver_infos, dut_driver, dut_system
from niclab.checks.driver import WantedVersions, judge_versions, wanted_versions
from niclab.checks.firmware import require_shown
from niclab.core.verdict import Collected, NotApplicable, SheetUnknown, Undecided
from niclab.hosts.host_records import DriverInfo
from niclab.run.run import Run


def require_fits_driver(run: Run, say: Say) -> None:
    """Judge the firmware of every port by what the sheet pairs with the version of its driver.

    Args:
        run: The run.
        say: Takes the driver and the firmware of each port.

    Raises:
        CardFailure: The firmware is none that the sheet pairs with the driver.
        NotApplicable: The sheet has no pairs for the dut's driver, or says that the driver does not show the firmware.
        SheetUnknown: No pair is of the version that runs.
        Undecided: A port reports no version of driver or firmware, or one that cannot be compared; or the driver is not
            one that the sheet wants, so that nothing is said about the card.
        BenchFault: The run qualifies the vendor's package, and the kernel's driver is in its place.
    """
    require_shown(run)
    pairs = [pair for pair in run.card.firmware.with_driver if pair.os is dut_system(run)]
    if not pairs:
        module = dut_driver(run).module
        raise NotApplicable(f"sheet {run.card.name} pairs no firmware with versions of driver {module}")
    wanted, judged, unpaired = _wanted(run), Collected(), list[str]()
    for port, info in driver_infos(run):
        say(f"{port.place}: driver {info.driver} {info.version}, firmware {info.firmware}")
        with judged.one():
            try:
                _judge(run, port, info, _pair(pairs, port, info, wanted))
            except SheetUnknown as error:
                unpaired.append(str(error))
    judged.end()
    if unpaired:
        raise SheetUnknown("\n".join(dict.fromkeys(unpaired)))


def _wanted(run: Run) -> WantedVersions | None:
    """The versions of the driver that the sheet wants; None where it names none, or the driver has none of its own."""
    try:
        return wanted_versions(run)
    except NotApplicable:
        return None


def _pair(pairs: list[FirmwarePair], port: Port, info: DriverInfo, wanted: WantedVersions | None) -> FirmwarePair:
    version = info.version
    if version is None:
        raise Undecided(f"{port.place} reports no driver version, with which its firmware would have to fit")
    if wanted is not None:
        verdict = wanted.lists.verdict(wanted.read(version))
        if verdict not in (VersionVerdict.REQUIRED, VersionVerdict.ALLOWED):
            raise Undecided(
                f"{port.place} runs driver {version}; expected one that may run before its firmware is judged with it"
            )
    found = [pair for pair in pairs if pair.has_driver(version)]
    if not found:
        raise SheetUnknown(f"the sheet pairs no firmware with version {version} of driver {info.driver}")
    if len(found) > 1:
        raise Undecided(f"{port.place}: {len(found)} pairs of the sheet are of driver {version}; expected one")
    return found[0]


def _judge(run: Run, port: Port, info: DriverInfo, pair: FirmwarePair) -> None:
    firmware = run.card.firmware
    lists = VersionLists(required=pair.firmware, order=firmware.order)
    expected = f"expected {' or '.join(pair.firmware)} with driver {info.driver} {info.version}"
    wanted = f"{expected} (sheet {run.card.name}: {pair.source})"
    judge_versions(run, "firmware", [(port, info.firmware)], lists, wanted, firmware.read)

"""The page of what is tested is true: each defect of a line turns a test of it red, and figures are those in force."""

from __future__ import annotations

import re
import sys
from functools import cache
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).resolve().parents[1]
for folder in ("tests/robustness", "tests/controls", "tests/virtual/bench", "lab/virtual"):
    sys.path.append(str(REPOSITORY / folder))

import matrix  # noqa: E402
from declared import UNSEEN, declared  # noqa: E402

from niclab.core.profile import Profile  # noqa: E402
from niclab.frames.load import full_load, load_rates, lost_frames  # noqa: E402
from niclab.frames.queues import spread  # noqa: E402
from niclab.settings.rings import ring_memory  # noqa: E402

PAGE = (REPOSITORY / "docs/coverage.md").read_text()
DEFECT = re.compile(r"`([a-z-]+)`")
PLACE = re.compile(r"KS `[\w/]+\.py`, [0-9a-f]{12}, lines? \d+.*|")

ONCE, SIZES = "Every Frame Arrives Once In Order And Unchanged", "Frames Of Every Size Arrive"
SPREAD, AFTER = "Flows Spread Over Every Queue", "Flows Follow The Table After Changes"
CHANGES, DOWN_UP = "Traffic Survives Changes Of Settings", "Settings Survive Down And Up"
LOAD, ALONE = "Every Path Carries Full Load In Both Directions", "Single Frames Are Handed Over In Time"
EVERY, LARGEST = "Ports Receive Everything Only While Promiscuous", "Frames Of The Largest Sizes Arrive"
TESTS = {
    "every frame once, in order, unchanged": (ONCE,),
    "whether the card or the other end did it": (ONCE,),
    "every length": (SIZES, LARGEST),
    "TCP, UDP and fragments with offloads on and off": (
        "Data Arrive Unchanged With Every Offload On",
        "Data Arrive Unchanged With Every Offload Off",
        "Every Offload Leaves Data Unchanged When It Is Off",
        "Fragmented Datagrams Arrive Whole With Checksum Offload",
    ),
    "records in pieces of memory": ("Data In Pieces Of Memory Arrive Unchanged",),
    "wrong IP, UDP and TCP checksums": ("Wrong Checksums Are Refused And Counted",),
    "checksums on the wire, UDP and TCP over IPv4 and IPv6": ("Checksums Are Right On The Wire",),
    "segments of TCP on the wire": (
        "Segments Of TCP Over IPv4 Are Right On The Wire",
        "Segments Of TCP Over IPv6 Are Right On The Wire",
    ),
    "tags of a VLAN with a priority on the wire": (
        "Tags Are Right On The Wire",
        "Received Tags Are Those That Were Sent",
    ),
    "checksums of received packets": ("Received Checksums Are Judged Only When Asked For",),
    "GRO and LRO": ("GRO Merges Packets Only While It Is On", "LRO Merges Packets Only While It Is On"),
    "receive hashes": ("Each Connection Has Its Own Receive Hash",),
    "IPv6 with extension headers, many connections, priorities 0 to 7, VLAN id 0, two tags": (
        "Frames Of Every Kind Arrive",
    ),
    "padding of short frames": ("Padding Carries No Foreign Bytes",),
    "own, near, strange address, broadcast": ("Ports Receive Their Own Address Only",),
    "promiscuous, and not any more": (EVERY,),
    "multicast groups": ("Ports Receive The Groups That They Joined",),
    "all groups, further addresses": ("Ports Receive Every Group When Asked To", "Ports Receive Further Addresses"),
    "MAC address changed and back": ("Ports Receive At A Changed Address",),
    "VLAN filter": ("The VLAN Filter Passes The Own VLANs Only",),
    "the table of VLANs": ("The VLAN Filter Works In Every Word And Bit",),
    "rings, coalescing, pause, queues, offloads under traffic": (CHANGES,),
    "pause frames that come": ("A Paused Port Stops Sending",),
    "pause frames that are sent": ("A Full Port Asks For Silence",),
    "memory of receive rings": ("The Largest Rings Fit In Memory",),
    "driver of DKMS for each kernel": ("A Driver Of DKMS Is Built For Every Installed Kernel",),
    "memory of a driver that is loaded again": ("The Driver Gives Its Memory Back",),
    "settings after down and up": (DOWN_UP,),
    "all ports, both directions, mixed sizes": (LOAD,),
    "round trips of single frames, p50 to p99.9": (ALONE,),
    "lost interrupts": (ALONE,),
    "times of coalescing": ("Longer Coalescing Holds Frames Longer",),
    "highest rate without loss": ("Frames Have A Rate Without Loss In Both Directions",),
    "adaptive coalescing": ("Coalescing Adapts To The Load",),
    "transmit queue that hangs": ("The Dut Sends At The Rate On The Sheet",),
    "driver unload and load, idle and loaded": (
        "Reloading The Driver Brings Every Link Back",
        "Reloading The Driver Under Traffic Brings Every Link Back",
    ),
    "function reset, remove and rescan, driver unbind and bind": (
        "A Port Comes Back When Its Driver Is Bound Again",
        "A Port Comes Back When It Is Found On The Bus Again",
        "A Port Comes Back From A Reset",
    ),
    "self test": ("The Self Test Passes While The Port Is In Use", "The Whole Self Test Passes"),
    "memory of SFP and QSFP modules": ("Every Module Is Read Right And Within Its Own Limits",),
    "received power": ("Received Power Falls And Returns With The Light",),
    "N warm and N cold boots": (
        "The Link Is As On The Sheet After A Warm Restart",
        "The Link Is As On The Sheet After A Power Cycle",
        "The Card Is The Same After A Warm Restart",
        "The Card Is The Same After A Power Cycle",
        "The Card Is The Same After Each Of Five Warm Restarts",
        "The Card Is The Same After Each Of Five Power Cycles",
    ),
    "EEPROM": ("The EEPROM Is Read Right",),
    "dump of registers, light that blinks": (
        "A Dump Of The Registers Leaves Every Link",
        "A Light That Blinks Leaves Every Link",
    ),
    "none, one, all, none": ("Every Port Makes All Of Its Virtual Functions",),
    "frames of every function": ("Virtual Functions Carry Their Own Frames",),
    "spoofed source addresses": ("Virtual Functions Refuse Spoofed Addresses",),
    "VLAN of a function": ("Virtual Functions Keep Their VLAN",),
    "VLAN tags that a function makes itself": ("Virtual Functions Send In No Other VLAN",),
    "functions that come and go": ("Virtual Functions Leave Other Ports",),
    "a port that goes down under its functions": ("Virtual Functions Survive Their Port",),
    "functions that are removed while they send": ("Virtual Functions Go While They Send",),
    "driver of a port loaded again under its functions": (
        "Virtual Functions Are Made Again When The Driver Is Loaded Again",
    ),
    "a clock that runs": ("Every Hardware Clock Runs Forward At Its Rate",),
    "a clock that is set": ("Hardware Clocks Take Times",),
    "a clock whose rate is changed": ("Hardware Clocks Take Rates",),
    "stamps of received frames": ("Received Frames Have Time Stamps Of Their Own",),
    "stamps of frames sent": ("Sent Frames Have Time Stamps Of Their Own",),
    "every queue works, flows are spread": (SPREAD,),
    "indirection table": ("Flows Follow The Indirection Table",),
    "rules of flows (ntuple)": ("Rules Steer Their Own Flows",),
    "interrupt of each queue": (
        "Each Queue Raises Its Own Interrupt",
        "Each Queue Raises Its Own Interrupt When The Driver Is Loaded Again",
    ),
    "table after down and up, ring, number of queues, refused change": (AFTER,),
    "after the driver is loaded again": ("Flows Spread Over Every Queue When The Driver Is Loaded Again",),
    "hash key": ("Flows Come By The Queues That The Key Predicts",),
    "hash fields": ("Hash Fields Can Be Set",),
    "reads over NFS, with the card in the server": (
        "NFS Reads Over UDP Reach The Rate On The Sheet",
        "NFS Reads Over UDP In Jumbo Frames Reach The Rate On The Sheet",
        "NFS Reads Over TCP Are As Fast As In Accepted Runs",
    ),
    "a link that fails and returns under NFS": ("Reads Over NFS Survive The Loss And Return Of A Link",),
    "disks over iSCSI, with the card in the initiator": ("Blocks Over iSCSI Come Back As They Were Written",),
    "disks by NVMe over TCP": ("Blocks By NVMe Over TCP Come Back As They Were Written",),
    "each setting alone under disks over iSCSI": ("Each Factor Alone Changes Loads Over iSCSI As The Sheet Predicts",),
    "checksum offload under disks over iSCSI": ("Checksum Offload Stays On Under iSCSI",),
    "disks over iSCSI by the card's engine": ("Disks Over iSCSI By The Card's Engine Match Those By Software",),
    "disks over iSCSI on a congested SAN": ("Disks Over iSCSI Lose Nothing But What A Congested Switch Discards",),
    "flow control of the card on a congested SAN": (
        "Disks Over iSCSI Work On A Congested SAN With Flow Control Off And On",
    ),
    "a link that fails and returns under disks over iSCSI": ("Disks Over iSCSI Survive The Loss And Return Of A Link",),
    "a path of two that fails and returns under disks over iSCSI": (
        "Disks Over Two Paths Survive The Loss Of A Path",
        "Disks Over Two Paths Use A Path That Returns",
    ),
}
"""Line of the page -> the tests of the suites that judge it."""
ROUND_TRIPS = "round trips of single frames, p50 to p99.9"
"""They are recorded by the test of lost interrupts, which judges none of them."""
OF_A_WHOLE_RUN = {
    "hours of load": REPOSITORY / "tests/controls/test_soak_controls.py",
    "a link that flaps once in a run": REPOSITORY / "tests/controls/test_hygiene_controls.py",
}
"""Lines that no single test judges -> the controls of their defects."""


def lines() -> dict[str, tuple[str, str]]:
    """Capability -> what is judged here, and what the column of defects says."""
    rows = [line.strip("|").split("|") for line in PAGE.splitlines() if line.startswith("| ") and line.count("|") == 5]
    cells = [[cell.strip() for cell in row] for row in rows]
    return {name: (here, seen) for name, _, here, seen in cells if name not in ("capability", "---")}


@cache
def reds() -> dict[str, set[str]]:
    """Fault -> tests of the suites that a control of it turns red."""
    found: dict[str, set[str]] = {}
    for row in declared():
        found.setdefault(row.fault, set()).update(matrix.of_every_row(test) for test in row.red)
    return found


def test_the_tests_of_each_line_are_there() -> None:
    assert {test for tests in TESTS.values() for test in tests} <= matrix.tests_of_suites()


def test_each_line_has_tests_or_says_that_nothing_judges_it() -> None:
    judged = {name for name, (here, _) in lines().items() if here != "no" and not here.startswith("no: ")}
    assert judged - set(TESTS) - set(OF_A_WHOLE_RUN) == {"packets with wrong checksums that both systems count"}
    assert set(TESTS) | set(OF_A_WHOLE_RUN) <= judged


@pytest.mark.parametrize("name", TESTS)
def test_each_defect_of_a_line_turns_one_of_its_tests_red(name: str) -> None:
    for defect in DEFECT.findall(lines()[name][1]):
        assert reds().get(defect, set()) & set(TESTS[name]), defect


@pytest.mark.parametrize("name", OF_A_WHOLE_RUN)
def test_each_defect_of_a_whole_run_has_a_control(name: str) -> None:
    text = OF_A_WHOLE_RUN[name].read_text()
    assert [defect for defect in DEFECT.findall(lines()[name][1]) if defect not in text] == []


@pytest.mark.parametrize("name", TESTS)
def test_a_line_without_a_defect_has_no_control_that_could_be_named(name: str) -> None:
    if not DEFECT.findall(lines()[name][1]):
        assert [fault for fault, tests in reds().items() if tests & set(TESTS[name]) and name != ROUND_TRIPS] == []


def test_places_of_other_suites_have_commit_and_line() -> None:
    rows = [line.strip("|").split("|") for line in PAGE.splitlines() if line.startswith("| ") and line.count("|") == 4]
    places = [where.strip() for what, where, _ in rows if what.strip() not in ("what goes wrong", "---")]
    assert len(places) > 5 and [place for place in places if not PLACE.fullmatch(place)] == []


def test_defects_that_no_test_sees_are_those_that_the_controls_name() -> None:
    said = PAGE.partition("which no test sees yet: ")[2].partition(".\n")[0]
    unseen = {name for name, why in UNSEEN.items() if why.startswith("no test ")}
    assert set(DEFECT.findall(said)) == unseen - {"degrade"}


def test_figures_are_those_in_force() -> None:
    plans = full_load.SECONDS
    said = (
        f"one frame of each of {spread.FLOWS} flows or more",
        f"{plans[Profile.QUICK].first_look} s in `quick`, {plans[Profile.FULL].first_look} s in `full`",
        f"at most {100 * lost_frames.MOST_LOST:g} % lost, and a quarter of one second",
        "no second with less than a tenth of it",
        f"Leaks of less than {ring_memory.LEAST_LOST_BYTES >> 20} MiB a change are not seen",
        "six times in a row and for a minute",
    )
    assert [words for words in said if words not in PAGE] == []
    assert (lost_frames.MOST_LOST_IN_A_ROW, load_rates.LEAST_OF_WANTED) == (0.25, 0.1)
    assert ring_memory.FIRST_ROUNDS + ring_memory.MORE_ROUNDS == 6 and ring_memory.COMES_BACK_WITHIN_S == 60

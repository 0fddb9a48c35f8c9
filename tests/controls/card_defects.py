"""Defects of a card, and the tests that must see them: which turn red, with which words, among which that stay green.

A defect that must not be there while the bench is proven good is injected into a test (``into``); one that the driver
reads when it takes the card needs a ``reload``, one that the card reads when it gets power a ``cold_start``; one that
leaves the server ill needs a ``power_cycle`` afterwards.
"""

from __future__ import annotations

from defect import ALTEON, BROADCOM, EMULEX, X520, Defect, red
from frame_defects import FRAME_DEFECTS

GRO, VLAN_STRIP, LRO = "16", "64", "512"
"""Bits of feature defects, as in ``lab/virtual/card/mailbox.h``."""


def switched(offload: str) -> str:
    return f"Offload {offload} Can Be Switched As On The Sheet"


def proven(offload: str) -> str:
    return f"Offload {offload} Is Proven By Its Counters"


IDLE, LOADED = "The Link Is As On The Sheet When Idle", "The Link Is As On The Sheet Under Load"
RESTARTED, CYCLED = (
    "The Link Is As On The Sheet After A Warm Restart",
    "The Link Is As On The Sheet After A Power Cycle",
)
NO_ERRORS = ("The Link Counts No Errors Under Load", "The Link Counts No Errors While The Driver Is Loaded Again")
IS_CARD, MACS = "Every Port Is The Card On The Sheet", "Every Port Has A MAC Address Of Its Own"
FIRMWARE, SAME_FIRMWARE = "The Firmware Is One The Sheet Wants", "All Ports Run The Same Firmware"
SERIALS, DRIVEN = "No Serial Number Is On Both Servers", "Every Port Is Driven By The Driver On The Sheet"
UP, STAYS, CARRIES = "Every Link Is Up", "A Link That Is Up Stays Up", "Every Link Carries Traffic"
PULLED, JUMBO = "A Pulled Cable Is Seen At Both Ends In Time", "Frames Of The Largest MTU Arrive"
MODULE, LIGHT = (
    "Every Module Is Read Right And Within Its Own Limits",
    "Received Power Falls And Returns With The Light",
)
VLAN, ISOLATED = "A VLAN Carries Traffic", "VLANs Are Isolated"
LARGE_RINGS = "Large Rings That A Test Sets Are In Force And Keep The Link"
RELOADS, RELOADS_LOADED = (
    "Reloading The Driver Brings Every Link Back",
    "Reloading The Driver Under Traffic Brings Every Link Back",
)
BOUND, FOUND, RESET = (
    "A Port Comes Back When Its Driver Is Bound Again",
    "A Port Comes Back When It Is Found On The Bus Again",
    "A Port Comes Back From A Reset",
)
SAME_WARM, SAME_COLD = "The Card Is The Same After A Warm Restart", "The Card Is The Same After A Power Cycle"
FIVE_WARM, FIVE_COLD = (
    "The Card Is The Same After Each Of Five Warm Restarts",
    "The Card Is The Same After Each Of Five Power Cycles",
)
EEPROM, DUMPED, BLINKED = (
    "The EEPROM Is Read Right",
    "A Dump Of The Registers Leaves Every Link",
    "A Light That Blinks Leaves Every Link",
)
FLOW = "Disks Over iSCSI Work On A Congested SAN With Flow Control Off And On"
DISKS = "Disks Over iSCSI Survive The Loss And Return Of A Link"
FILES = "Reads Over NFS Survive The Loss And Return Of A Link"
PATH_LOST = "Disks Over Two Paths Survive The Loss Of A Path"
PATH_BACK = "Disks Over Two Paths Use A Path That Returns"

DEFECTS = (
    *FRAME_DEFECTS,
    Defect(BROADCOM, ("card:dut", "link-width=4"), red(IDLE, LOADED), "trained to x4", tests=(IDLE, LOADED, UP)),
    Defect(BROADCOM, ("card:dut", "link-gen=1"), red(IDLE, LOADED), "trained to 2.5 GT/s", tests=(IDLE, LOADED, UP)),
    Defect(BROADCOM, ("card:dut", "link-width-loaded=1"), red(LOADED), "trained to x1", tests=(IDLE, LOADED)),
    Defect(
        # the server came up by a power-on
        BROADCOM,
        ("card:dut", "link-width-cold=4"),
        red(IDLE, CYCLED),
        "trained to x4",
        tests=(IDLE, RESTARTED, CYCLED),
        power_cycle=True,
    ),
    Defect(
        BROADCOM, ("card:dut", "link-width=2"), red(RESTARTED), "trained to x2", tests=(RESTARTED, UP), into=RESTARTED
    ),
    Defect(BROADCOM, ("card:dut", "aer-correctable=5"), red(*NO_ERRORS), "correctable", tests=(*NO_ERRORS, IDLE)),
    Defect(
        BROADCOM,
        ("card:dut.p1", "firmware=7.2.51"),
        red(FIRMWARE, SAME_FIRMWARE),
        "dut.p1",
        suites=("*.identity.card", "firmware"),
    ),
    Defect(
        BROADCOM,
        ("card:dut", "same-serial"),
        red(SERIALS),
        "have both serial number",
        suites=("identity",),
        cold_start=True,
        power_cycle=True,
    ),
    Defect(
        BROADCOM,
        ("card:dut", "same-mac"),
        red(MACS),
        "which dut.p0 has too",
        suites=("*.identity.card",),
        cold_start=True,
        power_cycle=True,
    ),
    Defect(
        BROADCOM,
        ("card:dut", "default-rx-ring=200"),
        red("Rings Are As Delivered"),
        "ring rx is 200",
        suites=("identity",),
        reload=True,
    ),
    Defect(
        BROADCOM,
        ("card:dut.p1", "default-tx-ring=100"),
        red("Rings Are As Delivered"),
        "dut.p1",
        suites=("identity",),
        reload=True,
    ),
    Defect(
        BROADCOM,
        ("card:dut", "default-rx-usecs=100"),
        red("Coalescing Is As Delivered"),
        "rx-usecs is 100",
        suites=("identity",),
        reload=True,
    ),
    Defect(
        BROADCOM, ("card:dut", f"feature-stuck-on={GRO}"), red(switched("gro")), "gro", suites=("*.settings.offload",)
    ),
    Defect(
        BROADCOM,
        ("card:dut", f"feature-stuck-off={LRO}"),
        red(switched("lro")),
        "large-receive-offload",
        suites=("*.settings.offload",),
        reload=True,
    ),
    Defect(
        BROADCOM,
        # without receive checksums there is no LRO, so it is to come back with them
        ("card:dut.p0", f"feature-stuck-off={LRO}"),
        red(switched("rx-checksum")),
        "large-receive-offload did not come back",
        tests=(UP, switched("rx-checksum")),
        into=switched("rx-checksum"),
        reload=True,
    ),
    Defect(
        BROADCOM,
        ("card:dut", f"feature-lie={LRO}"),
        red(proven("lro")),
        "lro",
        suites=("*.settings.offload",),
        full=True,
    ),
    Defect(
        EMULEX,
        ("card:dut", f"feature-unfixed={VLAN_STRIP}"),
        red(switched("vlan-strip"), "Offloads Are As Delivered"),
        "vlan-strip",
        suites=("*.identity.defaults", "*.settings.offload"),
        reload=True,
    ),
    Defect(
        EMULEX,
        ("card:dut", "tso-without-csum=1"),
        red(switched("tx-checksum")),
        "tso",
        suites=("*.settings.offload",),
    ),
    Defect(
        BROADCOM,
        ("card:dut", "ring-kills-link=1"),
        red("Ring rx Takes Its Range", "Ring tx Takes Its Range", LARGE_RINGS),
        "has no carrier",
        suites=("*.settings.rings_and_queues", "*.settings.tuning"),
    ),
    Defect(BROADCOM, ("card:dut.p1", "jumbo-drop=4096"), red(JUMBO), "peer.p1", suites=("*.link.link",)),
    Defect(BROADCOM, ("card:dut", "vlan-wrong-tag=7"), red(VLAN), "", tests=(VLAN, ISOLATED, UP)),
    Defect(EMULEX, ("card:dut", "vlan-leak=1"), red(ISOLATED), "without its tag", tests=(VLAN, ISOLATED)),
    Defect(
        BROADCOM,
        ("card:dut", "carrier-stuck=1"),
        red(PULLED),
        "has still carrier",
        tests=(UP, PULLED),
        into=PULLED,
    ),
    Defect(
        BROADCOM,
        ("card:dut", "carrier-delay=5000"),
        red(PULLED),
        "has still carrier",
        tests=(UP, PULLED),
        into=PULLED,
    ),
    Defect(
        BROADCOM,
        ("card:dut.p1", "link-flap=1000"),
        red(STAYS),
        "dut.p1",
        tests=(UP, STAYS, CARRIES),
        into=STAYS,
    ),
    Defect(
        BROADCOM,
        ("card:dut.p1", "optics-stale=1"),
        red(LIGHT),
        "dut.p1 (0000:81:00.1) reads received power 0.4200 mW 10 s after its light has gone",
        tests=(UP, MODULE, LIGHT, PULLED),
    ),
    Defect(
        BROADCOM,
        ("card:dut.p0", "optics-misread=3"),
        red(MODULE),
        "dut.p0 (0000:81:00.0) reads its module otherwise in read",
        tests=(UP, MODULE, LIGHT),
    ),
    Defect(BROADCOM, ("card:dut.p1", "no-link=1"), red(CARRIES), "dut.p1", tests=(UP, CARRIES), into=CARRIES),
    Defect(
        BROADCOM,
        ("card:dut", "vanish=1"),
        red(IS_CARD),
        "all ones",
        tests=(IS_CARD, SERIALS),
        into=IS_CARD,
        power_cycle=True,
    ),
    Defect(
        BROADCOM,
        ("card:dut", "oops-on-unload=1"),
        red(RELOADS),
        "the kernel said: ",
        tests=(RELOADS,),
        into=RELOADS,
        alone=True,
        power_cycle=True,
    ),
    Defect(
        BROADCOM,
        ("card:dut.p0", "reset-never-returns=1"),
        red(BOUND),
        "dut.p0 (0000:81:00.0) has no carrier",
        tests=(BOUND, UP),
        into=BOUND,
    ),
    Defect(
        BROADCOM,
        ("card:dut.p1", "reset-never-returns=1"),
        red(RESET),
        "dut.p1 (0000:81:00.1) has no carrier",
        tests=(RESET, UP),
        into=RESET,
    ),
    Defect(
        BROADCOM,
        ("card:dut.p1", "mac-lost=1"),
        red(FOUND),
        "found again it has MAC address",
        tests=(FOUND, UP),
        into=FOUND,
        reload=True,
    ),  # a link that is left and carries nothing, and one that is reported lost too late
    *(
        Defect(BROADCOM, fault, red(DISKS), "no operation ended for", tests=(DISKS, CARRIES), into=DISKS, full=True)
        for fault in (("cable:b", "silent"), ("cable:a", "carrier_delay_s=8"))
    ),
    Defect(
        BROADCOM,
        ("card:dut.p0", "tx-pause-off-sends=2"),
        red(FLOW),
        "although it is not to",
        tests=(FLOW, CARRIES),
        into=FLOW,
        full=True,
    ),
    *(
        Defect(ALTEON, fault, red(FILES), "no call was answered for", tests=(FILES, CARRIES), into=FILES, full=True)
        for fault in (("cable:b", "silent"), ("cable:a", "carrier_delay_s=8"))
    ),  # a path that is left, or that returns, and carries nothing, and one that returns too late
    *(
        Defect(
            X520, fault, red(test), says, tests=(PATH_LOST, PATH_BACK, CARRIES), into=test, full=True, verdict=verdict
        )
        for test, fault, says, verdict in (
            (PATH_LOST, ("cable:b", "silent"), "0 of 10 pings answered", "CardFailure"),
            (PATH_BACK, ("cable:a.dut", "silent"), "peer.p0 (0000:81:00.0) has no carrier", "BenchFault"),
            (PATH_BACK, ("cable:a", "carrier_delay_s=8"), "has no carrier after 5000 ms", "CardFailure"),
        )
    ),
    Defect(
        # before the warm restart it is the link of a power-on
        BROADCOM,
        ("card:dut", "link-width-cold=2"),
        red(SAME_WARM, SAME_COLD),
        "trained to x",
        tests=(SAME_WARM, SAME_COLD, UP),
        cold_start=True,
        power_cycle=True,
    ),
    Defect(
        BROADCOM,
        ("card:dut.p0", "mac-boots=1"),
        red(SAME_WARM),
        "dut.p0 (0000:81:00.0): after a warm restart it has MAC address",
        tests=(SAME_WARM, UP),
        into=SAME_WARM,
        power_cycle=True,
    ),
    Defect(
        EMULEX,
        ("card:dut.p1", "mac-boots=1"),
        red(FIVE_WARM, FIVE_COLD),
        "it has MAC address",
        tests=(FIVE_WARM, FIVE_COLD, UP),
        power_cycle=True,
        full=True,
    ),
    Defect(
        BROADCOM,
        ("card:dut.p1", "eeprom-flips=2"),
        red(EEPROM),
        "dut.p1 (0000:81:00.1): EEPROM byte 0x0020",
        tests=(EEPROM, DUMPED, UP),
    ),
    Defect(
        BROADCOM,
        ("card:dut.p0", "look-drops-link=1"),
        red(DUMPED),
        "dut.p0 (0000:81:00.0) counted 2 changes of carrier while its registers were read",
        tests=(EEPROM, DUMPED, BLINKED),
    ),
    Defect(
        BROADCOM,
        ("card:dut.p1", "look-drops-link=2"),
        red(BLINKED),
        "dut.p1 (0000:81:00.1) counted 2 changes of carrier while its light was to blink",
        tests=(EEPROM, DUMPED, BLINKED),
    ),
)

"""Defects of a card that one connection does not show: in frames, filters and settings. Rows as of ``card_defects``."""

from __future__ import annotations

from defect import BROADCOM, EMULEX, Defect, red

ONCE, SIZES = "Every Frame Arrives Once In Order And Unchanged", "Frames Of Every Size Arrive"
OFFLOADED, SUMS = "Data Arrive Unchanged With Every Offload On", "Wrong Checksums Are Refused And Counted"
NOT_OFFLOADED = "Data Arrive Unchanged With Every Offload Off"
ONE_OFF = "Offload tso4 Leaves Data Unchanged When It Is Off"
OWN, EVERYTHING = "Ports Receive Their Own Address Only", "Ports Receive Everything Only While Promiscuous"
ALL_GROUPS, FURTHER = "Ports Receive Every Group When Asked To", "Ports Receive Further Addresses"
GROUPS, CHANGED = "Ports Receive The Groups That They Joined", "Ports Receive At A Changed Address"
SURVIVE, SELF_TEST = "Settings Survive Down And Up", "The Self Test Passes While The Port Is In Use"
SENDS = "The Dut Sends At The Rate On The Sheet"
RESTARTED = "Firmware That Runs After A Restart Can Be Changed And Put Back"
RELOADED = "Firmware That Runs After A Driver Reload Can Be Changed And Put Back"
CHELSIO = "chelsio-t580-cr"
CHANGES, LOAD = "Traffic Survives Changes Of Settings", "Every Path Carries Full Load In Both Directions"
FILTERED, LARGEST = "The VLAN Filter Passes The Own VLANs Only", "Frames Of The Largest Sizes Arrive"
WORDS = "The VLAN Filter Works In Every Word And Bit"
WHOLE = "The Whole Self Test Passes"
PAUSED, STOPS, ASKS = "Pause Frames Can Be Switched", "A Paused Port Stops Sending", "A Full Port Asks For Silence"
SPREAD, TABLE = "Flows Spread Over Every Queue", "Flows Follow The Indirection Table"
RELOADED_SPREAD = "Flows Spread Over Every Queue When The Driver Is Loaded Again"
STEERED = "Flows Follow The Table After Changes"
RULES = "Rules Steer Their Own Flows"
OWN_VECTOR = "Each Queue Raises Its Own Interrupt"
VECTOR_AGAIN = "Each Queue Raises Its Own Interrupt When The Driver Is Loaded Again"
VECTOR_RESIZED = "Each Queue Raises Its Own Interrupt When Their Number Changes"
SEGMENTS = "Segments Of TCP Over IPv4 Are Right On The Wire"
WIRE_SUMS, WIRE_TAGS = "Checksums Are Right On The Wire", "Tags Are Right On The Wire"
TAGS_IN = "Received Tags Are Those That Were Sent"
TXCSUM, RXCSUM, GRO, VLAN_TX, RXHASH, LRO = 2, 4, 16, 32, 256, 512
"""Bits of ``VCARD_F_`` in ``lab/virtual/card/mailbox.h``."""
ALONE = "Single Frames Are Handed Over In Time"
CLOCK_RUNS, CLOCK_RATES = "Every Hardware Clock Runs Forward At Its Rate", "Hardware Clocks Take Rates"
CLOCK_TIMES = "Hardware Clocks Take Times"
STAMPED_IN, STAMPED_OUT = "Received Frames Have Time Stamps Of Their Own", "Sent Frames Have Time Stamps Of Their Own"
PIECES = "Data In Pieces Of Memory Arrive Unchanged"
KINDS, PADDING = "Frames Of Every Kind Arrive", "Padding Carries No Foreign Bytes"
SEGMENTS_6 = "Segments Of TCP Over IPv6 Are Right On The Wire"
SUMS_IN = "Received Checksums Are Judged Only When Asked For"
GRO_MERGES, LRO_MERGES = "GRO Merges Packets Only While It Is On", "LRO Merges Packets Only While It Is On"
HASHES = "Each Connection Has Its Own Receive Hash"
FOREIGN, DAMAGED = "An Image Of Another Card Is Refused", "Damaged Images Are Refused"
GIVES_BACK = "The Driver Gives Its Memory Back"
MEMORY = "The Largest Rings Fit In Memory"
UP, CARRIES = "Every Link Is Up", "Every Link Carries Traffic"


def _frames(fault: str, reds: tuple[str, ...], says: str, *greens: str) -> Defect:
    return Defect(BROADCOM, ("card:dut.p0", fault), red(*reds), says, tests=(*reds, *greens))


def _sent_pause(fault: str, says: str, into: str = "") -> Defect:
    return Defect("intel-x520", ("card:dut.p0", fault), red(ASKS), says, tests=(ASKS, PAUSED), into=into, full=True)


FRAME_DEFECTS = (
    _frames("rx-flip=50", (ONCE, SIZES, CHANGES), "damaged", CARRIES),
    _frames("pause-ignored=1", (CHANGES, PAUSED), "pause", CARRIES),
    _frames("rx-pause-ignored=1", (STOPS,), "sent on while", PAUSED),
    _frames("rx-pause-stays=1", (STOPS,), "not heeded (rx off)", PAUSED),
    _sent_pause("tx-pause-never=1", "asked for no silence"),
    _sent_pause("tx-pause-off-sends=1", "although it is not to"),
    _sent_pause("pause-storm=1", "although nothing comes", into=ASKS),
    _frames("ring-kills-link=1", (CHANGES,), "no carrier 5000 ms after ring", CARRIES),
    _frames("rx-flip=20", (OFFLOADED, NOT_OFFLOADED), "arrived", CARRIES),
    _frames("tx-flip=50", (ONCE, SIZES, CHANGES), "damaged", CARRIES),
    _frames("rx-flip=30", (KINDS,), "damaged", CARRIES),
    _frames("tx-flip=30", (PADDING,), "damaged", CARRIES),
    _frames("pad-foreign=1", (PADDING,), "its padding is", CARRIES, ONCE),
    _frames("tag-priority-lost=1", (KINDS, WIRE_TAGS, TAGS_IN), "tags", CARRIES, ONCE),
    _frames("tx-flip=20", (OFFLOADED, NOT_OFFLOADED), "arrived", CARRIES),
    Defect(BROADCOM, ("card:dut.p0", "tx-flip=25"), red(ONE_OFF), "arrived", tests=(ONE_OFF, CARRIES), full=True),
    _frames("sg-aligned=4", (PIECES,), "damaged", CARRIES, ONCE),
    _frames("clock-backwards=40", (CLOCK_RUNS,), "earlier than just before", UP),
    _frames("clock-ignores-adjust=1", (CLOCK_RATES,), "and changed by", CLOCK_RUNS, CLOCK_TIMES),
    _frames("clock-set-off=3", (CLOCK_TIMES,), "more than it was set to", CLOCK_RUNS, CLOCK_RATES),
    _frames("stamp-stale=1", (STAMPED_IN, STAMPED_OUT), "before it was asked for", CLOCK_RUNS),
    _frames("tx-csum-odd=1", (OFFLOADED,), "arrived", CARRIES, NOT_OFFLOADED),
    _frames("tx-csum-last=1", (SEGMENTS, SEGMENTS_6), "with wrong checksums", CARRIES),
    _frames("tx-twice=50", (ONCE,), "twice", UP),
    _frames("bytes-short=16", (ONCE,), "bytes", CARRIES),
    Defect(BROADCOM, ("card:dut.p0", "rx-burst=2"), red(LOAD), "load", tests=(LOAD, CARRIES), into=LOAD),
    Defect(BROADCOM, ("card:dut.p0", "counter-wraps=22"), red(LOAD), "backwards", tests=(LOAD, CARRIES), into=LOAD),
    Defect(BROADCOM, ("card:dut.p0", "pause-storm=1"), red(CARRIES), "pings", tests=(UP, CARRIES), into=CARRIES),
    Defect(EMULEX, ("card:dut.p0", "vlan-leak=1"), red(FILTERED), "VLAN", tests=(FILTERED, CARRIES)),
    Defect(
        EMULEX,
        ("card:dut.p0", "vlan-word-dead=60"),
        red(WORDS),
        "VLAN 1916",
        tests=(WORDS, FILTERED, CARRIES),
        full=True,
    ),
    Defect("intel-82574l", ("cable:a.dut", "rate_factor=0.02"), red(LOAD), "full load", tests=(LOAD, UP)),
    Defect(BROADCOM, ("card:dut.p0", "link-flap=4000"), red(LOAD), "carrier", tests=(LOAD, CARRIES), into=LOAD),
    Defect(BROADCOM, ("card:dut.p0", "jumbo-drop=4096"), red(LARGEST), "", tests=(LARGEST, ONCE), full=True),
    Defect(BROADCOM, ("card:dut.p0", "selftest-fails=2"), red(WHOLE), "fails", tests=(WHOLE, CARRIES), full=True),
    Defect(BROADCOM, ("card:dut.p0", "rx-twice=50"), red(ONCE, SUMS), "twice", tests=(ONCE, SUMS, UP)),
    _frames("rx-cut=50", (ONCE,), "", CARRIES),
    _frames("rx-reorder=20", (ONCE,), "order", CARRIES),
    _frames("rx-uncounted=50", (ONCE,), "count", CARRIES),
    _frames("csum-accepted=1", (SUMS,), "wrong checksums", CARRIES, ONCE),
    _frames(f"feature-lie={TXCSUM}", (WIRE_SUMS,), "with wrong checksums", CARRIES, ONCE),
    _frames(f"feature-lie={VLAN_TX}", (WIRE_TAGS,), "", CARRIES, ONCE),
    _frames(f"feature-stuck-on={RXCSUM}", (SUMS_IN,), "rx-checksum", CARRIES),
    _frames(f"feature-stuck-on={GRO}", (GRO_MERGES,), "gro", CARRIES),
    _frames(f"feature-stuck-on={LRO}", (LRO_MERGES,), "lro", CARRIES),
    _frames(f"feature-lie={RXHASH}", (HASHES,), "hashed; expected all", CARRIES),
    _frames("filter-leak=3", (OWN,), "delivered to dut.p0", CARRIES, ONCE),
    _frames("promisc-stays=1", (EVERYTHING,), "delivered to dut.p0", CARRIES, OWN),
    _frames("rx-mode-ignored=1", (EVERYTHING, ALL_GROUPS, FURTHER), "arrived", CARRIES, OWN),
    _frames("groups-lost=4", (GROUPS,), "group", CARRIES, OWN),
    _frames("mac-stays=1", (CHANGED,), "delivered to dut.p0", CARRIES, OWN),
    _frames("hash-stuck=1", (SPREAD, TABLE, STEERED), "queue", CARRIES),
    _frames("queue-dead=2", (SPREAD, STEERED), "queue", UP),
    Defect(
        BROADCOM,
        ("card:dut.p0", "queue-dead=3"),
        red(RELOADED_SPREAD),
        "queue",
        tests=(RELOADED_SPREAD, UP),
        full=True,
    ),
    Defect(
        BROADCOM,
        ("card:dut.p0", "vector-lost=2"),
        red(OWN_VECTOR, VECTOR_AGAIN, VECTOR_RESIZED),
        "raised interrupts of other queues, queue ",
        tests=(OWN_VECTOR, VECTOR_AGAIN, VECTOR_RESIZED, SPREAD),
        full=True,
        reload=True,
    ),
    *(
        Defect("intel-x520", ("card:dut.p0", fault), red(RULES), "were moved", tests=(RULES, SPREAD), full=True)
        for fault in ("rule-mask-ignored=1", "rule-stays=1")
    ),
    _frames("table-entry-lost=128", (TABLE, STEERED), "queue", CARRIES, SPREAD),
    _frames("irq-lost=20", (ALONE,), "had answers that its program got late", UP),
    _frames("latency-spike=700", (ALONE,), "had answers that its program got late", UP),
    _frames("settings-lost=1", (SURVIVE,), "after down and up", CARRIES),
    _frames("selftest-fails=1", (SELF_TEST,), "self test fails", CARRIES),
    Defect(
        BROADCOM,
        ("card:dut.p0", "queue-hang=1"),
        red(SENDS),
        "NETDEV WATCHDOG",
        tests=(SENDS, CARRIES),
        into=SENDS,
        power_cycle=True,
    ),
    Defect(
        BROADCOM,
        ("card:dut.p0", "ring-leaks=4096"),
        red(MEMORY),
        "of memory are gone",
        tests=(MEMORY, CARRIES),
        power_cycle=True,
    ),
    Defect(
        BROADCOM,
        ("card:dut.p0", "reload-leaks=2048"),
        red(GIVES_BACK),
        "of memory are gone",
        tests=(GIVES_BACK, CARRIES),
        full=True,
        power_cycle=True,
    ),
    Defect(EMULEX, ("card:dut", "flash-accepts=1"), red(FOREIGN, DAMAGED), "took", tests=(FOREIGN, DAMAGED, CARRIES)),
    *(
        Defect(card, ("card:dut", "flash-forgets=1"), red(test), "firmware", tests=(test, CARRIES), full=True)
        for card, test in ((EMULEX, RESTARTED), (CHELSIO, RELOADED))
    ),
)

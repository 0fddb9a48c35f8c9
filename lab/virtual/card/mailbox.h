/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The memory a server's virtual cards live in: one file of the bench, seen by the guest as BAR 2 of an ivshmem-plain
 * device. The first VCARD_NVRAM_SIZE bytes are what this header lays out; the rest is the cards' register space.
 *
 * Everything is little-endian and at a fixed offset. "host" marks what the bench writes, "card" what the module writes.
 * Strings are padded with NUL; a string that fills its field has no NUL. The bench writes a block first and increments
 * `changes` last; the module acts on a change within VCARD_POLL_MS.
 */
#ifndef VCARD_MAILBOX_H
#define VCARD_MAILBOX_H

#define VCARD_MAGIC		0x44524356	/* "VCRD" */
#define VCARD_VERSION		1
#define VCARD_FILE_SIZE		0x8000000	/* 128 MiB, sparse: NVRAM, then register space */
#define VCARD_NVRAM_SIZE	0x400000
#define VCARD_SLOTS		2
#define VCARD_PORTS		2
#define VCARD_FAULT_WORDS	112
#define VCARD_POLL_MS		50

/* header, at 0 */
#define VCARD_O_MAGIC		0x000	/* host: u32 */
#define VCARD_O_VERSION		0x004	/* host: u32 */
#define VCARD_O_CHANGES		0x008	/* host: u32, incremented after every change */
#define VCARD_O_SCALE		0x00c	/* host: u32, virtual time per real time; 0 = the model's */
#define VCARD_O_SEEN		0x010	/* card: u32, `changes` as last acted upon */
#define VCARD_O_HEARTBEAT	0x014	/* card: u32, incremented every VCARD_POLL_MS */
#define VCARD_O_BOOTS		0x018	/* card: u32, how often the module has started */
#define VCARD_O_COLD		0x01c	/* card: u32, 1: it started after a power-on, 0: after a warm reset or a reload */
#define VCARD_O_ERROR		0x020	/* card: char[96], why a slot is not there, empty when all is well */

/* slot n, at VCARD_O_SLOT + n * VCARD_SLOT_SIZE */
#define VCARD_O_SLOT		0x1000
#define VCARD_SLOT_SIZE		0x1000
#define VCARD_S_MODEL		0x000	/* host: char[32], name of the model; empty: no card in this slot */
#define VCARD_S_SERIAL		0x020	/* host: char[32] */
#define VCARD_S_WIDTH		0x040	/* host: u8, lanes wired to the slot; 0 = as many as the card has */
#define VCARD_S_GEN		0x041	/* host: u8, highest generation of the slot; 0 = the card's */
#define VCARD_S_STATE		0x044	/* card: u32, enum vcard_state */
#define VCARD_S_LINK		0x048	/* card: u8 width, u8 generation as negotiated */

/* port m of a slot, at VCARD_S_PORT + m * VCARD_PORT_SIZE within it */
#define VCARD_S_PORT		0x400
#define VCARD_PORT_SIZE		0x400
#define VCARD_P_MAC		0x000	/* host: u8[6], permanent MAC address */
#define VCARD_P_FAULTS		0x040	/* host: u32[VCARD_FAULT_WORDS], 0 = healthy; a fault of the slot stands at port 0 */
#define VCARD_P_FW_ACTIVE	0x200	/* both: char[32], version the port runs; empty: the module fills in the model's */
#define VCARD_P_FW_PENDING	0x220	/* both: char[32], flashed, not yet active; empty: none */
#define VCARD_P_FW_STATE	0x240	/* both: u32, enum vcard_fw_state */
#define VCARD_P_FW_FLASHES	0x244	/* card: u32, images written so far */
#define VCARD_P_FW_LENGTH	0x248	/* card: u32, bytes of the image area in use */
#define VCARD_P_CARRIER	0x260	/* card: u32, 1: the port has a link */
#define VCARD_P_BOUND	0x264	/* card: char[16], driver that holds the port; empty: none */
#define VCARD_P_LIGHT	0x274	/* card: u32, 1: the port sends light (its driver is up) */

/* image area of slot n, port m: VCARD_O_IMAGES + (n * VCARD_PORTS + m) * VCARD_IMAGE_SIZE, the image as flashed */
#define VCARD_O_IMAGES		0x100000
#define VCARD_IMAGE_SIZE	0x80000

enum vcard_state { VCARD_EMPTY = 0, VCARD_PRESENT = 1, VCARD_UNKNOWN_MODEL = 2 };
enum vcard_fw_state {
	VCARD_FW_GOOD = 0,
	VCARD_FW_HALF = 1,
	VCARD_FW_BRICKED = 2,
	VCARD_FW_NONE = 3,	/* no image starts */
	VCARD_FW_LOCKED = 4,	/* the old image runs, and no other is taken */
};

/*
 * A firmware image: this header, then `length` bytes. crc is zlib's CRC-32 of the whole file with crc itself as 0.
 *   0x00 char magic[8] "VCARDFW1"   0x08 char driver[16]   0x18 char model[32], "*" = every model of the driver
 *   0x38 char version[32]           0x58 u32 length        0x5c u32 crc
 */
#define VCARD_FW_MAGIC		"VCARDFW1"
#define VCARD_FW_DRIVER		0x08
#define VCARD_FW_MODEL		0x18
#define VCARD_FW_VERSION	0x38
#define VCARD_FW_LENGTH		0x58
#define VCARD_FW_CRC		0x5c
#define VCARD_FW_HEADER		0x60

/* bits of the values of feature faults */
#define VCARD_F_TSO		0x001
#define VCARD_F_TXCSUM		0x002
#define VCARD_F_RXCSUM		0x004
#define VCARD_F_SG		0x008
#define VCARD_F_GRO		0x010
#define VCARD_F_VLAN_TX		0x020
#define VCARD_F_VLAN_RX		0x040
#define VCARD_F_VLAN_FILTER	0x080
#define VCARD_F_RXHASH		0x100
#define VCARD_F_LRO		0x200
#define VCARD_F_JUMBO		0x400	/* frames longer than those of MTU 1500; no feature of the driver */

/*
 * Faults: X(constant, word, "name", SLOT or PORT, "what the value means"). The word is the index into VCARD_P_FAULTS.
 * Rates and sizes are those of the real card; the model scales them. Seconds and milliseconds are those of a clock.
 */
#define VCARD_FAULTS(X) \
	X(LINK_WIDTH,		0, "link-width",		SLOT, "lanes: the link trains to at most so many") \
	X(LINK_GEN,		1, "link-gen",			SLOT, "generation: the link trains to at most this one") \
	X(LINK_WIDTH_LOADED,	2, "link-width-loaded",		SLOT, "lanes: so many while traffic flows") \
	X(LINK_WIDTH_COLD,	3, "link-width-cold",		SLOT, "lanes: so many after a power-on, all after a warm reset") \
	X(AER_CORRECTABLE,	4, "aer-correctable",		SLOT, "correctable PCIe errors a second") \
	X(VANISH,		5, "vanish",			SLOT, "1: the card reads as all ones") \
	X(FLASH_FAILS,		6, "flash-fails",		PORT, "1: a flash stops half-way, 2: and bricks until power is cut") \
	X(FLASH_FORGETS,	7, "flash-forgets",		PORT, "1: a flashed version never becomes active") \
	X(DEFAULT_RX_RING,	8, "default-rx-ring",		PORT, "descriptors: rx ring after the driver is loaded") \
	X(DEFAULT_TX_RING,	9, "default-tx-ring",		PORT, "descriptors: tx ring after the driver is loaded") \
	X(DEFAULT_RX_USECS,	10, "default-rx-usecs",		PORT, "microseconds: rx-usecs after the driver is loaded") \
	X(FEATURE_STUCK_OFF,	11, "feature-stuck-off",	PORT, "feature bits that cannot be switched on") \
	X(FEATURE_STUCK_ON,	12, "feature-stuck-on",		PORT, "feature bits that cannot be switched off") \
	X(FEATURE_LIE,		13, "feature-lie",		PORT, "feature bits shown as on and not done") \
	X(FEATURE_UNFIXED,	14, "feature-unfixed",		PORT, "fixed feature bits that can be changed; from driver load on") \
	X(TSO_WITHOUT_CSUM,	15, "tso-without-csum",		PORT, "1: switching tx checksums off leaves TSO on") \
	X(RING_KILLS_LINK,	16, "ring-kills-link",		PORT, "1: after a ring change the link stays down until down/up") \
	X(COALESCE_IGNORED,	17, "coalesce-ignored",		PORT, "1: coalescing is stored and not done") \
	X(MTU_DEGRADES,		18, "mtu-degrades",		PORT, "percent: CPU cost after an MTU change, until down/up") \
	X(JUMBO_DROP,		19, "jumbo-drop",		PORT, "bytes: received frames longer than this are lost") \
	X(VLAN_SLOW,		20, "vlan-slow",		PORT, "percent: CPU cost of frames with a VLAN tag") \
	X(VLAN_WRONG_TAG,	21, "vlan-wrong-tag",		PORT, "VID: every stripped tag is reported as this one") \
	X(VLAN_LEAK,		22, "vlan-leak",		PORT, "1: frames of foreign VLANs are delivered without their tag") \
	X(CSUM_FRAGMENTS,	23, "csum-fragments",		PORT, "1: checksum offload corrupts fragmented UDP") \
	X(RX_REORDER,		24, "rx-reorder",		PORT, "n: every n-th received frame is swapped with the next") \
	X(QUEUE_HANG,		25, "queue-hang",		PORT, "n: tx queue n - 1 never completes") \
	X(CARRIER_STUCK,	26, "carrier-stuck",		PORT, "1: a link that was up stays up") \
	X(CARRIER_DELAY,	27, "carrier-delay",		PORT, "milliseconds: loss of the link is noticed so late") \
	X(LINK_FLAP,		28, "link-flap",		PORT, "milliseconds: the link goes and returns with this period") \
	X(FRAME_RATE_CAP,	29, "frame-rate-cap",		PORT, "frames a second, each direction, whatever their size") \
	X(RX_DROP,		30, "rx-drop",			PORT, "received frames lost in a million") \
	X(TX_SLOW,		31, "tx-slow",			PORT, "percent: CPU cost of sending") \
	X(RX_SLOW,		32, "rx-slow",			PORT, "percent: CPU cost of receiving") \
	X(OOPS_ON_UNLOAD,	33, "oops-on-unload",		PORT, "1: the driver oopses when it is unloaded or unbound") \
	X(SETTINGS_LOST,	34, "settings-lost",		PORT, "1: rings and coalescing fall back to defaults at down/up") \
	X(NO_LINK,		35, "no-link",			PORT, "1: no light is sent and none is seen") \
	X(SELFTEST_FAILS,	36, "selftest-fails",		PORT, "n: the n-th self test fails") \
	X(RX_FLIP,		37, "rx-flip",			PORT, "n: a bit of every n-th received frame flips behind its checksum") \
	X(RX_TWICE,		38, "rx-twice",			PORT, "n: every n-th received frame is delivered twice") \
	X(RX_CUT,		39, "rx-cut",			PORT, "n: every n-th received frame loses its last 4 bytes") \
	X(CSUM_ACCEPTED,	40, "csum-accepted",		PORT, "1: a wrong checksum is called right") \
	X(FILTER_LEAK,		41, "filter-leak",		PORT, "bits: so many last bits of an address are not compared") \
	X(MAC_STAYS,		42, "mac-stays",		PORT, "1: the permanent MAC address is received at for ever") \
	X(PROMISC_STAYS,	43, "promisc-stays",		PORT, "1: a port that was promiscuous stays so until it goes down") \
	X(GROUPS_LOST,		44, "groups-lost",		PORT, "n: groups joined behind the n-th are not received") \
	X(RX_UNCOUNTED,		45, "rx-uncounted",		PORT, "n: every n-th received frame is not counted") \
	X(PAUSE_IGNORED,	46, "pause-ignored",		PORT, "1: pause frames stay as they are, whatever is set") \
	X(TX_FLIP,		47, "tx-flip",			PORT, "n: a bit of every n-th sent frame flips before its checksum is made") \
	X(TX_CSUM_LAST,		48, "tx-csum-last",		PORT, "1: the last, shorter segment of TSO gets a wrong checksum") \
	X(TX_CSUM_ODD,		49, "tx-csum-odd",		PORT, "1: the checksum of an odd number of bytes lacks the last one") \
	X(TX_TWICE,		50, "tx-twice",			PORT, "n: every n-th sent frame goes out twice") \
	X(BYTES_SHORT,		51, "bytes-short",		PORT, "per mille: so much of all bytes is not counted, all frames are") \
	X(COUNTER_WRAPS,	52, "counter-wraps",		PORT, "bits: every counter has so many") \
	X(RX_BURST,		53, "rx-burst",			PORT, "seconds: in one of so many every received frame is lost") \
	X(HASH_STUCK,		54, "hash-stuck",		PORT, "1: every received frame is in queue 0, whatever the table says") \
	X(QUEUE_DEAD,		55, "queue-dead",		PORT, "n: the n-th rx queue is dead once the port was started again") \
	X(TABLE_ENTRY_LOST,	56, "table-entry-lost",		PORT, "n: the n-th entry of the indirection table cannot be changed") \
	X(RX_PAUSE_IGNORED,	57, "rx-pause-ignored",		PORT, "1: received pause frames are counted and not obeyed") \
	X(PAUSE_STORM,		58, "pause-storm",		PORT, "1: pause frames are sent for ever, if they may be sent") \
	X(IRQ_LOST,		59, "irq-lost",			PORT, "n: every n-th interrupt does not come") \
	X(LATENCY_SPIKE,	60, "latency-spike",		PORT, "milliseconds: so long each second nothing is handed over") \
	X(OPTICS_STALE,		61, "optics-stale",		PORT, "1: the readings of the module stay those of a link that is up") \
	X(RX_MODE_IGNORED,	62, "rx-mode-ignored",		PORT, "1: promiscuous and all-multicast mode are not entered") \
	X(FEATURE_SLOW,		63, "feature-slow",		PORT, "feature bits whose use costs ten times the CPU") \
	X(DEGRADE,		64, "degrade",			PORT, "seconds: CPU cost grows by as much as it was in so many") \
	X(RING_LEAKS,		65, "ring-leaks",		PORT, "KiB: so much memory is lost with each change of rings") \
	X(ADAPTIVE_STUCK,	66, "adaptive-stuck",		PORT, "1: adaptive coalescing waits its longest, whatever the load") \
	X(FLASH_ACCEPTS,	67, "flash-accepts",		PORT, "1: every image with a whole header is taken") \
	X(OPTICS_MISREAD,	68, "optics-misread",		PORT, "n: in every n-th read of the module's memory a bit is wrong") \
	X(RESET_NEVER_RETURNS,	69, "reset-never-returns",	PORT, "1: a port that a driver takes again, after a reset or not, has no link") \
	X(MAC_LOST,		70, "mac-lost",			PORT, "1: a port that a driver takes again has a random MAC address") \
	X(RX_PAUSE_STAYS,	71, "rx-pause-stays",		PORT, "1: received pause frames are obeyed although that is off") \
	X(PAD_FOREIGN,		72, "pad-foreign",		PORT, "1: a short frame is filled up with bytes of a longer one before it") \
	X(TAG_PRIORITY_LOST,	73, "tag-priority-lost",	PORT, "1: a tag that the card puts in or takes out loses its priority") \
	X(EEPROM_FLIPS,		74, "eeprom-flips",		PORT, "n: in every n-th read of the EEPROM a bit is wrong") \
	X(MAC_BOOTS,		75, "mac-boots",		PORT, "1: each start of the server gives the port another MAC address") \
	X(LOOK_DROPS_LINK,	76, "look-drops-link",		PORT, "the link goes and returns: 1: when registers are dumped, 2: when the light blinks") \
	X(SG_ALIGNED,		77, "sg-aligned",		PORT, "bytes, a power of 2: a piece of a frame is fetched from a multiple of so many") \
	X(RELOAD_LEAKS,		78, "reload-leaks",		PORT, "KiB: so much memory is lost each time that the driver is unloaded") \
	X(COALESCE_COARSE,	79, "coalesce-coarse",		PORT, "microseconds: coalescing waits a multiple of so many, rounded up") \
	X(VLAN_WORD_DEAD,	87, "vlan-word-dead",		PORT, "n: VLANs of the n-th 32 ids are not received") \
	X(VECTOR_LOST,		84, "vector-lost",		PORT, "n: the n-th queue raises the next one's interrupt once the port was started again") \
	X(TX_PAUSE_NEVER,	80, "tx-pause-never",		PORT, "1: the port asks for no pause, however full it is") \
	X(TX_PAUSE_UNASKED,	81, "tx-pause-off-sends",	PORT, "1: a full port asks for a pause although that is off, 2: also one with room, for ever") \
	X(CLOCK_BACKWARDS,	82, "clock-backwards",		PORT, "n: every n-th read of the clock is 1 ms too early") \
	X(CLOCK_IGNORES_ADJUST,	83, "clock-ignores-adjust",	PORT, "1: the clock keeps its rate, whatever is set") \
	X(STAMP_STALE,		85, "stamp-stale",		PORT, "1: a frame has the time stamp of the one before it") \
	X(CLOCK_SET_OFF,	86, "clock-set-off",		PORT, "milliseconds: a time that is set is so much later") \
	X(RULE_MASK_IGNORED,	88, "rule-mask-ignored",	PORT, "bits: so many last bits of ports are not compared by rules of flows") \
	X(RULE_STAYS,		89, "rule-stays",		PORT, "1: a rule of flows that was deleted is in force for ever") \
	X(TOE_IGNORED,		90, "toe-ignored",		PORT, "1: TCP offload is shown as on, and no connection is the card's (FreeBSD)") \
	X(DDP_OFF,		91, "ddp-off",			PORT, "1: placement is shown as on, and no data are placed directly (FreeBSD)") \
	X(FLASH_CUT_BRICKS,	92, "flash-cut-bricks",		PORT, "after a flash that a power loss cut off 1: no firmware starts, 2: no image is taken")

#define VCARD_FAULT_ENUM(constant, word, name, scope, text) VCARD_FAULT_##constant = (word),
enum vcard_fault { VCARD_FAULTS(VCARD_FAULT_ENUM) };

#endif

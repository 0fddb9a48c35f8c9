/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The silicon of a virtual card as its driver sees it. vcard.ko implements this, vnet.ko uses it.
 *
 * Times are nanoseconds of real time unless a name says otherwise. Costs of a model are nanoseconds or picoseconds of the
 * real card; vcard_scaled() turns them into real time of the bench.
 */
#ifndef VCARD_H
#define VCARD_H

#include <linux/etherdevice.h>
#include <linux/ethtool.h>
#include <linux/if_vlan.h>
#include <linux/netdevice.h>
#include <linux/pci.h>
#include <linux/skbuff.h>

#include "mailbox.h"

enum vcard_activation { VCARD_AT_LOAD, VCARD_AT_RESET, VCARD_AT_POWER };

/* Entries of a ring: what the hardware takes, what the driver starts with. max 0: the card has no such ring. */
struct vcard_ring {
	u32 min, max, initial;
};

/* What work costs the processor (cpu) or the card, per port and direction. */
struct vcard_cost {
	u32 tx_skb_ns;		/* a buffer given to the card */
	u32 tx_segment_ns;	/* a frame the card makes out of it */
	u32 tx_byte_ps;		/* a byte of it */
	u32 tx_csum_byte_ps;	/* a byte the processor checksums because the card did not */
	u32 tx_copy_byte_ps;	/* a byte the processor copies because the card cannot gather */
	u32 rx_frame_ns;	/* a frame taken from the ring */
	u32 rx_stack_ns;	/* a packet given to the stack: a frame, or an aggregate of frames */
	u32 rx_byte_ps;
	u32 rx_csum_byte_ps;
	u32 rx_aggregate;	/* frames in a full aggregate */
	u32 frame_ns;		/* the card's own time for a frame, whatever its size */
	u32 bus_mbps;		/* usable rate of a conventional bus, both directions together */
	u32 scale;		/* how many times slower than the real card the bench runs */
};

/* How groups are told apart that were joined: not at all, by a hash, by their addresses. */
enum vcard_groups { VCARD_GROUPS_ALL, VCARD_GROUPS_HASH, VCARD_GROUPS_EXACT };

/* What a driver does with times of sending where both ways share interrupts: nothing special, refuse all but 0, keep them
 * those of receiving. */
enum vcard_vectors { VCARD_VECTORS_OF_ONE_WAY, VCARD_VECTORS_REFUSE_SENDING, VCARD_VECTORS_SENDING_FOLLOWS };

/* The module in a cage: what it reads, in its own units (1/256 degree, 0.1 mV, 2 uA, 0.1 uW), between its limits. */
enum vcard_form { VCARD_NO_CAGE, VCARD_SFP, VCARD_QSFP };
enum vcard_reading { VCARD_TEMPERATURE, VCARD_SUPPLY, VCARD_BIAS, VCARD_SENT, VCARD_RECEIVED, VCARD_READINGS };
enum vcard_level { VCARD_LOW_ALARM, VCARD_LOW_WARNING, VCARD_USUAL, VCARD_HIGH_WARNING, VCARD_HIGH_ALARM, VCARD_LEVELS };

struct vcard_optics {
	enum vcard_form form;
	u16 levels[VCARD_READINGS][VCARD_LEVELS];
};

struct vcard_model {
	const char *name, *driver, *part_number, *product;
	const char *firmware;	/* version as delivered */
	const char *firmware_format;	/* what the driver prints, %s is the version */
	bool firmware_pending;	/* it prints a version flashed and not yet active, too */
	bool flashable;		/* ethtool -f */
	u32 eeprom_bytes;	/* ethtool -e; 0: the driver shows none */
	u32 register_bytes;	/* ethtool -d; 0: the driver shows none */
	bool identify;		/* ethtool -p */
	u32 clock_max_ppb;	/* how far the clock can be adjusted; 0: the driver offers none */
	u16 vendor, device, subvendor, subdevice;
	u32 class;
	u8 revision, ports;
	u8 functions;		/* as many as ports, or 1 for all ports */
	u8 gen, width;		/* PCIe; gen 0: conventional PCI */
	u16 vectors;		/* 0: a single interrupt line */
	u32 mbps;
	bool autoneg, copper;
	struct vcard_optics optics;
	enum vcard_activation activation;
	struct vcard_ring rx, tx, rx_mini, rx_jumbo;
	bool rx_shared;		/* the receive queues share rx.initial */
	bool rings_shown;
	bool rings_settable;
	bool rings_busy_once_up;	/* sizes are refused once a port of the card was up */
	u32 coalesce_params;	/* ETHTOOL_COALESCE_* that may be set */
	u32 coalesce_fixed;	/* ETHTOOL_COALESCE_* whose values are taken and ignored */
	enum vcard_vectors coalesce_vectors;
	struct ethtool_coalesce coalesce;
	u32 max_usecs;
	bool pause_known, pause_settable, pause_autoneg, pause_rx, pause_tx;
	bool pause_tx_needs_rx;	/* sending is refused without receiving */
	u32 rx_buffer;		/* bytes that wait for room in a ring while the port may send PAUSE; 0: the rings are watched */
	u32 max_channels, channels, rules;
	bool channels_shown, channels_settable;
	u32 mtu_min, mtu_max;
	enum vcard_groups groups;
	netdev_features_t changeable, on, fixed;
	netdev_features_t need_rxcsum;	/* go off with receive checksums */
	u32 flash_ms;
	u32 bar[3];		/* bytes of BAR 0, 2 and 4 */
	struct vcard_cost cost;
};

struct vcard_port;
struct vcard_client {
	struct module *owner;
	const char *name;
	void (*receive)(void *context, struct sk_buff *skb);	/* a frame off the wire, data at the MAC header; BH context */
	void (*changed)(void *context);				/* link or a fault has changed; process context */
};

/* Direction of a transfer over the bus the ports of a card share. */
enum vcard_direction { VCARD_TX, VCARD_RX };

unsigned int vcard_ports_of(struct pci_dev *pdev, struct vcard_port *ports[VCARD_PORTS]);
const struct vcard_model *vcard_model_of(const struct vcard_port *port);
int vcard_attach(struct vcard_port *port, const struct vcard_client *client, void *context);
void vcard_detach(struct vcard_port *port);

u32 vcard_fault(const struct vcard_port *port, enum vcard_fault fault);
u32 vcard_scale(const struct vcard_port *port);
bool vcard_alive(const struct vcard_port *port);
void vcard_mac(const struct vcard_port *port, u8 mac[ETH_ALEN]);
const char *vcard_serial(const struct vcard_port *port);
unsigned int vcard_index(const struct vcard_port *port);

void vcard_light(struct vcard_port *port, bool on);
bool vcard_link(const struct vcard_port *port);
void vcard_send(struct vcard_port *port, struct sk_buff *skb);
void vcard_flush(struct vcard_port *port);
void vcard_report_carrier(struct vcard_port *port, bool up);

/* When a transfer of `bytes` that is ready at `ready` has crossed the bus. */
u64 vcard_bus(struct vcard_port *port, enum vcard_direction direction, u64 ready, u32 bytes);

void vcard_firmware(struct vcard_port *port, char version[32]);
void vcard_firmware_pending(struct vcard_port *port, char version[32]);
bool vcard_firmware_good(struct vcard_port *port);
void vcard_firmware_load(struct vcard_port *port);
int vcard_firmware_flash(struct vcard_port *port, const u8 *image, u32 length, const char *version);

/* A server in virtual time: see README.md, "Time". */
#define VCARD_CREDIT_NS (30 * NSEC_PER_MSEC)

struct vcard_server {
	u64 clock, last;
};

static inline u64 vcard_serve(struct vcard_server *server, u64 ready, u64 cost)
{
	u64 earliest = ready > VCARD_CREDIT_NS ? ready - VCARD_CREDIT_NS : 0;

	server->clock = max(server->clock, earliest) + cost;
	server->last = max3(server->clock, ready + cost, server->last);
	return server->last;
}

#endif

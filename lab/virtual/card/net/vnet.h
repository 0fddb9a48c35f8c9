/* SPDX-License-Identifier: GPL-2.0 */
/* What the vendors' drivers share, and what a driver must say of itself. */
#ifndef VNET_H
#define VNET_H

#include <linux/hrtimer.h>
#include <linux/interrupt.h>
#include <linux/module.h>
#include <linux/ptp_clock_kernel.h>

#include "../kernels.h"
#include "../vcard.h"

struct iphdr;
struct udphdr;

#define VNET_QUEUES 64
#define VNET_INDIRECTION 128
#define VNET_GROUPS 256				/* more than so many groups: all are received */
#define VNET_GROUP_BINS 256
#define VNET_TICK_NS (250 * NSEC_PER_USEC)	/* events closer than this are handled together */
#define VNET_EMIT_NS (500 * NSEC_PER_USEC)	/* frames leave in steps of this */
#define VNET_BURST 64				/* frames at most in a step */
#define VNET_EARLY_NS (20 * NSEC_PER_USEC)

enum vnet_counter_kind {
	VC_TX_PACKETS, VC_TX_BYTES, VC_TX_REQUESTS, VC_TX_TSO, VC_TX_TSO_FRAMES, VC_TX_CSUM, VC_VLAN_INSERTED,
	VC_TX_RING_FULL, VC_TX_TIMEOUTS,
	VC_RX_PACKETS, VC_RX_BYTES, VC_RX_MULTICAST, VC_RX_CSUM_GOOD, VC_RX_CSUM_BAD, VC_RX_CSUM_NONE, VC_VLAN_STRIPPED,
	VC_RX_MERGED, VC_RX_LRO, VC_RX_LRO_STARTED, VC_RX_NO_BUFFER, VC_RX_FILTERED, VC_RX_TOO_LONG, VC_RX_LOST, VC_INTERRUPTS,
	VC_RX_PAUSE, VC_TX_PAUSE, VC_COUNTERS
};

/* A line of ethtool -S. */
struct vnet_counter {
	const char *name;	/* with %u: one line a queue */
	u8 kind;
};

struct vnet_driver {
	const char *name, *version;		/* version "": the kernel's */
	const struct vnet_counter *counters;
	unsigned int n_counters;
	const char *const *tests;		/* names of the self tests */
	unsigned int n_tests;
	struct module *owner;
};

struct vnet_cb {
	u64 due, wire;		/* when its last bit has left; how long it takes on the wire */
	u32 descriptors, frames;
	u16 shorter;		/* bytes that the last segment of a buffer has less than those before it */
	bool hung, merged;	/* merged: a received frame continues the one before it */
	u32 bytes;		/* of a received frame that waits for room in the ring */
};
#define VNET_CB(skb) ((struct vnet_cb *)(skb)->cb)

/* A flow whose frames are being merged. */
struct vnet_aggregate {
	u32 hash, next, frames;
	u64 last;
};

struct vnet_queue {
	struct vnet *v;
	unsigned int index;
	struct napi_struct napi;
	struct hrtimer interrupt;
	int irq;
	char irq_name[IFNAMSIZ + 8];
	spinlock_t lock;			/* everything below */
	struct sk_buff_head tx, rx, waiting;	/* waiting: in the card's buffer, for room in the ring */
	u32 tx_used, tx_done;
	u64 last_interrupt, armed_at;
	bool armed;
	u32 adaptive_usecs, in_interrupt;
	struct vnet_aggregate aggregate;
	u64 count[VC_COUNTERS];
	u32 rx_owed, tx_owed;			/* thousandths of a byte: defect_bytes() */
};

/* A port's clock: `ns` when the host's was `since`. */
struct vnet_clock {
	struct ptp_clock_info info;
	struct ptp_clock *ptp;
	spinlock_t lock;
	u64 ns, since, reads, received, sent;
	long adjusted;
	bool sends;				/* frames that leave have stamps, if asked for */
	int filter;
};

struct vnet {
	struct vcard_port *port;
	const struct vcard_model *model;
	const struct vnet_driver *driver;
	struct pci_dev *pdev;
	struct net_device *dev;
	struct ethtool_ops ethtool;
	struct vcard_client client;
	bool open, detached, mtu_changed, ring_changed;
	struct work_struct reset;
	struct vnet_clock clock;

	u32 rx_ring, tx_ring, rx_mini, rx_jumbo;
	struct ethtool_coalesce coalesce;
	bool pause_autoneg, pause_rx, pause_tx;
	u32 channels, msg_enable;
	u8 hash_key[40];
	u32 indirection[VNET_INDIRECTION];
	unsigned long *vlans;
	u8 groups[VNET_GROUPS][ETH_ALEN];
	unsigned int n_groups;			/* VNET_GROUPS + 1: all */
	DECLARE_BITMAP(group_bins, VNET_GROUP_BINS);
	bool was_promiscuous;

	struct list_head rules;
	spinlock_t rules_lock;
	spinlock_t lock;			/* clocks, pause and groups */
	struct vcard_server cpu[2], nic[2], wire;
	u64 paused_since, paused_until, shift;
	unsigned long xoff;			/* rx queues that want the partner to pause */
	u64 xoff_at;				/* when it was asked last */
	atomic_t buffered;			/* bytes that wait for room in a ring */
	struct hrtimer emit;
	struct sk_buff_head leaving;		/* frames on their way out, by due time; the timer's own */
	unsigned long carrier_lost_at;
	u64 degrades_since;
	u64 reorder, flips, twins, cuts, uncounted, tx_flips, tx_twins, interrupts, module_reads, eeprom_reads;
	u32 dead_queue;				/* n: the n-th did not start */
	u32 lost_vector;			/* n: the n-th queue raises the interrupt of the next one */
	u8 leftover[ETH_ZLEN];			/* the beginning of the last frame that needed no padding */
	unsigned int first_vector;
	struct vnet_queue queue[VNET_QUEUES];
};

/* What is bound to a PCI function: one port, or all ports of the card. */
struct vnet_card {
	unsigned int ports;
	struct vnet *port[VCARD_PORTS];
};

/* timing.c */
u64 vnet_scaled(const struct vnet *v, u64 nominal_ns);
void vnet_tx_schedule(struct vnet *v, struct sk_buff *skb, u32 frames, u32 bytes, u64 now);
u64 vnet_rx_due(struct vnet *v, const struct sk_buff *skb, u32 bytes, bool merged, u64 now);
void vnet_arm(struct vnet_queue *q, u64 due, u64 now);
u64 vnet_moderation(const struct vnet_queue *q);
bool vnet_lies(const struct vnet *v, u32 feature);

/* tx.c */
netdev_tx_t vnet_xmit(struct sk_buff *skb, struct net_device *dev);
enum hrtimer_restart vnet_emit(struct hrtimer *timer);
void vnet_reclaim(struct vnet_queue *q);
void vnet_timeout(struct net_device *dev, unsigned int queue);
void vnet_pause(struct vnet *v, u32 quanta);
void vnet_send_pause(struct vnet *v, u16 quanta);

/* rx.c */
void vnet_receive(void *context, struct sk_buff *skb);
int vnet_poll(struct napi_struct *napi, int budget);

/* flow.c */
u32 vnet_capacity(const struct vnet *v);
bool vnet_wait(struct vnet_queue *q, struct sk_buff *skb, u32 bytes, bool merged);
struct sk_buff *vnet_next(struct vnet_queue *q);
void vnet_flow_control(struct vnet_queue *q, u64 now);

/* filter.c */
void vnet_rx_mode(struct net_device *dev);
unsigned int vnet_modes(const struct vnet *v);
bool vnet_filtered(struct vnet *v, const struct sk_buff *skb);

/* rules.c */
void vnet_forget_rules(struct vnet *v);
void vnet_free_rules(struct vnet *v);
int vnet_ruled(struct vnet *v, const struct iphdr *ip, const struct udphdr *ports);
int vnet_get_rules(struct vnet *v, struct ethtool_rxnfc *info, u32 *locations);
int vnet_set_rxnfc(struct net_device *dev, struct ethtool_rxnfc *info);

/* damage.c */
void vnet_damage(struct vnet *v, struct sk_buff *skb);
struct sk_buff *vnet_twin(struct vnet *v, const struct sk_buff *skb);
bool vnet_uncounted(struct vnet *v);
bool vnet_interrupt_lost(struct vnet *v);
bool vnet_sums_late(const struct vnet *v);
struct sk_buff *vnet_tx_fetch(const struct vnet *v, struct sk_buff *skb);
void vnet_tx_damage(struct vnet *v, struct sk_buff *skb);
void vnet_tx_missum(struct vnet *v, struct sk_buff *skb, unsigned int start, unsigned int check);
int vnet_tx_pad(struct vnet *v, struct sk_buff *skb);
u16 vnet_tag(const struct vnet *v, u16 tci);
struct sk_buff *vnet_tx_twin(struct vnet *v, const struct sk_buff *skb);

/* clock.c */
void vnet_stamp_received(struct vnet *v, struct sk_buff *skb);
void vnet_stamp_asked(struct vnet *v, struct sk_buff *skb);
void vnet_stamp_sent(struct vnet *v, struct sk_buff *skb);
int vnet_stamp_ioctl(struct net_device *dev, struct ifreq *request, int command);
int vnet_stamp_info(struct net_device *dev, struct kernel_ethtool_ts_info *info);
void vnet_clock_make(struct vnet *v);
void vnet_clock_unmake(struct vnet *v);

/* link.c */
bool vnet_link_seen(struct vnet *v);
void vnet_set_carrier(struct vnet *v, bool up);
void vnet_changed(void *context);
void vnet_leak(u32 kib);

/* features.c */
netdev_features_t vnet_fix_features(struct net_device *dev, netdev_features_t features);
int vnet_set_features(struct net_device *dev, netdev_features_t features);
void vnet_features(struct vnet *v);

/* netdev.c */
int vnet_open(struct net_device *dev);
int vnet_stop(struct net_device *dev);
void vnet_defaults(struct vnet *v);
void vnet_spread(struct vnet *v);
u64 vnet_counted(const struct vnet_queue *q, unsigned int kind);
u64 vnet_total(const struct vnet *v, unsigned int kind);
u32 vnet_bytes(const struct vnet *v, u32 bytes, u32 *owed);
int vnet_set_channels(struct vnet *v, u32 channels);

/* pci.c */
int vnet_vectors(struct pci_dev *pdev, u32 n);
struct vnet *vnet_make(struct pci_dev *pdev, struct vcard_port *port, const struct vnet_driver *driver);
void vnet_unmake(struct vnet *v);

/* ethtool.c, ethtool_info.c, flash.c, module.c */
void vnet_ethtool(struct vnet *v);
void vnet_ethtool_info(struct vnet *v, struct ethtool_ops *ops);
int vnet_flash(struct net_device *dev, struct ethtool_flash *flash);
int vnet_module_info(struct net_device *dev, struct ethtool_modinfo *info);
int vnet_module_eeprom(struct net_device *dev, struct ethtool_eeprom *eeprom, u8 *data);

int vnet_probe(struct pci_dev *pdev, const struct vnet_driver *driver);
void vnet_remove(struct pci_dev *pdev);
extern const struct pci_error_handlers vnet_errors;

/* A whole driver. `ids` are in the generated header of the driver. */
#ifndef DRV_VERSION
#define DRV_VERSION ""
#define VNET_MODULE_VERSION MODULE_INFO(intree, "Y")	/* as modpost marks what the kernel's own tree has */
#else
#define VNET_MODULE_VERSION MODULE_VERSION(DRV_VERSION)
#endif

/* A parameter that is shown. What the driver does with any value but its default is not modelled, so it takes no other. */
static inline int vnet_param_get(char *buffer, const struct kernel_param *param)
{
	return scnprintf(buffer, PAGE_SIZE, "%s\n", (const char *)param->arg);
}

static inline int vnet_param_set(const char *value, const struct kernel_param *param)
{
	return sysfs_streq(value, param->arg) ? 0 : -EINVAL;
}

static const struct kernel_param_ops vnet_param_ops __maybe_unused = { .get = vnet_param_get, .set = vnet_param_set };

#define VNET_PARAM(name_, default_, mode_) module_param_cb(name_, &vnet_param_ops, (void *)default_, mode_)

#define VNET_DRIVER(id, description_, author_)							\
	static const struct vnet_driver id##_vnet = {						\
		.name = #id, .version = DRV_VERSION, .owner = THIS_MODULE,			\
		.counters = counters, .n_counters = ARRAY_SIZE(counters),			\
		.tests = tests, .n_tests = ARRAY_SIZE(tests),					\
	};											\
	static int id##_probe(struct pci_dev *pdev, const struct pci_device_id *match)		\
	{											\
		return vnet_probe(pdev, &id##_vnet);						\
	}											\
	MODULE_DEVICE_TABLE(pci, ids);								\
	static struct pci_driver id##_driver = {						\
		.name = #id, .id_table = ids, .probe = id##_probe, .remove = vnet_remove,	\
		.err_handler = &vnet_errors,							\
	};											\
	module_pci_driver(id##_driver);								\
	VNET_MODULE_VERSION;									\
	MODULE_DESCRIPTION(description_);							\
	MODULE_AUTHOR(author_);									\
	MODULE_LICENSE("GPL")

#endif

// SPDX-License-Identifier: GPL-2.0
/*
 * The clock of a port (IEEE 1588) and the time stamps that it makes. As bnx2x of Linux 6.1 has them: bnx2x_main.c,
 * bnx2x_register_phc(), bnx2x_ptp_*(), bnx2x_hwtstamp_ioctl(); bnx2x_ethtool.c, bnx2x_get_ts_info(). Which frames have a
 * stamp: Linux, hwtstamp_config.rx_filter; IEEE 1588-2019, 13.3 (messages below 4 are events).
 */
#include <linux/if_ether.h>
#include <linux/math64.h>
#include <linux/net_tstamp.h>
#include <linux/uaccess.h>

#include "vnet.h"

#define SCALED_PPM 65536000000ULL	/* an adjustment of 1 in the units of adjfine() */
#define BACK_NS NSEC_PER_MSEC
#define EVENTS 4
#define PTP_V2 2

/* The clock's own oscillator is that of the host. Under its lock. */
static u64 now(struct vnet_clock *c)
{
	u64 mono = ktime_get_ns(), passed = mono - c->since;
	u64 more = mul_u64_u64_div_u64(passed, abs(c->adjusted), SCALED_PPM);

	c->ns += passed + (c->adjusted < 0 ? -more : more);
	c->since = mono;
	return c->ns;
}

static struct vnet *of(struct ptp_clock_info *info)
{
	return container_of(info, struct vnet, clock.info);
}

static int get_time(struct ptp_clock_info *info, struct timespec64 *ts)
{
	struct vnet *v = of(info);
	u32 every = vcard_fault(v->port, VCARD_FAULT_CLOCK_BACKWARDS);
	unsigned long flags;
	u64 ns;

	spin_lock_irqsave(&v->clock.lock, flags);
	ns = now(&v->clock);
	if (every && ++v->clock.reads % every == 0)
		ns -= BACK_NS;
	spin_unlock_irqrestore(&v->clock.lock, flags);
	*ts = ns_to_timespec64(ns);
	return 0;
}

static int set_time(struct ptp_clock_info *info, const struct timespec64 *ts)
{
	struct vnet *v = of(info);
	struct vnet_clock *c = &v->clock;
	unsigned long flags;

	spin_lock_irqsave(&c->lock, flags);
	now(c);
	c->ns = timespec64_to_ns(ts) + vcard_fault(v->port, VCARD_FAULT_CLOCK_SET_OFF) * (u64)NSEC_PER_MSEC;
	spin_unlock_irqrestore(&c->lock, flags);
	return 0;
}

static int adjust_time(struct ptp_clock_info *info, s64 delta)
{
	struct vnet_clock *c = &of(info)->clock;
	unsigned long flags;

	spin_lock_irqsave(&c->lock, flags);
	c->ns = now(c) + delta;
	spin_unlock_irqrestore(&c->lock, flags);
	return 0;
}

static int adjust_rate(struct ptp_clock_info *info, long scaled_ppm)
{
	struct vnet *v = of(info);
	unsigned long flags;

	if (!netif_running(v->dev))
		return -ENETDOWN;
	spin_lock_irqsave(&v->clock.lock, flags);
	now(&v->clock);
	v->clock.adjusted = vcard_fault(v->port, VCARD_FAULT_CLOCK_IGNORES_ADJUST) ? 0 : scaled_ppm;
	spin_unlock_irqrestore(&v->clock.lock, flags);
	return 0;
}

/* Each way has a register of its own for the last stamp; the defect reads it before it is written. */
static ktime_t stamp(struct vnet *v, u64 *held)
{
	unsigned long flags;
	u64 ns, before;

	spin_lock_irqsave(&v->clock.lock, flags);
	before = *held;
	ns = *held = now(&v->clock);
	spin_unlock_irqrestore(&v->clock.lock, flags);
	return ns_to_ktime(before && vcard_fault(v->port, VCARD_FAULT_STAMP_STALE) ? before : ns);
}

/* A frame that came, its data behind the Ethernet header. */
void vnet_stamp_received(struct vnet *v, struct sk_buff *skb)
{
	if (v->clock.filter != HWTSTAMP_FILTER_PTP_V2_EVENT || skb->protocol != htons(ETH_P_1588) || skb->len < 2 ||
	    (skb->data[0] & 0xf) >= EVENTS || (skb->data[1] & 0xf) != PTP_V2)
		return;
	skb_hwtstamps(skb)->hwtstamp = stamp(v, &v->clock.received);
}

/* A frame that was handed to the driver. */
void vnet_stamp_asked(struct vnet *v, struct sk_buff *skb)
{
	if (v->clock.sends && (skb_shinfo(skb)->tx_flags & SKBTX_HW_TSTAMP))
		skb_shinfo(skb)->tx_flags |= SKBTX_IN_PROGRESS;
}

/* The same frame as it leaves. */
void vnet_stamp_sent(struct vnet *v, struct sk_buff *skb)
{
	struct skb_shared_hwtstamps made = { };

	if (!(skb_shinfo(skb)->tx_flags & SKBTX_IN_PROGRESS))
		return;
	made.hwtstamp = stamp(v, &v->clock.sent);
	skb_tstamp_tx(skb, &made);
}

int vnet_stamp_ioctl(struct net_device *dev, struct ifreq *request, int command)
{
	struct vnet_clock *c = &((struct vnet *)netdev_priv(dev))->clock;
	struct hwtstamp_config config;

	if (command != SIOCSHWTSTAMP || !c->ptp)
		return -EOPNOTSUPP;
	if (copy_from_user(&config, request->ifr_data, sizeof(config)))
		return -EFAULT;
	if (config.tx_type != HWTSTAMP_TX_OFF && config.tx_type != HWTSTAMP_TX_ON)
		return -ERANGE;
	switch (config.rx_filter) {
	case HWTSTAMP_FILTER_NONE:
		break;
	case HWTSTAMP_FILTER_PTP_V2_EVENT:
	case HWTSTAMP_FILTER_PTP_V2_SYNC:
	case HWTSTAMP_FILTER_PTP_V2_DELAY_REQ:
		config.rx_filter = HWTSTAMP_FILTER_PTP_V2_EVENT;
		break;
	default:
		config.rx_filter = HWTSTAMP_FILTER_NONE;
	}
	c->sends = config.tx_type == HWTSTAMP_TX_ON;
	c->filter = config.rx_filter;
	return copy_to_user(request->ifr_data, &config, sizeof(config)) ? -EFAULT : 0;
}

int vnet_stamp_info(struct net_device *dev, struct kernel_ethtool_ts_info *info)
{
	const struct vnet *v = netdev_priv(dev);

	if (!v->clock.ptp)
		return ethtool_op_get_ts_info(dev, info);
	info->so_timestamping = SOF_TIMESTAMPING_TX_SOFTWARE | SOF_TIMESTAMPING_RX_SOFTWARE | SOF_TIMESTAMPING_SOFTWARE |
				SOF_TIMESTAMPING_TX_HARDWARE | SOF_TIMESTAMPING_RX_HARDWARE | SOF_TIMESTAMPING_RAW_HARDWARE;
	info->phc_index = ptp_clock_index(v->clock.ptp);
	info->rx_filters = BIT(HWTSTAMP_FILTER_NONE) | BIT(HWTSTAMP_FILTER_PTP_V2_EVENT);
	info->tx_types = BIT(HWTSTAMP_TX_OFF) | BIT(HWTSTAMP_TX_ON);
	return 0;
}

/* A port without a clock works like any other. */
void vnet_clock_make(struct vnet *v)
{
	struct vnet_clock *c = &v->clock;

	if (!v->model->clock_max_ppb)
		return;
	spin_lock_init(&c->lock);
	c->since = ktime_get_ns();
	c->ns = ktime_get_real_ns();
	c->info = (struct ptp_clock_info){
		.owner = v->driver->owner, .name = "vnet", .max_adj = v->model->clock_max_ppb, .gettime64 = get_time,
		.settime64 = set_time, .adjtime = adjust_time, .adjfine = adjust_rate,
	};
	strscpy(c->info.name, v->driver->name, sizeof(c->info.name));
	c->ptp = ptp_clock_register(&c->info, &v->pdev->dev);
	if (IS_ERR(c->ptp))
		c->ptp = NULL;
}

void vnet_clock_unmake(struct vnet *v)
{
	if (v->clock.ptp)
		ptp_clock_unregister(v->clock.ptp);
	v->clock.ptp = NULL;
}

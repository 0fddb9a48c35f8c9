// SPDX-License-Identifier: GPL-2.0
/* When things are done: the formula of README.md, "Time". */
#include <linux/if_vlan.h>
#include <linux/skbuff.h>

#include "defects.h"
#include "vnet.h"

#define FRAME_OVERHEAD 24	/* FCS, preamble, gap: IEEE 802.3-2018, 4A.4.2 */
#define FRAME_MIN 60
#define SLOWER 10	/* times as much CPU, of the defect "feature-slow" */

u64 vnet_scaled(const struct vnet *v, u64 nominal_ns)
{
	return nominal_ns * vcard_scale(v->port);
}

bool vnet_lies(const struct vnet *v, u32 feature)
{
	return vcard_fault(v->port, VCARD_FAULT_FEATURE_LIE) & feature;
}

/* The defect: what the frame makes use of costs more than it saves. */
static bool slow(const struct vnet *v, u32 used)
{
	return vcard_fault(v->port, VCARD_FAULT_FEATURE_SLOW) & used;
}

static u32 used_for_tx(const struct sk_buff *skb, u32 bytes)
{
	u32 used = bytes > VLAN_ETH_FRAME_LEN ? VCARD_F_JUMBO : 0;

	if (skb->ip_summed == CHECKSUM_PARTIAL)
		used |= VCARD_F_TXCSUM;
	return used | (skb_is_gso(skb) ? VCARD_F_TSO : 0);
}

static u32 used_for_rx(const struct vnet *v, const struct sk_buff *skb, u32 bytes, bool merged)
{
	u32 used = bytes > VLAN_ETH_FRAME_LEN ? VCARD_F_JUMBO : 0;

	if (skb->ip_summed == CHECKSUM_UNNECESSARY)
		used |= VCARD_F_RXCSUM;
	if (!merged)
		return used;
	return used | (v->dev->features & NETIF_F_LRO ? VCARD_F_LRO : VCARD_F_GRO);
}

static u64 percent(u64 cost, u32 fault)
{
	return fault ? div_u64(cost * fault, 100) : cost;
}

static u64 degraded(struct vnet *v, const struct sk_buff *skb, u64 cost)
{
	u32 grows = vcard_fault(v->port, VCARD_FAULT_DEGRADE);

	if (v->mtu_changed)
		cost = percent(cost, vcard_fault(v->port, VCARD_FAULT_MTU_DEGRADES));
	if (skb_vlan_tag_present(skb) || eth_type_vlan(skb->protocol))
		cost = percent(cost, vcard_fault(v->port, VCARD_FAULT_VLAN_SLOW));
	if (!grows)
		v->degrades_since = 0;
	else if (!v->degrades_since)
		v->degrades_since = ktime_get_ns();
	return grows ? defect_grown(cost, ktime_get_ns() - v->degrades_since, grows) : cost;
}

static u64 tx_cpu(const struct vnet *v, const struct sk_buff *skb, u32 frames, u32 bytes)
{
	const struct vcard_cost *c = &v->model->cost;
	u32 handed = vnet_lies(v, VCARD_F_TSO) ? frames : 1;
	u64 ps = (u64)skb->len * c->tx_byte_ps, cost;

	if (skb->ip_summed != CHECKSUM_PARTIAL)
		ps += (u64)skb->len * c->tx_csum_byte_ps;
	if (!(v->dev->features & NETIF_F_SG) || vnet_lies(v, VCARD_F_SG))
		ps += (u64)skb->len * c->tx_copy_byte_ps;
	cost = (u64)c->tx_skb_ns * handed + (u64)c->tx_segment_ns * frames + div_u64(ps, 1000);
	return slow(v, used_for_tx(skb, bytes / frames)) ? cost * SLOWER : cost;
}

static u64 card_frames(const struct vnet *v, u32 frames)
{
	u32 cap = vcard_fault(v->port, VCARD_FAULT_FRAME_RATE_CAP);
	u64 each = max_t(u64, v->model->cost.frame_ns, cap ? div_u64(NSEC_PER_SEC, cap) : 0);

	return vnet_scaled(v, each * frames);
}

/*
 * Writes into the buffer when its last bit will have left and how long it keeps the wire, in real time; the queue's lock is
 * held. `bytes` are those of all its frames.
 */
void vnet_tx_schedule(struct vnet *v, struct sk_buff *skb, u32 frames, u32 bytes, u64 now)
{
	u64 cpu = percent(degraded(v, skb, tx_cpu(v, skb, frames, bytes)), vcard_fault(v->port, VCARD_FAULT_TX_SLOW));
	u64 wire = div_u64((u64)(max_t(u32, bytes, FRAME_MIN) + frames * FRAME_OVERHEAD) * 8000, v->model->mbps), due;

	due = vcard_bus(v->port, VCARD_TX, now, skb->len);
	spin_lock(&v->lock);
	due = vcard_serve(&v->cpu[VCARD_TX], due, vnet_scaled(v, cpu));
	due = vcard_serve(&v->nic[VCARD_TX], due, card_frames(v, frames));
	due = vcard_serve(&v->wire, due, vnet_scaled(v, wire));
	VNET_CB(skb)->due = due - v->shift;
	VNET_CB(skb)->wire = vnet_scaled(v, wire);
	spin_unlock(&v->lock);
}

/* When the processor has taken the frame in, in real time; the queue's lock is held. */
u64 vnet_rx_due(struct vnet *v, const struct sk_buff *skb, u32 bytes, bool merged, u64 now)
{
	const struct vcard_cost *c = &v->model->cost;
	u64 ps = (u64)bytes * c->rx_byte_ps, cpu, due;

	if (skb->ip_summed == CHECKSUM_NONE)
		ps += (u64)bytes * c->rx_csum_byte_ps;
	cpu = c->rx_frame_ns + (merged ? 0 : c->rx_stack_ns) + div_u64(ps, 1000);
	if (slow(v, used_for_rx(v, skb, bytes, merged)))
		cpu *= SLOWER;
	cpu = percent(degraded(v, skb, cpu), vcard_fault(v->port, VCARD_FAULT_RX_SLOW));
	spin_lock(&v->lock);
	due = vcard_serve(&v->nic[VCARD_RX], now, card_frames(v, 1));
	spin_unlock(&v->lock);
	due = vcard_bus(v->port, VCARD_RX, due, bytes);
	spin_lock(&v->lock);
	due = vcard_serve(&v->cpu[VCARD_RX], due, vnet_scaled(v, cpu));
	spin_unlock(&v->lock);
	return defect_late(due, vcard_fault(v->port, VCARD_FAULT_LATENCY_SPIKE));
}

/* The least time between two interrupts of the queue. */
u64 vnet_moderation(const struct vnet_queue *q)
{
	const struct vnet *v = q->v;
	u32 usecs = v->coalesce.use_adaptive_rx_coalesce ? q->adaptive_usecs : v->coalesce.rx_coalesce_usecs;
	u32 step = vcard_fault(v->port, VCARD_FAULT_COALESCE_COARSE);

	if (step)
		usecs = roundup(usecs, step);
	if (vcard_fault(v->port, VCARD_FAULT_COALESCE_IGNORED))
		return 0;
	return vnet_scaled(v, (u64)usecs * NSEC_PER_USEC);
}

/* Has the queue's interrupt raised when `due` has come and moderation allows it; the queue's lock is held. */
void vnet_arm(struct vnet_queue *q, u64 due, u64 now)
{
	u32 frames = q->v->coalesce.rx_max_coalesced_frames;
	u64 at = max(due, now + VNET_TICK_NS);

	if (!frames || skb_queue_len(&q->rx) < frames)
		at = max(at, q->last_interrupt + vnet_moderation(q));
	if (q->armed && q->armed_at <= at + VNET_EARLY_NS)
		return;
	q->armed = true;
	q->armed_at = at;
	hrtimer_start(&q->interrupt, ns_to_ktime(at), HRTIMER_MODE_ABS);
}

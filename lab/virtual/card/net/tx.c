// SPDX-License-Identifier: GPL-2.0
/* Sending: a ring in virtual time, segmentation, checksums and tags as hardware does them, pause. */
#include <linux/if_ether.h>
#include <linux/ip.h>
#include <linux/tcp.h>
#include <linux/udp.h>
#include <net/ip.h>
#include <net/sock.h>

#include "../kernels.h"
#include "vnet.h"

#define SOCKET_PACING_SHIFT 5	/* lets TCP keep 1/32 s in flight: the bench is slower than the card it models */
#define QUANTUM_BITS 512	/* IEEE 802.3-2018, 31B.2 */

static const u8 pause_address[ETH_ALEN] = { 0x01, 0x80, 0xc2, 0x00, 0x00, 0x01 };

static bool hangs(const struct vnet_queue *q)
{
	return vcard_fault(q->v->port, VCARD_FAULT_QUEUE_HANG) == q->index + 1 || !vcard_alive(q->v->port);
}

static bool room(const struct vnet_queue *q)
{
	return q->tx_used + MAX_SKB_FRAGS + 2 <= q->v->tx_ring;
}

/* When the first bit of the buffer leaves. */
static u64 begins(const struct vnet *v, const struct sk_buff *skb)
{
	return VNET_CB(skb)->due - VNET_CB(skb)->wire + READ_ONCE(v->shift);
}

static void count_tx(struct vnet_queue *q, const struct sk_buff *skb, u32 frames, u32 bytes)
{
	bool segments = !vnet_lies(q->v, VCARD_F_TSO);

	q->count[VC_TX_PACKETS] += frames;
	q->count[VC_TX_BYTES] += vnet_bytes(q->v, bytes, &q->tx_owed);
	q->count[VC_TX_REQUESTS] += segments ? 1 : frames; /* what the card does not cut up, its driver has: tx_cpu() */
	if (frames > 1 && segments) {
		q->count[VC_TX_TSO]++;
		q->count[VC_TX_TSO_FRAMES] += frames;
	}
	if (skb->ip_summed == CHECKSUM_PARTIAL && !vnet_lies(q->v, VCARD_F_TXCSUM))
		q->count[VC_TX_CSUM] += frames;
	if (skb_vlan_tag_present(skb) && !vnet_lies(q->v, VCARD_F_VLAN_TX))
		q->count[VC_VLAN_INSERTED] += frames;
}

netdev_tx_t vnet_xmit(struct sk_buff *skb, struct net_device *dev)
{
	u32 frames = 1, headers = 0, bytes, descriptors = skb_shinfo(skb)->nr_frags + 1;
	struct netdev_queue *txq = skb_get_tx_queue(dev, skb);
	struct vnet *v = netdev_priv(dev);
	struct vnet_queue *q = &v->queue[skb_get_queue_mapping(skb)];
	u64 now = ktime_get_ns(), due;

	vnet_stamp_asked(v, skb);
	if (skb_is_gso(skb)) {
		headers = skb_tcp_all_headers(skb);
		frames = skb_shinfo(skb)->gso_segs ?: DIV_ROUND_UP(skb->len - headers, skb_shinfo(skb)->gso_size);
	}
	bytes = skb->len + (frames - 1) * headers + (skb_vlan_tag_present(skb) ? frames * VLAN_HLEN : 0);
	if (skb->sk && sk_fullsock(skb->sk))
		sk_pacing_shift_update(skb->sk, SOCKET_PACING_SHIFT);
	spin_lock(&q->lock);
	if (q->tx_used + descriptors > v->tx_ring) {
		netif_tx_stop_queue(txq);
		q->count[VC_TX_RING_FULL]++;
		spin_unlock(&q->lock);
		return NETDEV_TX_BUSY;
	}
	vnet_tx_schedule(v, skb, frames, bytes, now);
	VNET_CB(skb)->descriptors = descriptors;
	VNET_CB(skb)->frames = frames;
	VNET_CB(skb)->shorter = 0;
	VNET_CB(skb)->hung = hangs(q);
	q->tx_used += descriptors;
	__skb_queue_tail(&q->tx, skb);
	if (!room(q) || VNET_CB(skb)->hung)
		netif_tx_stop_queue(txq);
	count_tx(q, skb, frames, bytes);
	due = begins(v, skb_peek(&q->tx));
	spin_unlock(&q->lock);
	if (!hrtimer_is_queued(&v->emit) || hrtimer_get_expires_ns(&v->emit) > due + VNET_EMIT_NS)
		hrtimer_start(&v->emit, ns_to_ktime(max(due, now + VNET_EMIT_NS / 4)), HRTIMER_MODE_ABS_SOFT);
	return NETDEV_TX_OK;
}

/* The defect "checksum offload corrupts fragmented UDP": the card writes a checksum where it must not. */
static void corrupt_fragment(const struct vnet *v, struct sk_buff *skb)
{
	struct iphdr *ip;

	if (!vcard_fault(v->port, VCARD_FAULT_CSUM_FRAGMENTS) || !(v->dev->features & NETIF_F_CSUM_MASK) ||
	    skb->protocol != htons(ETH_P_IP) || skb_ensure_writable(skb, ETH_HLEN + sizeof(*ip) + sizeof(struct udphdr)))
		return;
	ip = (struct iphdr *)(skb->data + ETH_HLEN);
	if (ip->protocol == IPPROTO_UDP && (ip->frag_off & htons(IP_MF)) && !(ip->frag_off & htons(IP_OFFSET)))
		((struct udphdr *)((u8 *)ip + 4 * ip->ihl))->check ^= htons(0x5a5a);
}

/* Makes the checksum of a frame, where that is left to the card. */
static int sum(struct vnet *v, struct sk_buff *skb)
{
	unsigned int start, check;
	int err;

	if (skb->ip_summed != CHECKSUM_PARTIAL || vnet_lies(v, VCARD_F_TXCSUM))
		return 0;
	start = skb_checksum_start_offset(skb);
	check = start + skb->csum_offset;
	err = skb_checksum_help(skb);
	if (!err)
		vnet_tx_missum(v, skb, start, check);
	return err;
}

static void send_one(struct vnet *v, struct sk_buff *skb)
{
	struct sk_buff *twin;

	vnet_tx_damage(v, skb);
	if (!netif_carrier_ok(v->dev) || sum(v, skb)) {
		dev_kfree_skb_any(skb);
		return;
	}
	corrupt_fragment(v, skb);
	if (vnet_tx_pad(v, skb))
		return;
	twin = vnet_tx_twin(v, skb);
	vnet_stamp_sent(v, skb);
	vcard_send(v->port, skb);
	if (twin)
		vcard_send(v->port, twin);
}

/* Frames leave in the order in which they came. */
static void leave(struct vnet *v, struct sk_buff *skb, u64 due)
{
	const struct sk_buff *last = skb_peek_tail(&v->leaving);

	VNET_CB(skb)->due = last ? max(due, VNET_CB(last)->due) : due;
	__skb_queue_tail(&v->leaving, skb);
}

/* What the card does with a buffer: tag, segment, and each frame when its own last bit has left. */
static void take_buffer(struct vnet *v, struct sk_buff *skb)
{
	u64 wire = VNET_CB(skb)->wire, start = VNET_CB(skb)->due - wire;
	u32 frames = VNET_CB(skb)->frames, n = 0;
	struct sk_buff *segments, *next;
	unsigned int full;

	skb = vnet_tx_fetch(v, skb);
	if (!skb)
		return;
	if (skb_vlan_tag_present(skb)) {
		if (vnet_lies(v, VCARD_F_VLAN_TX)) {
			__vlan_hwaccel_clear_tag(skb);
		} else {
			skb->vlan_tci = vnet_tag(v, skb->vlan_tci);
			skb = __vlan_hwaccel_push_inside(skb);
		}
		if (!skb)
			return;
	}
	if (!skb_is_gso(skb)) {
		leave(v, skb, start + wire);
		return;
	}
	segments = skb_gso_segment(skb, vnet_lies(v, VCARD_F_TXCSUM) || vnet_sums_late(v) ? NETIF_F_HW_CSUM : 0);
	if (IS_ERR_OR_NULL(segments)) {
		dev_kfree_skb_any(skb);
		return;
	}
	full = segments->len;
	skb_list_walk_safe(segments, segments, next) {
		skb_mark_not_on_list(segments);
		n++;
		VNET_CB(segments)->shorter = next ? 0 : full - segments->len;
		leave(v, segments, start + div_u64(wire * min(n, frames), frames));
	}
	dev_consume_skb_any(skb);
}

/* Takes from the queue what begins to leave; returns when the next does, 0 for never. */
static u64 take_queue(struct vnet_queue *q, struct sk_buff_head *out, u64 now)
{
	struct sk_buff *skb;
	u64 next = 0;
	u32 before;

	spin_lock(&q->lock);
	before = q->tx_done;
	while ((skb = skb_peek(&q->tx)) && !VNET_CB(skb)->hung) {
		if (begins(q->v, skb) > now + VNET_EARLY_NS) {
			next = begins(q->v, skb);
			break;
		}
		__skb_unlink(skb, &q->tx);
		q->tx_done += VNET_CB(skb)->descriptors;
		__skb_queue_tail(out, skb);
	}
	if (q->tx_done != before && q->v->open)
		vnet_arm(q, now, now);
	spin_unlock(&q->lock);
	return next;
}

/* Sends what is due; returns when the next frame is, 0 for never. */
static u64 send_due(struct vnet *v, u64 now)
{
	u64 shift = READ_ONCE(v->shift);
	unsigned int burst = VNET_BURST;
	struct sk_buff *skb;

	while ((skb = skb_peek(&v->leaving))) {
		if (VNET_CB(skb)->due + shift > now + VNET_EARLY_NS || !burst--)
			break;
		__skb_unlink(skb, &v->leaving);
		send_one(v, skb);
	}
	vcard_flush(v->port);
	return skb ? VNET_CB(skb)->due + shift : 0;
}

/* True while the partner wants silence; `*until` is when that ends. Ends a pause that is over. */
static bool paused(struct vnet *v, u64 now, u64 *until)
{
	bool still;

	spin_lock(&v->lock);
	still = v->paused_since && now < v->paused_until;
	*until = v->paused_until;
	if (v->paused_since && !still) {
		v->shift += v->paused_until - v->paused_since;
		v->wire.clock += v->paused_until - v->paused_since;
		v->wire.last += v->paused_until - v->paused_since;
		v->paused_since = 0;
	}
	spin_unlock(&v->lock);
	return still;
}

enum hrtimer_restart vnet_emit(struct hrtimer *timer)
{
	struct vnet *v = container_of(timer, struct vnet, emit);
	u64 now = ktime_get_ns(), next = 0, due;
	struct sk_buff_head out;
	struct sk_buff *skb;
	unsigned int i;

	if (paused(v, now, &due)) {
		hrtimer_start(timer, ns_to_ktime(due), HRTIMER_MODE_ABS_SOFT);
		return HRTIMER_NORESTART;
	}
	__skb_queue_head_init(&out);
	for (i = 0; i < v->channels; i++) {
		due = take_queue(&v->queue[i], &out, now);
		if (due && (!next || due < next))
			next = due;
	}
	while ((skb = __skb_dequeue(&out)))
		take_buffer(v, skb);
	due = send_due(v, now);
	if (due && (!next || due < next))
		next = due;
	if (next && READ_ONCE(v->open))
		hrtimer_start(timer, ns_to_ktime(max(next, now + VNET_EMIT_NS)), HRTIMER_MODE_ABS_SOFT);
	return HRTIMER_NORESTART;
}

/* Completion: descriptors are free again. NAPI context. */
void vnet_reclaim(struct vnet_queue *q)
{
	struct netdev_queue *txq = netdev_get_tx_queue(q->v->dev, q->index);

	spin_lock(&q->lock);
	q->tx_used -= q->tx_done;
	q->tx_done = 0;
	if (netif_tx_queue_stopped(txq) && room(q) && netif_carrier_ok(q->v->dev) && !hangs(q))
		netif_tx_wake_queue(txq);
	spin_unlock(&q->lock);
}

void vnet_timeout(struct net_device *dev, unsigned int queue)
{
	struct vnet *v = netdev_priv(dev);
	struct vnet_queue *q = &v->queue[queue];

	q->count[VC_TX_TIMEOUTS]++;
	netdev_err(dev, "TX timeout on queue %u, %u of %u descriptors in use; resetting\n", queue, q->tx_used, v->tx_ring);
	schedule_work(&v->reset);
}

/* A pause frame came in: `quanta` 0 ends the pause. */
void vnet_pause(struct vnet *v, u32 quanta)
{
	u64 now = ktime_get_ns(), length = vnet_scaled(v, div_u64((u64)quanta * QUANTUM_BITS * 1000, v->model->mbps));

	spin_lock(&v->lock);
	if (!v->paused_since && quanta)
		v->paused_since = now;
	if (v->paused_since)
		v->paused_until = now + length;
	spin_unlock(&v->lock);
	hrtimer_start(&v->emit, ns_to_ktime(now + 1), HRTIMER_MODE_ABS_SOFT);
}

/* A MAC control frame (IEEE 802.3-2018, annex 31B). */
void vnet_send_pause(struct vnet *v, u16 quanta)
{
	struct sk_buff *skb = dev_alloc_skb(ETH_ZLEN);
	__be16 *fields;
	u8 *frame;

	if (!skb)
		return;
	frame = skb_put_zero(skb, ETH_ZLEN);
	ether_addr_copy(frame, pause_address);
	ether_addr_copy(frame + ETH_ALEN, v->dev->dev_addr);
	fields = (__be16 *)(frame + 2 * ETH_ALEN);
	fields[0] = htons(ETH_P_PAUSE);
	fields[1] = htons(1);
	fields[2] = htons(quanta);
	v->queue[0].count[VC_TX_PAUSE]++;
	vcard_send(v->port, skb);
	vcard_flush(v->port);
}

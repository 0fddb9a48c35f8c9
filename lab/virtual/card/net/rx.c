// SPDX-License-Identifier: GPL-2.0
/* Receiving: what the card does with a frame off the wire, and how it gets to the stack. */
#include <linux/if_vlan.h>
#include <linux/ip.h>
#include <linux/ipv6.h>
#include <linux/random.h>
#include <linux/tcp.h>
#include <linux/udp.h>
#include <net/checksum.h>
#include <net/ip.h>
#include <net/ip6_checksum.h>

#include "../kernels.h"
#include "defects.h"
#include "vnet.h"

#define MERGE_GAP_US 10		/* frames of a flow further apart than this are not merged (time of the real card) */

struct segment {
	u32 sequence, length;
	bool tcp, transport;	/* transport: TCP or UDP, not a fragment */
	u8 protocol;
	__be16 network;		/* ETH_P_IP or ETH_P_IPV6, behind the tag of a VLAN that the card leaves in */
	unsigned int start;	/* of the network header from skb->data */
	unsigned int offset;	/* of the transport header from skb->data */
};

static void parse_ip6(const struct sk_buff *skb, struct segment *s, unsigned int *total)
{
	const struct ipv6hdr *ip = (const struct ipv6hdr *)(skb->data + s->start);

	if (skb->len < s->start + sizeof(*ip))
		return;
	s->offset = s->start + sizeof(*ip);
	*total = s->offset + ntohs(ip->payload_len);
	s->protocol = ip->nexthdr;
	s->transport = s->protocol == IPPROTO_TCP || s->protocol == IPPROTO_UDP;
}

static void parse_ip4(const struct sk_buff *skb, struct segment *s, unsigned int *total)
{
	const struct iphdr *ip = (const struct iphdr *)(skb->data + s->start);

	if (skb->len < s->start + sizeof(*ip))
		return;
	s->offset = s->start + 4 * ip->ihl;
	*total = s->start + ntohs(ip->tot_len);
	s->protocol = ip->protocol;
	s->transport = (s->protocol == IPPROTO_TCP || s->protocol == IPPROTO_UDP) && !ip_is_fragment(ip);
}

/* Reads the headers; frames are linear here. Trims padding, which is no part of a checksum. */
static void parse(struct sk_buff *skb, struct segment *s)
{
	const struct tcphdr *tcp;
	unsigned int total = 0;

	memset(s, 0, sizeof(*s));
	s->network = skb->protocol;
	if (s->network == htons(ETH_P_8021Q) && skb->len >= VLAN_HLEN) {
		s->network = ((const struct vlan_hdr *)skb->data)->h_vlan_encapsulated_proto;
		s->start = VLAN_HLEN;
	}
	if (s->network == htons(ETH_P_IP))
		parse_ip4(skb, s, &total);
	else if (s->network == htons(ETH_P_IPV6))
		parse_ip6(skb, s, &total);
	if (!s->transport || total > skb->len || total < s->offset + sizeof(struct udphdr)) {
		s->transport = false;
		return;
	}
	skb_trim(skb, total);
	if (s->protocol != IPPROTO_TCP || total < s->offset + sizeof(*tcp))
		return;
	tcp = (const struct tcphdr *)(skb->data + s->offset);
	s->tcp = true;
	s->sequence = ntohl(tcp->seq);
	s->length = total - s->offset - 4 * tcp->doff;
}

static bool checksum_good(const struct sk_buff *skb, const struct segment *s)
{
	unsigned int length = skb->len - s->offset;
	const void *header = skb->data + s->start;
	__wsum sum;

	if (s->protocol == IPPROTO_UDP && !((const struct udphdr *)(skb->data + s->offset))->check)
		return s->network == htons(ETH_P_IP);
	sum = skb_checksum(skb, s->offset, length, 0);
	if (s->network == htons(ETH_P_IP)) {
		const struct iphdr *ip = header;

		return !csum_tcpudp_magic(ip->saddr, ip->daddr, length, s->protocol, sum);
	}
	return !csum_ipv6_magic(&((const struct ipv6hdr *)header)->saddr, &((const struct ipv6hdr *)header)->daddr,
				length, s->protocol, sum);
}

static void checksum(struct vnet *v, struct vnet_queue *q, struct sk_buff *skb, const struct segment *s)
{
	skb->ip_summed = CHECKSUM_NONE;
	if (!(v->dev->features & NETIF_F_RXCSUM) || vnet_lies(v, VCARD_F_RXCSUM) || !s->transport) {
		q->count[VC_RX_CSUM_NONE]++;
	} else if (checksum_good(skb, s) || vcard_fault(v->port, VCARD_FAULT_CSUM_ACCEPTED)) {
		skb->ip_summed = CHECKSUM_UNNECESSARY;
		q->count[VC_RX_CSUM_GOOD]++;
	} else {
		q->count[VC_RX_CSUM_BAD]++;
	}
}

/* Is the port in this VLAN? The defect: a word of the table is dead. */
static bool passes(const struct vnet *v, u16 vid)
{
	u32 dead = vcard_fault(v->port, VCARD_FAULT_VLAN_WORD_DEAD);

	return test_bit(vid, v->vlans) && (!dead || vid / 32 != dead - 1);
}

/* Takes the tag out or leaves it in; NULL when the frame is filtered or lost. */
static struct sk_buff *vlan(struct vnet *v, struct vnet_queue *q, struct sk_buff *skb)
{
	netdev_features_t features = v->dev->features;
	u32 wrong = vcard_fault(v->port, VCARD_FAULT_VLAN_WRONG_TAG);
	u16 vid;

	if (skb->protocol != htons(ETH_P_8021Q) || skb->len < VLAN_HLEN)
		return skb;
	vid = ntohs(((const struct vlan_hdr *)skb->data)->h_vlan_TCI) & VLAN_VID_MASK;
	if (vid && !passes(v, vid) && !(vnet_modes(v) & IFF_PROMISC)) {
		if (vcard_fault(v->port, VCARD_FAULT_VLAN_LEAK)) {
			skb = skb_vlan_untag(skb);
			if (skb)
				__vlan_hwaccel_clear_tag(skb);
			return skb;
		}
		if ((features & NETIF_F_HW_VLAN_CTAG_FILTER) && !vnet_lies(v, VCARD_F_VLAN_FILTER)) {
			q->count[VC_RX_FILTERED]++;
			dev_kfree_skb_any(skb);
			return NULL;
		}
	}
	if (!(features & NETIF_F_HW_VLAN_CTAG_RX) || vnet_lies(v, VCARD_F_VLAN_RX))
		return skb;
	skb = skb_vlan_untag(skb);
	if (!skb)
		return NULL;
	q->count[VC_VLAN_STRIPPED]++;
	skb->vlan_tci = vnet_tag(v, skb->vlan_tci);
	if (wrong)
		__vlan_hwaccel_put_tag(skb, htons(ETH_P_8021Q), wrong & VLAN_VID_MASK);
	return skb;
}

/* Does the frame continue the aggregate that is open on this queue? */
static bool merges(struct vnet *v, struct vnet_queue *q, const struct segment *s, u32 hash, u64 now)
{
	struct vnet_aggregate *a = &q->aggregate;
	bool lro = (v->dev->features & NETIF_F_LRO) && !vnet_lies(v, VCARD_F_LRO);
	bool gro = (v->dev->features & NETIF_F_GRO) && !vnet_lies(v, VCARD_F_GRO);
	bool fits = (lro || gro) && s->tcp && s->length && a->frames && a->hash == hash && a->next == s->sequence &&
		    a->frames < v->model->cost.rx_aggregate && now - a->last < vnet_scaled(v, MERGE_GAP_US * NSEC_PER_USEC);

	if (!s->tcp || !s->length)
		return false;
	if (!fits)
		a->frames = 0;
	if (lro)
		q->count[fits ? VC_RX_LRO : VC_RX_LRO_STARTED]++;
	a->frames++;
	a->hash = hash;
	a->next = s->sequence + s->length;
	a->last = now;
	return fits;
}

/* Frames the card does not take in, each for its reason. */
static bool refused(struct vnet *v, struct vnet_queue *q, const struct sk_buff *skb)
{
	u32 jumbo = vcard_fault(v->port, VCARD_FAULT_JUMBO_DROP), lost = vcard_fault(v->port, VCARD_FAULT_RX_DROP);
	u32 frame = skb->len + ETH_HLEN, tag = skb->protocol == htons(ETH_P_8021Q) ? VLAN_HLEN : 0;

	if (vnet_filtered(v, skb)) {
		q->count[VC_RX_FILTERED]++;
		return true;
	}
	if (frame > v->dev->mtu + ETH_HLEN + tag) {
		q->count[VC_RX_TOO_LONG]++;
		return true;
	}
	if ((jumbo && frame > jumbo) || (lost && get_random_u32_below(1000000) < lost) ||
	    defect_burst(ktime_get_seconds(), vcard_fault(v->port, VCARD_FAULT_RX_BURST))) {
		q->count[VC_RX_LOST]++;
		return true;
	}
	return false;
}

static void enqueue(struct vnet *v, struct vnet_queue *q, struct sk_buff *skb)
{
	u32 every = vcard_fault(v->port, VCARD_FAULT_RX_REORDER);
	struct sk_buff *last = skb_peek_tail(&q->rx);

	if (every && last && ++v->reorder % every == 0) {
		swap(VNET_CB(last)->due, VNET_CB(skb)->due);
		__skb_queue_before(&q->rx, last, skb);
	} else {
		__skb_queue_tail(&q->rx, skb);
	}
}

/* The queue of a rule, or negative. */
static int ruled(struct vnet *v, const struct sk_buff *skb, const struct segment *s)
{
	if (!s->transport || s->network != htons(ETH_P_IP))
		return -1;
	return vnet_ruled(v, (const struct iphdr *)(skb->data + s->start), (const struct udphdr *)(skb->data + s->offset));
}

static struct vnet_queue *steer(struct vnet *v, struct sk_buff *skb, const struct segment *s, u32 *hash)
{
	int rule = ruled(v, skb, s);
	u32 entry;

	*hash = skb_get_hash(skb);
	if (rule >= 0)
		return &v->queue[rule];
	if (!(v->dev->features & NETIF_F_RXHASH) || vnet_lies(v, VCARD_F_RXHASH)) {
		skb_clear_hash(skb);
		return &v->queue[0];
	}
	if (vcard_fault(v->port, VCARD_FAULT_HASH_STUCK))
		return &v->queue[0];
	entry = *hash % VNET_INDIRECTION;
	if (vcard_fault(v->port, VCARD_FAULT_TABLE_ENTRY_LOST) == entry + 1)
		return &v->queue[ethtool_rxfh_indir_default(entry, v->channels)];
	return &v->queue[v->indirection[entry]];
}

/* The defect: a queue that did not start with the port takes nothing in. */
static bool dead(const struct vnet_queue *q)
{
	return q->v->dead_queue == q->index + 1 && vcard_fault(q->v->port, VCARD_FAULT_QUEUE_DEAD) == q->index + 1;
}

static bool mac_control(struct vnet *v, const struct sk_buff *skb)
{
	const __be16 *fields = (const __be16 *)skb->data;
	bool obeyed = v->pause_rx && !vcard_fault(v->port, VCARD_FAULT_RX_PAUSE_IGNORED);

	if (skb->protocol != htons(ETH_P_PAUSE))
		return false;
	if (skb->len < 4 || fields[0] != htons(1))
		return true;
	if (v->pause_rx)
		v->queue[0].count[VC_RX_PAUSE]++;
	if (obeyed || vcard_fault(v->port, VCARD_FAULT_RX_PAUSE_STAYS))
		vnet_pause(v, ntohs(fields[1]));
	return true;
}

/* A frame gets its place in the ring of its queue. */
static void place(struct vnet_queue *q, struct sk_buff *skb, u32 bytes, bool merged, u64 now)
{
	struct vnet *v = q->v;

	VNET_CB(skb)->due = vnet_rx_due(v, skb, bytes, merged, now);
	enqueue(v, q, skb);
	if (!vnet_uncounted(v)) {
		q->count[VC_RX_PACKETS]++;
		q->count[VC_RX_BYTES] += vnet_bytes(v, bytes, &q->rx_owed);
	}
}

/* A frame is in its ring, waits for room there, or is lost. */
static void take_in(struct vnet *v, struct vnet_queue *q, struct sk_buff *skb, u32 bytes, bool merged, u64 now)
{
	bool lost = dead(q);

	spin_lock(&q->lock);
	if (!lost && skb_queue_empty(&q->waiting) && skb_queue_len(&q->rx) < vnet_capacity(v)) {
		place(q, skb, bytes, merged, now);
		vnet_arm(q, VNET_CB(skb_peek(&q->rx))->due, now);
	} else if (lost || !vnet_wait(q, skb, bytes, merged)) {
		q->count[lost ? VC_RX_LOST : VC_RX_NO_BUFFER]++;
		dev_kfree_skb_any(skb);
	}
	if (!lost)
		vnet_flow_control(q, now);
	spin_unlock(&q->lock);
}

void vnet_receive(void *context, struct sk_buff *skb)
{
	struct vnet *v = context;
	struct vnet_queue *q = &v->queue[0];
	u64 now = ktime_get_ns();
	u32 bytes = skb->len, hash;
	struct segment segment;
	struct sk_buff *twin;
	bool merged;

	if (!READ_ONCE(v->open) || !netif_carrier_ok(v->dev))
		goto drop;
	skb->protocol = eth_type_trans(skb, v->dev);
	skb_reset_network_header(skb);
	if (mac_control(v, skb) || refused(v, q, skb))
		goto drop;
	vnet_stamp_received(v, skb);
	if (skb->pkt_type == PACKET_MULTICAST || skb->pkt_type == PACKET_BROADCAST)
		q->count[VC_RX_MULTICAST]++;
	skb = vlan(v, q, skb);
	if (!skb)
		return;
	skb_reset_network_header(skb);
	parse(skb, &segment);
	q = steer(v, skb, &segment, &hash);
	checksum(v, q, skb, &segment);
	vnet_damage(v, skb);
	spin_lock(&q->lock);
	merged = merges(v, q, &segment, hash, now);
	spin_unlock(&q->lock);
	twin = vnet_twin(v, skb);
	take_in(v, q, skb, bytes, merged, now);
	if (twin)
		take_in(v, q, twin, bytes, false, now);
	return;
drop:
	dev_kfree_skb_any(skb);
}

static int take_due(struct vnet_queue *q, struct sk_buff_head *out, int budget)
{
	u64 now = ktime_get_ns() + VNET_EARLY_NS;
	struct sk_buff *skb;
	int n = 0;

	spin_lock(&q->lock);
	while (n < budget && (skb = skb_peek(&q->rx)) && VNET_CB(skb)->due <= now) {
		__skb_unlink(skb, &q->rx);
		__skb_queue_tail(out, skb);
		n++;
	}
	while (n && (skb = vnet_next(q))) {
		place(q, skb, VNET_CB(skb)->bytes, VNET_CB(skb)->merged, now);
		q->last_interrupt = 0;	/* the driver polls on while it finds a full ring: no interrupt is waited for */
	}
	vnet_flow_control(q, now);
	spin_unlock(&q->lock);
	return n;
}

static void deliver(struct vnet_queue *q, struct sk_buff *skb)
{
	gro_result_t result;

	memset(skb->cb, 0, sizeof(struct vnet_cb));
	skb_record_rx_queue(skb, q->index);
	if (vnet_lies(q->v, VCARD_F_GRO)) {
		netif_receive_skb(skb);
		return;
	}
	result = napi_gro_receive(&q->napi, skb);
	if (result == GRO_MERGED || result == GRO_MERGED_FREE)
		q->count[VC_RX_MERGED]++;
}

/* Adaptive moderation: the more frames an interrupt finds, the longer until the next one. */
static void adapt(struct vnet_queue *q)
{
	const struct ethtool_coalesce *c = &q->v->coalesce;
	u32 high = c->rx_coalesce_usecs_high ?: c->rx_coalesce_usecs;

	q->adaptive_usecs = q->in_interrupt <= 2 ? c->rx_coalesce_usecs_low : min(high, 2 * q->in_interrupt);
	if (vcard_fault(q->v->port, VCARD_FAULT_ADAPTIVE_STUCK))
		q->adaptive_usecs = high;
	q->in_interrupt = 0;
}

int vnet_poll(struct napi_struct *napi, int budget)
{
	struct vnet_queue *q = container_of(napi, struct vnet_queue, napi);
	struct sk_buff_head out;
	struct sk_buff *skb;
	int done;

	__skb_queue_head_init(&out);
	vnet_reclaim(q);
	done = take_due(q, &out, budget);
	while ((skb = __skb_dequeue(&out)))
		deliver(q, skb);
	q->in_interrupt += done;
	if (done < budget && napi_complete_done(napi, done)) {
		spin_lock(&q->lock);
		adapt(q);
		skb = skb_peek(&q->rx);
		if (READ_ONCE(q->v->open) && (skb || q->tx_done))
			vnet_arm(q, skb && !q->tx_done ? VNET_CB(skb)->due : 0, ktime_get_ns());
		spin_unlock(&q->lock);
	}
	return done;
}

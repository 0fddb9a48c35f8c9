// SPDX-License-Identifier: GPL-2.0
/* Flow control of the receiver: what waits for room, and when the partner is asked to pause. */
#include "vnet.h"

#define QUANTA 0xffff
#define QUANTUM_BITS 512	/* IEEE 802.3-2018, 31B.2 */

/* Frames a queue holds: a card with a ring of completions (rx-mini) packs several frames into a buffer. */
u32 vnet_capacity(const struct vnet *v)
{
	return v->rx_mini ?: v->rx_ring;
}

static bool may_ask(const struct vnet *v)
{
	return v->pause_tx || vcard_fault(v->port, VCARD_FAULT_TX_PAUSE_UNASKED);
}

/* Keeps a frame that finds no room in the ring; false: the card has no room for it either. The queue's lock is held. */
bool vnet_wait(struct vnet_queue *q, struct sk_buff *skb, u32 bytes, bool merged)
{
	struct vnet *v = q->v;

	if (!may_ask(v) || atomic_read(&v->buffered) + bytes > v->model->rx_buffer)
		return false;
	VNET_CB(skb)->bytes = bytes;
	VNET_CB(skb)->merged = merged;
	atomic_add(bytes, &v->buffered);
	__skb_queue_tail(&q->waiting, skb);
	return true;
}

/* The next frame for which there is room in the ring by now. The queue's lock is held. */
struct sk_buff *vnet_next(struct vnet_queue *q)
{
	struct sk_buff *skb = NULL;

	if (skb_queue_len(&q->rx) < vnet_capacity(q->v))
		skb = __skb_dequeue(&q->waiting);
	if (skb)
		atomic_sub(VNET_CB(skb)->bytes, &q->v->buffered);
	return skb;
}

static void ask(struct vnet *v, u16 quanta, u64 now)
{
	v->xoff_at = now;
	if (!vcard_fault(v->port, VCARD_FAULT_TX_PAUSE_NEVER))
		vnet_send_pause(v, quanta);
}

/* Asks above three quarters, again while that lasts and half of the pause is over, and lets go below one quarter. */
void vnet_flow_control(struct vnet_queue *q, u64 now)
{
	struct vnet *v = q->v;
	u32 buffer = v->model->rx_buffer, places = buffer ?: vnet_capacity(v);
	u32 waiting = buffer ? atomic_read(&v->buffered) : skb_queue_len(&q->rx), who = buffer ? 0 : q->index;
	u64 again = v->xoff_at + vnet_scaled(v, div_u64((u64)QUANTA * QUANTUM_BITS * 1000, v->model->mbps)) / 2;
	unsigned long before = v->xoff;

	if (!may_ask(v))
		return;
	if (waiting > places / 4 * 3)
		set_bit(who, &v->xoff);
	else if (waiting < places / 4)
		clear_bit(who, &v->xoff);
	if (!before != !v->xoff || (waiting > places / 4 * 3 && now > again))
		ask(v, v->xoff ? QUANTA : 0, now);
}

// SPDX-License-Identifier: GPL-2.0
/* Defects between the card's checksum and memory: a frame that was good on the wire is damaged, doubled or not counted. */
#include "vnet.h"

#define SPARED 128	/* shorter frames are whole: a bench whose ARP fails finds no fault but that */
#define FROM_END 16

/* Is it the turn of this frame? */
static bool turn(struct vnet *v, enum vcard_fault fault, u64 *count)
{
	u32 every = vcard_fault(v->port, fault);

	return every && ++*count % every == 0;
}

void vnet_damage(struct vnet *v, struct sk_buff *skb)
{
	if (skb->len < SPARED)
		return;
	if (turn(v, VCARD_FAULT_RX_FLIP, &v->flips))
		skb->data[skb->len - FROM_END] ^= 0x10;
	if (turn(v, VCARD_FAULT_RX_CUT, &v->cuts))
		skb_trim(skb, skb->len - 4);
}

struct sk_buff *vnet_twin(struct vnet *v, const struct sk_buff *skb)
{
	return turn(v, VCARD_FAULT_RX_TWICE, &v->twins) ? skb_copy(skb, GFP_ATOMIC) : NULL;
}

bool vnet_uncounted(struct vnet *v)
{
	return turn(v, VCARD_FAULT_RX_UNCOUNTED, &v->uncounted);
}

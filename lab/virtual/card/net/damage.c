// SPDX-License-Identifier: GPL-2.0
/*
 * Defects between the card's checksum and memory: a frame that was good on the wire is damaged, doubled or not counted; one
 * that was good in memory is damaged, doubled or filled up, or gets a wrong checksum or tag, on its way out.
 */
#include <linux/if_vlan.h>
#include <linux/skbuff.h>

#include "vnet.h"

#define SPARED 128	/* shorter frames are whole: a bench whose ARP fails finds no fault but that */
#define FROM_END 16
#define FLIPPED 0x10

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
		skb->data[skb->len - FROM_END] ^= FLIPPED;
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

bool vnet_interrupt_lost(struct vnet *v)
{
	return turn(v, VCARD_FAULT_IRQ_LOST, &v->interrupts);
}

/* Does a defect want frames of a buffer that the card cuts up before they have their checksum? */
bool vnet_sums_late(const struct vnet *v)
{
	return vcard_fault(v->port, VCARD_FAULT_TX_FLIP) || vcard_fault(v->port, VCARD_FAULT_TX_CSUM_LAST) ||
	       vcard_fault(v->port, VCARD_FAULT_TX_CSUM_ODD);
}

/*
 * A buffer in pieces as the card fetches it: the defect loses the lowest bits of a piece's address. Returns another buffer,
 * where one is wrong: TCP sends its own again. NULL: there is no memory, and the buffer is gone.
 */
struct sk_buff *vnet_tx_fetch(const struct vnet *v, struct sk_buff *skb)
{
	u32 unit = vcard_fault(v->port, VCARD_FAULT_SG_ALIGNED);
	unsigned int i, at = skb_headlen(skb);
	struct sk_buff *fetched;

	if (!unit || !skb_is_nonlinear(skb))
		return skb;
	fetched = skb_copy(skb, GFP_ATOMIC);
	for (i = 0; fetched && i < skb_shinfo(skb)->nr_frags; i++) {
		const skb_frag_t *piece = &skb_shinfo(skb)->frags[i];

		memcpy(fetched->data + at, skb_frag_address(piece) - (skb_frag_off(piece) & (unit - 1)), skb_frag_size(piece));
		at += skb_frag_size(piece);
	}
	dev_consume_skb_any(skb);
	return fetched;
}

/* A frame that leaves, before the card makes its checksum. What the sender keeps to send it again stays whole. */
void vnet_tx_damage(struct vnet *v, struct sk_buff *skb)
{
	if (skb->len >= SPARED && turn(v, VCARD_FAULT_TX_FLIP, &v->tx_flips) && !skb_ensure_writable(skb, skb->len))
		skb->data[skb->len - FROM_END] ^= FLIPPED;
}

/*
 * The checksum that the card has made: at `check`, of all from `start` on. Of the last frame of a buffer, it summed the length
 * of those before; of an odd number of bytes, it left the last one out.
 */
void vnet_tx_missum(struct vnet *v, struct sk_buff *skb, unsigned int start, unsigned int check)
{
	__sum16 *sum = (__sum16 *)(skb->data + check);
	u16 length = skb->len - start, shorter = VNET_CB(skb)->shorter;
	u8 last;

	if (shorter && vcard_fault(v->port, VCARD_FAULT_TX_CSUM_LAST))
		csum_replace2(sum, htons(length), htons(length + shorter));
	if (length % 2 && vcard_fault(v->port, VCARD_FAULT_TX_CSUM_ODD) && !skb_copy_bits(skb, skb->len - 1, &last, 1))
		csum_replace2(sum, htons(last << 8), 0);
}

/*
 * A sound card leaves padding to its cable, which fills up with zeros. The defect fills up with what its buffer held before
 * (CVE-2003-0001). On an error the frame is gone.
 */
int vnet_tx_pad(struct vnet *v, struct sk_buff *skb)
{
	unsigned int length = skb->len;
	int err;

	if (!vcard_fault(v->port, VCARD_FAULT_PAD_FOREIGN))
		return 0;
	if (length >= ETH_ZLEN)
		return skb_copy_bits(skb, 0, v->leftover, ETH_ZLEN);
	err = skb_put_padto(skb, ETH_ZLEN);
	if (!err)
		memcpy(skb->data + length, v->leftover + length, ETH_ZLEN - length);
	return err;
}

/* The tag that comes out of the card for one that goes in. */
u16 vnet_tag(const struct vnet *v, u16 tci)
{
	return vcard_fault(v->port, VCARD_FAULT_TAG_PRIORITY_LOST) ? tci & VLAN_VID_MASK : tci;
}

struct sk_buff *vnet_tx_twin(struct vnet *v, const struct sk_buff *skb)
{
	return turn(v, VCARD_FAULT_TX_TWICE, &v->tx_twins) ? skb_copy(skb, GFP_ATOMIC) : NULL;
}

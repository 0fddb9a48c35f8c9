// SPDX-License-Identifier: GPL-2.0
/* Which frames a port takes in by their destination: its own address, groups as the model has them, modes. */
#include <linux/crc32.h>
#include <linux/etherdevice.h>

#include "vnet.h"

static u32 bin(const u8 *address)
{
	return ether_crc(ETH_ALEN, address) >> 24;
}

/* The kernel tells what is wanted; it calls under the lock of the device's addresses. */
void vnet_rx_mode(struct net_device *dev)
{
	struct vnet *v = netdev_priv(dev);
	u32 known = vcard_fault(v->port, VCARD_FAULT_GROUPS_LOST);
	struct netdev_hw_addr *address;
	unsigned int n = 0;

	spin_lock(&v->lock);
	bitmap_zero(v->group_bins, VNET_GROUP_BINS);
	netdev_for_each_mc_addr(address, dev) {
		if (known && n >= known)
			break;
		if (n < VNET_GROUPS)
			ether_addr_copy(v->groups[n], address->addr);
		set_bit(bin(address->addr), v->group_bins);
		n++;
	}
	v->n_groups = min(n, VNET_GROUPS + 1U);
	if (dev->flags & IFF_PROMISC)
		v->was_promiscuous = true;
	spin_unlock(&v->lock);
}

static bool joined(struct vnet *v, const u8 *group)
{
	bool found = v->n_groups > VNET_GROUPS;
	unsigned int i;

	if (v->model->groups == VCARD_GROUPS_ALL)
		return v->n_groups;
	spin_lock(&v->lock);
	if (v->model->groups == VCARD_GROUPS_HASH)
		found = test_bit(bin(group), v->group_bins);
	for (i = 0; v->model->groups == VCARD_GROUPS_EXACT && !found && i < v->n_groups; i++)
		found = ether_addr_equal(v->groups[i], group);
	spin_unlock(&v->lock);
	return found;
}

/* The defect: addresses that differ in their last bits only are the same. */
static bool resembles(const u8 *address, const u8 *own, u32 bits)
{
	return bits && !((ether_addr_to_u64(address) ^ ether_addr_to_u64(own)) >> min(bits, 48U));
}

/* IFF_PROMISC and IFF_ALLMULTI, if the card is in these modes. */
unsigned int vnet_modes(const struct vnet *v)
{
	return vcard_fault(v->port, VCARD_FAULT_RX_MODE_IGNORED) ? 0 : v->dev->flags & (IFF_PROMISC | IFF_ALLMULTI);
}

bool vnet_filtered(struct vnet *v, const struct sk_buff *skb)
{
	const u8 *to = eth_hdr(skb)->h_dest;
	unsigned int flags = vnet_modes(v);

	if ((flags & IFF_PROMISC) || (v->was_promiscuous && vcard_fault(v->port, VCARD_FAULT_PROMISC_STAYS)))
		return false;
	switch (skb->pkt_type) {
	case PACKET_MULTICAST:
		return !(flags & IFF_ALLMULTI) && !joined(v, to);
	case PACKET_OTHERHOST:
		return !resembles(to, v->dev->dev_addr, vcard_fault(v->port, VCARD_FAULT_FILTER_LEAK)) &&
		       !(vcard_fault(v->port, VCARD_FAULT_MAC_STAYS) && ether_addr_equal(to, v->dev->perm_addr));
	default:
		return false;
	}
}

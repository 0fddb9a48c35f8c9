// SPDX-License-Identifier: GPL-2.0
/* Offloads: the model's, the kernel's own rules, and what a defective card makes of them. */
#include "vnet.h"

static const struct {
	u32 fault;
	netdev_features_t features;
} names[] = {
	{ VCARD_F_TSO, NETIF_F_ALL_TSO },
	{ VCARD_F_TXCSUM, NETIF_F_CSUM_MASK },
	{ VCARD_F_RXCSUM, NETIF_F_RXCSUM },
	{ VCARD_F_SG, NETIF_F_SG },
	{ VCARD_F_GRO, NETIF_F_GRO },
	{ VCARD_F_LRO, NETIF_F_LRO },
	{ VCARD_F_VLAN_TX, NETIF_F_HW_VLAN_CTAG_TX },
	{ VCARD_F_VLAN_RX, NETIF_F_HW_VLAN_CTAG_RX },
	{ VCARD_F_VLAN_FILTER, NETIF_F_HW_VLAN_CTAG_FILTER },
	{ VCARD_F_RXHASH, NETIF_F_RXHASH },
};

static netdev_features_t named(const struct vnet *v, enum vcard_fault fault)
{
	u32 bits = vcard_fault(v->port, fault);
	netdev_features_t all = 0;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(names); i++)
		if (bits & names[i].fault)
			all |= names[i].features;
	return all & (v->model->changeable | v->model->fixed | NETIF_F_GRO);
}

netdev_features_t vnet_fix_features(struct net_device *dev, netdev_features_t features)
{
	const struct vnet *v = netdev_priv(dev);

	if (!(features & NETIF_F_RXCSUM))
		features &= ~v->model->need_rxcsum;
	return (features & ~named(v, VCARD_FAULT_FEATURE_STUCK_OFF)) | named(v, VCARD_FAULT_FEATURE_STUCK_ON);
}

/* A positive answer tells the kernel that the driver has set dev->features itself. */
int vnet_set_features(struct net_device *dev, netdev_features_t features)
{
	const struct vnet *v = netdev_priv(dev);
	netdev_features_t tso = dev->features & NETIF_F_ALL_TSO;

	if (!vcard_fault(v->port, VCARD_FAULT_TSO_WITHOUT_CSUM) || !tso || (features & NETIF_F_CSUM_MASK) ||
	    !(dev->features & NETIF_F_CSUM_MASK))
		return 0;
	dev->features = features | tso;
	return 1;
}

/* As the driver finds the card; before register_netdev(). */
void vnet_features(struct vnet *v)
{
	const struct vcard_model *model = v->model;
	struct net_device *dev = v->dev;

	dev->hw_features = model->changeable | (model->fixed & named(v, VCARD_FAULT_FEATURE_UNFIXED));
	dev->features = model->on | model->fixed | NETIF_F_HIGHDMA;
	dev->vlan_features = (model->changeable | model->fixed) & (NETIF_F_SG | NETIF_F_ALL_TSO | NETIF_F_CSUM_MASK);
}

// SPDX-License-Identifier: GPL-2.0
/* ethtool: settings. */
#include <linux/ethtool.h>
#include <linux/gfp.h>
#include <linux/rtnetlink.h>

#include "../kernels.h"
#include "vnet.h"

static void get_rings(struct net_device *dev, struct ethtool_ringparam *r, struct kernel_ethtool_ringparam *k,
		      struct netlink_ext_ack *ack)
{
	const struct vnet *v = netdev_priv(dev);

	r->rx_max_pending = v->model->rx.max;
	r->tx_max_pending = v->model->tx.max;
	r->rx_mini_max_pending = v->model->rx_mini.max;
	r->rx_jumbo_max_pending = v->model->rx_jumbo.max;
	r->rx_pending = v->rx_ring;
	r->tx_pending = v->tx_ring;
	r->rx_mini_pending = v->rx_mini;
	r->rx_jumbo_pending = v->rx_jumbo;
}

static bool small(const struct vcard_ring *ring, u32 wanted)
{
	return ring->max && wanted < ring->min;
}

static int set_rings(struct net_device *dev, struct ethtool_ringparam *r, struct kernel_ethtool_ringparam *k,
		     struct netlink_ext_ack *ack)
{
	struct vnet *v = netdev_priv(dev);
	bool running = netif_running(dev);
	int err = 0;

	if (v->model->rings_busy_once_up)
		return -EBUSY;
	if (small(&v->model->rx, r->rx_pending) || small(&v->model->tx, r->tx_pending)) {
		netdev_info(dev, "ring of rx %u tx %u is too small\n", r->rx_pending, r->tx_pending);
		return -EINVAL;
	}
	if (running)
		vnet_stop(dev);
	v->rx_ring = r->rx_pending;
	v->tx_ring = r->tx_pending;
	v->rx_mini = r->rx_mini_pending;
	v->rx_jumbo = r->rx_jumbo_pending;
	vnet_leak(vcard_fault(v->port, VCARD_FAULT_RING_LEAKS));
	if (running)
		err = vnet_open(dev);
	if (running && vcard_fault(v->port, VCARD_FAULT_RING_KILLS_LINK)) {
		v->ring_changed = true;
		vnet_changed(v);
	}
	return err;
}

static int get_coalesce(struct net_device *dev, struct ethtool_coalesce *c, struct kernel_ethtool_coalesce *k,
			struct netlink_ext_ack *ack)
{
	const struct vnet *v = netdev_priv(dev);

	*c = v->coalesce;
	return 0;
}

/* Values this driver takes without an error and does nothing with. */
static void keep_fixed(const struct vnet *v, struct ethtool_coalesce *c)
{
	u32 fixed = v->model->coalesce_fixed;

	if (fixed & ETHTOOL_COALESCE_TX_USECS)
		c->tx_coalesce_usecs = v->coalesce.tx_coalesce_usecs;
	if (fixed & ETHTOOL_COALESCE_TX_USECS_LOW)
		c->tx_coalesce_usecs_low = v->coalesce.tx_coalesce_usecs_low;
	if (fixed & ETHTOOL_COALESCE_TX_USECS_HIGH)
		c->tx_coalesce_usecs_high = v->coalesce.tx_coalesce_usecs_high;
	if (fixed & ETHTOOL_COALESCE_TX_USECS_IRQ)
		c->tx_coalesce_usecs_irq = v->coalesce.tx_coalesce_usecs_irq;
}

/* Where both ways share interrupts, a time of sending is that of receiving, or there is none. */
static int of_shared_vectors(const struct vnet *v, struct ethtool_coalesce *c)
{
	const struct ethtool_coalesce *old = &v->coalesce;
	bool sending, waiting;

	if (v->model->coalesce_vectors == VCARD_VECTORS_OF_ONE_WAY)
		return 0;
	if (v->model->coalesce_vectors == VCARD_VECTORS_REFUSE_SENDING)
		return c->tx_coalesce_usecs ? -EINVAL : 0;
	if (c->rx_coalesce_usecs == old->rx_coalesce_usecs)
		c->rx_coalesce_usecs = c->rx_coalesce_usecs_irq;
	sending = c->tx_coalesce_usecs != old->tx_coalesce_usecs;
	waiting = c->tx_coalesce_usecs_irq != old->tx_coalesce_usecs_irq;
	if ((sending && c->tx_coalesce_usecs != c->rx_coalesce_usecs) ||
	    (!sending && waiting && c->tx_coalesce_usecs_irq != c->rx_coalesce_usecs))
		return -EINVAL;
	c->rx_coalesce_usecs_irq = c->rx_coalesce_usecs;
	c->tx_coalesce_usecs = c->rx_coalesce_usecs;
	c->tx_coalesce_usecs_irq = c->rx_coalesce_usecs;
	return 0;
}

static int set_coalesce(struct net_device *dev, struct ethtool_coalesce *c, struct kernel_ethtool_coalesce *k,
			struct netlink_ext_ack *ack)
{
	struct vnet *v = netdev_priv(dev);
	u32 max = v->model->max_usecs;
	int err;

	if (max && (c->rx_coalesce_usecs > max || c->tx_coalesce_usecs > max || c->rx_coalesce_usecs_high > max)) {
		netdev_info(dev, "coalescing of more than %u us is not supported\n", max);
		return -EINVAL;
	}
	keep_fixed(v, c);
	err = of_shared_vectors(v, c);
	if (err)
		return err;
	v->coalesce = *c;
	return 0;
}

static void get_pause(struct net_device *dev, struct ethtool_pauseparam *p)
{
	const struct vnet *v = netdev_priv(dev);

	p->autoneg = v->pause_autoneg;
	p->rx_pause = v->pause_rx;
	p->tx_pause = v->pause_tx;
}

static int set_pause(struct net_device *dev, struct ethtool_pauseparam *p)
{
	struct vnet *v = netdev_priv(dev);

	if ((p->autoneg && !v->model->pause_autoneg) || (v->model->pause_tx_needs_rx && p->tx_pause && !p->rx_pause))
		return -EINVAL;
	v->pause_autoneg = p->autoneg;
	if (vcard_fault(v->port, VCARD_FAULT_PAUSE_IGNORED))
		return 0;
	v->pause_rx = p->rx_pause;
	v->pause_tx = p->tx_pause;
	if (!p->tx_pause)
		v->xoff = 0;
	return 0;
}

static void pause_stats(struct net_device *dev, struct ethtool_pause_stats *s)
{
	const struct vnet *v = netdev_priv(dev);

	s->tx_pause_frames = vnet_total(v, VC_TX_PAUSE);
	s->rx_pause_frames = vnet_total(v, VC_RX_PAUSE);
}

static void get_channels(struct net_device *dev, struct ethtool_channels *c)
{
	const struct vnet *v = netdev_priv(dev);

	c->max_combined = v->model->max_channels;
	c->combined_count = v->channels;
}

static int set_channels(struct net_device *dev, struct ethtool_channels *c)
{
	struct vnet *v = netdev_priv(dev);
	bool running = netif_running(dev);
	int err;

	if (!c->combined_count || c->rx_count || c->tx_count)
		return -EINVAL;
	if (running)
		vnet_stop(dev);
	err = vnet_set_channels(v, c->combined_count);
	return (running ? vnet_open(dev) : 0) ?: err;
}

static u32 hash_key_size(struct net_device *dev)
{
	return sizeof(((struct vnet *)0)->hash_key);
}

static u32 indirection_size(struct net_device *dev)
{
	return VNET_INDIRECTION;
}

static int get_hash(struct net_device *dev, struct ethtool_rxfh_param *hash)
{
	const struct vnet *v = netdev_priv(dev);

	if (hash->indir)
		memcpy(hash->indir, v->indirection, sizeof(v->indirection));
	if (hash->key)
		memcpy(hash->key, v->hash_key, sizeof(v->hash_key));
	hash->hfunc = ETH_RSS_HASH_TOP;
	return 0;
}

static int set_hash(struct net_device *dev, struct ethtool_rxfh_param *hash, struct netlink_ext_ack *ack)
{
	struct vnet *v = netdev_priv(dev);

	if (hash->key || (hash->hfunc != ETH_RSS_HASH_NO_CHANGE && hash->hfunc != ETH_RSS_HASH_TOP))
		return -EOPNOTSUPP;
	if (hash->indir)
		memcpy(v->indirection, hash->indir, sizeof(v->indirection));
	return 0;
}

VNET_RXFH(get_hash, set_hash)

static int get_rxnfc(struct net_device *dev, struct ethtool_rxnfc *info, u32 *rules)
{
	struct vnet *v = netdev_priv(dev);

	if (info->cmd == ETHTOOL_GRXRINGS) {
		info->data = v->channels;
		return 0;
	}
	if (v->model->rules && (info->cmd == ETHTOOL_GRXCLSRLCNT || info->cmd == ETHTOOL_GRXCLSRULE ||
				info->cmd == ETHTOOL_GRXCLSRLALL))
		return vnet_get_rules(v, info, rules);
	return -EOPNOTSUPP;
}

/* The operations of this model: what a card cannot do is not there, and the kernel says so. */
void vnet_ethtool(struct vnet *v)
{
	struct ethtool_ops *ops = &v->ethtool;

	vnet_ethtool_info(v, ops);
	ops->supported_coalesce_params = v->model->coalesce_params;
	if (v->model->rings_shown)
		ops->get_ringparam = get_rings;
	if (v->model->rings_settable)
		ops->set_ringparam = set_rings;
	if (v->model->coalesce_params) {
		ops->get_coalesce = get_coalesce;
		ops->set_coalesce = set_coalesce;
	}
	if (v->model->pause_known) {
		ops->get_pauseparam = get_pause;
		ops->get_pause_stats = pause_stats;
	}
	if (v->model->pause_settable)
		ops->set_pauseparam = set_pause;
	if (v->model->channels_shown)
		ops->get_channels = get_channels;
	if (v->model->channels_settable)
		ops->set_channels = set_channels;
	if (v->model->max_channels > 1) {
		ops->get_rxfh_key_size = hash_key_size;
		ops->get_rxfh_indir_size = indirection_size;
		ops->get_rxfh = VNET_RXFH_OPERATION(get_hash);
		ops->set_rxfh = VNET_RXFH_OPERATION(set_hash);
		ops->get_rxnfc = get_rxnfc;
		if (v->model->rules)
			ops->set_rxnfc = vnet_set_rxnfc;
	}
	if (v->model->flashable)
		ops->flash_device = vnet_flash;
	if (v->model->optics.form != VCARD_NO_CAGE) {
		ops->get_module_info = vnet_module_info;
		ops->get_module_eeprom = vnet_module_eeprom;
	}
	v->dev->ethtool_ops = ops;
}

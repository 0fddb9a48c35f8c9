// SPDX-License-Identifier: GPL-2.0
/* The network interface: life from probe to remove, link, statistics. */
#include <linux/bitmap.h>
#include <linux/etherdevice.h>
#include <linux/irq.h>
#include <linux/irqdesc.h>

#include "defects.h"
#include "vnet.h"

static u64 shown(const struct vnet *v, u64 count)
{
	return defect_wrapped(count, vcard_fault(v->port, VCARD_FAULT_COUNTER_WRAPS));
}

u64 vnet_counted(const struct vnet_queue *q, unsigned int kind)
{
	return shown(q->v, q->count[kind]);
}

u64 vnet_total(const struct vnet *v, unsigned int kind)
{
	u64 sum = 0;
	unsigned int i;

	for (i = 0; i < VNET_QUEUES; i++)
		sum += v->queue[i].count[kind];
	return shown(v, sum);
}

/* The bytes of a frame as they are counted. */
u32 vnet_bytes(const struct vnet *v, u32 bytes, u32 *owed)
{
	return defect_bytes(bytes, vcard_fault(v->port, VCARD_FAULT_BYTES_SHORT), owed);
}

static void stats(struct net_device *dev, struct rtnl_link_stats64 *s)
{
	const struct vnet *v = netdev_priv(dev);

	s->tx_packets = vnet_total(v, VC_TX_PACKETS);
	s->tx_bytes = vnet_total(v, VC_TX_BYTES);
	s->rx_packets = vnet_total(v, VC_RX_PACKETS);
	s->rx_bytes = vnet_total(v, VC_RX_BYTES);
	s->multicast = vnet_total(v, VC_RX_MULTICAST);
	s->rx_missed_errors = vnet_total(v, VC_RX_NO_BUFFER);
	s->rx_length_errors = vnet_total(v, VC_RX_TOO_LONG);
	s->rx_errors = s->rx_length_errors;
}

/* The queue whose vector a queue raises. The defect: that of the next one, from the next start of the port on. */
static struct vnet_queue *raised_by(struct vnet_queue *q)
{
	struct vnet *v = q->v;
	bool lost = v->lost_vector == q->index + 1 && vcard_fault(v->port, VCARD_FAULT_VECTOR_LOST) == q->index + 1;

	return lost ? &v->queue[(q->index + 1) % v->channels] : q;
}

/* The card's event: its own clock has come, or, without MSI-X, the same on the interrupt line. */
static enum hrtimer_restart raise_interrupt(struct hrtimer *timer)
{
	struct vnet_queue *q = container_of(timer, struct vnet_queue, interrupt);
	int irq = raised_by(q)->irq;

	WRITE_ONCE(q->armed, false);
	if (!vcard_alive(q->v->port) || vnet_interrupt_lost(q->v))
		return HRTIMER_NORESTART;
	if (irq > 0)
		generic_handle_irq(irq);
	return HRTIMER_NORESTART;
}

static irqreturn_t interrupt(int irq, void *data)
{
	struct vnet_queue *q = data, *before = &q->v->queue[(q->index ?: q->v->channels) - 1];

	q->last_interrupt = ktime_get_ns();
	q->count[VC_INTERRUPTS]++;
	napi_schedule(&q->napi);
	if (before != q && raised_by(before) == q) {
		before->last_interrupt = q->last_interrupt;
		napi_schedule(&before->napi);
	}
	return IRQ_HANDLED;
}

static void free_interrupts(struct vnet *v, unsigned int n)
{
	while (n--) {
		struct vnet_queue *q = &v->queue[n];

		free_irq(q->irq, q);
		q->irq = 0;
	}
}

static int request_interrupts(struct vnet *v)
{
	unsigned int i;
	int err;

	for (i = 0; i < v->channels; i++) {
		struct vnet_queue *q = &v->queue[i];
		int irq = v->model->vectors ? pci_irq_vector(v->pdev, v->first_vector + i) : v->pdev->irq;

		if (v->model->vectors)
			snprintf(q->irq_name, sizeof(q->irq_name), "%s-%u", v->dev->name, i);
		else
			strscpy(q->irq_name, v->dev->name, sizeof(q->irq_name));
		err = request_irq(irq, interrupt, 0, q->irq_name, q);
		if (err) {
			free_interrupts(v, i);
			return err;
		}
		WRITE_ONCE(q->irq, irq);
	}
	return 0;
}

void vnet_spread(struct vnet *v)
{
	unsigned int i;

	for (i = 0; i < VNET_INDIRECTION; i++)
		v->indirection[i] = ethtool_rxfh_indir_default(i, v->channels);
}

static u32 initial(const struct vnet *v, enum vcard_fault fault, u32 model)
{
	return vcard_fault(v->port, fault) ?: model;
}

void vnet_defaults(struct vnet *v)
{
	const struct vcard_model *model = v->model;

	u32 rx = model->rx_shared ? max(model->rx.min, model->rx.initial / v->channels) : model->rx.initial;

	v->rx_ring = initial(v, VCARD_FAULT_DEFAULT_RX_RING, rx);
	v->tx_ring = initial(v, VCARD_FAULT_DEFAULT_TX_RING, model->tx.initial);
	v->rx_mini = model->rx_mini.initial;
	v->rx_jumbo = model->rx_jumbo.initial;
	v->coalesce = model->coalesce;
	v->coalesce.rx_coalesce_usecs = initial(v, VCARD_FAULT_DEFAULT_RX_USECS, model->coalesce.rx_coalesce_usecs);
}

int vnet_open(struct net_device *dev)
{
	struct vnet *v = netdev_priv(dev);
	unsigned int i;
	int err;

	if (!vcard_firmware_good(v->port)) {
		netdev_err(dev, "firmware does not start\n");
		return -EIO;
	}
	if (vcard_fault(v->port, VCARD_FAULT_SETTINGS_LOST))
		vnet_defaults(v);
	err = request_interrupts(v);
	if (err)
		return err;
	v->mtu_changed = v->ring_changed = v->was_promiscuous = false;
	v->dead_queue = vcard_fault(v->port, VCARD_FAULT_QUEUE_DEAD);
	v->lost_vector = vcard_fault(v->port, VCARD_FAULT_VECTOR_LOST);
	v->carrier_lost_at = 0;
	for (i = 0; i < v->channels; i++)
		napi_enable(&v->queue[i].napi);
	WRITE_ONCE(v->open, true);
	netif_tx_start_all_queues(dev);
	vcard_light(v->port, true);
	vnet_set_carrier(v, vnet_link_seen(v));
	return 0;
}

static void purge(struct vnet_queue *q)
{
	spin_lock_bh(&q->lock);
	__skb_queue_purge(&q->tx);
	__skb_queue_purge(&q->rx);
	__skb_queue_purge(&q->waiting);
	q->tx_used = q->tx_done = 0;
	q->armed = false;
	q->aggregate.frames = 0;
	spin_unlock_bh(&q->lock);
}

int vnet_stop(struct net_device *dev)
{
	struct vnet *v = netdev_priv(dev);
	unsigned int i;

	WRITE_ONCE(v->open, false);
	netif_tx_disable(dev);
	vcard_light(v->port, false);
	vnet_set_carrier(v, false);
	synchronize_net();
	hrtimer_cancel(&v->emit);
	for (i = 0; i < v->channels; i++) {
		hrtimer_cancel(&v->queue[i].interrupt);
		napi_disable(&v->queue[i].napi);
		hrtimer_cancel(&v->queue[i].interrupt);
	}
	hrtimer_cancel(&v->emit);
	__skb_queue_purge(&v->leaving);
	free_interrupts(v, v->channels);
	for (i = 0; i < VNET_QUEUES; i++)
		purge(&v->queue[i]);
	v->xoff = 0;
	atomic_set(&v->buffered, 0);
	v->paused_since = 0;
	return 0;
}

/* Taken down by the system, not by a change of rings. */
static int close_port(struct net_device *dev)
{
	int err = vnet_stop(dev);

	vnet_forget_rules(netdev_priv(dev));
	return err;
}

static void reset_work(struct work_struct *work)
{
	struct vnet *v = container_of(work, struct vnet, reset);
	unsigned int i;

	rtnl_lock();
	if (v->open && !v->detached)
		for (i = 0; i < v->channels; i++) {
			struct vnet_queue *q = &v->queue[i];

			if (!netif_tx_queue_stopped(netdev_get_tx_queue(v->dev, i)))
				continue;
			spin_lock_bh(&q->lock);
			__skb_queue_purge(&q->tx);
			q->tx_used = q->tx_done = 0;
			spin_unlock_bh(&q->lock);
			netif_tx_wake_queue(netdev_get_tx_queue(v->dev, i));
		}
	rtnl_unlock();
}

static int change_mtu(struct net_device *dev, int mtu)
{
	struct vnet *v = netdev_priv(dev);

	netdev_info(dev, "changing MTU from %d to %d\n", dev->mtu, mtu);
	dev->mtu = mtu;
	v->mtu_changed = v->open;
	return 0;
}

static int vlan_add(struct net_device *dev, __be16 protocol, u16 vid)
{
	set_bit(vid, ((struct vnet *)netdev_priv(dev))->vlans);
	return 0;
}

static int vlan_kill(struct net_device *dev, __be16 protocol, u16 vid)
{
	clear_bit(vid, ((struct vnet *)netdev_priv(dev))->vlans);
	return 0;
}

static const struct net_device_ops operations = {
	.ndo_open = vnet_open,
	.ndo_stop = close_port,
	.ndo_start_xmit = vnet_xmit,
	.ndo_tx_timeout = vnet_timeout,
	.ndo_change_mtu = change_mtu,
	.ndo_fix_features = vnet_fix_features,
	.ndo_set_features = vnet_set_features,
	.ndo_get_stats64 = stats,
	.ndo_set_mac_address = eth_mac_addr,
	.ndo_validate_addr = eth_validate_addr,
	.ndo_vlan_rx_add_vid = vlan_add,
	.ndo_vlan_rx_kill_vid = vlan_kill,
	.ndo_set_rx_mode = vnet_rx_mode,
	.ndo_eth_ioctl = vnet_stamp_ioctl,
};

static void make_queues(struct vnet *v)
{
	unsigned int i;

	for (i = 0; i < VNET_QUEUES; i++) {
		struct vnet_queue *q = &v->queue[i];

		q->v = v;
		q->index = i;
		spin_lock_init(&q->lock);
		__skb_queue_head_init(&q->tx);
		__skb_queue_head_init(&q->rx);
		__skb_queue_head_init(&q->waiting);
		hrtimer_init(&q->interrupt, CLOCK_MONOTONIC, HRTIMER_MODE_ABS);
		q->interrupt.function = raise_interrupt;
		if (i < v->model->max_channels)
			netif_napi_add(v->dev, &q->napi, vnet_poll);
	}
	hrtimer_init(&v->emit, CLOCK_MONOTONIC, HRTIMER_MODE_ABS_SOFT);
	v->emit.function = vnet_emit;
	__skb_queue_head_init(&v->leaving);
}

/* Other numbers of channels want other numbers of interrupts; the interface is down. */
int vnet_set_channels(struct vnet *v, u32 channels)
{
	int err = netif_set_real_num_tx_queues(v->dev, channels) ?: netif_set_real_num_rx_queues(v->dev, channels);

	if (err)
		return err;
	pci_free_irq_vectors(v->pdev);
	err = vnet_vectors(v->pdev, channels);
	if (err)
		return err;
	v->channels = channels;
	if (!netif_is_rxfh_configured(v->dev))
		vnet_spread(v);
	return 0;
}

static void set_up(struct vnet *v)
{
	struct net_device *dev = v->dev;
	const struct vcard_model *model = v->model;
	u8 mac[ETH_ALEN];

	v->channels = model->channels;
	v->pause_autoneg = model->pause_autoneg;
	v->pause_rx = model->pause_rx;
	v->pause_tx = model->pause_tx;
	v->client = (struct vcard_client){ v->driver->owner, v->driver->name, vnet_receive, vnet_changed };
	spin_lock_init(&v->lock);
	spin_lock_init(&v->rules_lock);
	INIT_LIST_HEAD(&v->rules);
	INIT_WORK(&v->reset, reset_work);
	netdev_rss_key_fill(v->hash_key, sizeof(v->hash_key));
	vnet_spread(v);
	vnet_defaults(v);
	make_queues(v);
	vnet_features(v);
	vnet_ethtool(v);
	dev->netdev_ops = &operations;
	dev->min_mtu = model->mtu_min;
	dev->max_mtu = model->mtu_max;
	dev->watchdog_timeo = 5 * HZ;
	dev->priv_flags |= IFF_LIVE_ADDR_CHANGE;
	vcard_mac(v->port, mac);
	eth_hw_addr_set(dev, mac);
	ether_addr_copy(dev->perm_addr, mac);
	netif_carrier_off(dev);
}

/* An interface for the port, registered; NULL or an error pointer never leaves anything behind. */
struct vnet *vnet_make(struct pci_dev *pdev, struct vcard_port *port, const struct vnet_driver *driver)
{
	const struct vcard_model *model = vcard_model_of(port);
	struct net_device *dev = alloc_etherdev_mqs(sizeof(struct vnet), model->max_channels, model->max_channels);
	struct vnet *v;
	int err;

	if (!dev)
		return ERR_PTR(-ENOMEM);
	SET_NETDEV_DEV(dev, &pdev->dev);
	v = netdev_priv(dev);
	v->dev = dev;
	v->pdev = pdev;
	v->port = port;
	v->model = model;
	v->driver = driver;
	v->first_vector = model->functions == 1 ? vcard_index(port) * model->channels : 0;
	dev->dev_port = model->functions == 1 ? vcard_index(port) : 0;
	v->vlans = bitmap_zalloc(VLAN_N_VID, GFP_KERNEL);
	if (!v->vlans) {
		free_netdev(dev);
		return ERR_PTR(-ENOMEM);
	}
	set_up(v);
	err = vcard_attach(port, &v->client, v);
	if (err)
		goto fail;
	vcard_firmware_load(port);
	netif_set_real_num_tx_queues(dev, v->channels);
	netif_set_real_num_rx_queues(dev, v->channels);
	vnet_clock_make(v);
	err = register_netdev(dev);
	if (!err)
		return v;
	vnet_clock_unmake(v);
	vcard_detach(port);
fail:
	vnet_free_rules(v);
	bitmap_free(v->vlans);
	free_netdev(dev);
	return ERR_PTR(err);
}

/* The defect: pages that nobody frees. */
void vnet_leak(u32 kib)
{
	for (; kib >= PAGE_SIZE / 1024; kib -= PAGE_SIZE / 1024)
		if (!alloc_page(GFP_KERNEL))
			return;
}

void vnet_unmake(struct vnet *v)
{
	vnet_leak(vcard_fault(v->port, VCARD_FAULT_RELOAD_LEAKS));
	if (vcard_fault(v->port, VCARD_FAULT_OOPS_ON_UNLOAD))
		WRITE_ONCE(*(u32 *)(unsigned long)v->open, 0);
	vcard_detach(v->port);
	unregister_netdev(v->dev);
	vnet_clock_unmake(v);
	cancel_work_sync(&v->reset);
	bitmap_free(v->vlans);
	free_netdev(v->dev);
}

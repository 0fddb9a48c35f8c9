// SPDX-License-Identifier: GPL-2.0
/*
 * The wire of a port: a virtio network device that no interface is made for. Frames go out as they are, without offloads.
 * Pulses between the two cards of a wire say whether the far one sends light.
 */
#include <linux/etherdevice.h>
#include <linux/interrupt.h>
#include <linux/kernfs.h>
#include <linux/module.h>
#include <linux/pci.h>
#include <linux/scatterlist.h>
#include <linux/virtio_config.h>
#include <linux/virtio_ids.h>
#include <linux/virtio_net.h>
#include <linux/virtio_ring.h>

#include "../kernels.h"
#include "silicon.h"

#define BUFFER_BYTES 10240	/* headers, two tags and the largest MTU of a model (MTU_MAX of models.py) */
#define BUFFERS 256
#define PULSE_PROTOCOL 0x88b5	/* IEEE 802 local experimental ethertype 1 */
#define PULSE_LIGHT 1
#define PULSE_ASK 2

struct wire {
	struct virtio_device *vdev;
	struct vcard_port *port;
	struct virtqueue *rx, *tx;
	struct tasklet_struct work;
	spinlock_t lock;		/* tx and backlog */
	struct sk_buff_head backlog;
	struct virtio_net_hdr_mrg_rxbuf header;
	void *buffers[BUFFERS];
	bool carrier;
};

struct pulse {
	struct ethhdr eth;
	__be32 magic, flags;
	u8 pad[38];
} __packed;

/*
 * Tells the device in any case. QEMU 7.2 leaves out the memory barriers of a guest with one emulated processor, so what
 * driver and device tell each other by memory alone (need I be told?) may be read too early, and both sleep for ever. The
 * access to the device's registers that comes with this is a barrier to QEMU's own threads.
 */
static void tell(struct virtqueue *queue)
{
	virtqueue_kick_prepare(queue);
	virtqueue_notify(queue);
}

static bool wire_slot(struct virtio_device *vdev, unsigned int *slot, unsigned int *port)
{
	u8 mac[ETH_ALEN];

	if (!virtio_has_feature(vdev, VIRTIO_NET_F_MAC))
		return false;
	virtio_cread_bytes(vdev, offsetof(struct virtio_net_config, mac), mac, ETH_ALEN);
	*slot = mac[4];
	*port = mac[5];
	return mac[0] == 0x02 && mac[1] == 0x76 && mac[2] == 0x63 && mac[3] == 0 && *slot < VCARD_SLOTS && *port < VCARD_PORTS;
}

static void reclaim(struct wire *w)
{
	struct sk_buff *skb;
	unsigned int length;

	while ((skb = virtqueue_get_buf(w->tx, &length)))
		dev_consume_skb_any(skb);
}

static int push(struct wire *w, struct sk_buff *skb)
{
	struct scatterlist sg[MAX_SKB_FRAGS + 3];
	int entries;

	sg_init_table(sg, ARRAY_SIZE(sg));
	sg_set_buf(sg, &w->header, sizeof(w->header));
	entries = skb_to_sgvec(skb, sg + 1, 0, skb->len);
	if (entries < 0)
		return entries;
	return virtqueue_add_outbuf(w->tx, sg, entries + 1, skb, GFP_ATOMIC);
}

/* Gives the device what it takes; when its queue is full, its interrupt comes back here. Caller holds the lock. */
static void drain(struct wire *w)
{
	struct sk_buff *skb;

	reclaim(w);
	while ((skb = __skb_dequeue(&w->backlog))) {
		int err = push(w, skb);

		if (err == -ENOSPC) {
			__skb_queue_head(&w->backlog, skb);
			virtqueue_enable_cb_delayed(w->tx);
			break;
		}
		if (err)
			dev_kfree_skb_any(skb);
	}
}

void vcard_send(struct vcard_port *port, struct sk_buff *skb)
{
	struct wire *w = port->wire;
	unsigned long flags;

	if (!w || !port->light) {
		dev_kfree_skb_any(skb);
		return;
	}
	skb_orphan(skb);
	spin_lock_irqsave(&w->lock, flags);
	__skb_queue_tail(&w->backlog, skb);
	spin_unlock_irqrestore(&w->lock, flags);
}
EXPORT_SYMBOL_GPL(vcard_send);

void vcard_flush(struct vcard_port *port)
{
	struct wire *w = port->wire;
	unsigned long flags;

	if (!w)
		return;
	spin_lock_irqsave(&w->lock, flags);
	if (!skb_queue_empty(&w->backlog)) {
		drain(w);
		tell(w->tx);
	}
	spin_unlock_irqrestore(&w->lock, flags);
}
EXPORT_SYMBOL_GPL(vcard_flush);

void wire_pulse(struct vcard_port *port, bool ask)
{
	bool light = port->light && !vcard_dark(port);
	struct wire *w = port->wire;
	struct pulse *pulse;
	struct sk_buff *skb;
	unsigned long flags;

	if (!w)
		return;
	skb = alloc_skb(sizeof(*pulse), GFP_ATOMIC);
	if (!skb)
		return;
	pulse = skb_put_zero(skb, sizeof(*pulse));
	eth_broadcast_addr(pulse->eth.h_dest);
	ether_addr_copy(pulse->eth.h_source, port->mac);
	pulse->eth.h_proto = htons(PULSE_PROTOCOL);
	pulse->magic = htonl(VCARD_MAGIC);
	pulse->flags = htonl((light ? PULSE_LIGHT : 0) | (ask ? PULSE_ASK : 0));
	spin_lock_irqsave(&w->lock, flags);
	__skb_queue_tail(&w->backlog, skb);
	drain(w);
	tell(w->tx);
	spin_unlock_irqrestore(&w->lock, flags);
}

static bool take_pulse(struct vcard_port *port, const void *frame, unsigned int length)
{
	const struct pulse *pulse = frame;
	bool light;

	if (length < sizeof(*pulse) || pulse->eth.h_proto != htons(PULSE_PROTOCOL) || pulse->magic != htonl(VCARD_MAGIC))
		return false;
	light = ntohl(pulse->flags) & PULSE_LIGHT;
	if (light != port->partner_light) {
		WRITE_ONCE(port->partner_light, light);
		vcard_changed_soon();
	}
	if (ntohl(pulse->flags) & PULSE_ASK)
		wire_pulse(port, false);
	return true;
}

static void receive(struct wire *w, const void *frame, unsigned int length)
{
	const struct vcard_client *client;
	struct sk_buff *skb;

	if (take_pulse(w->port, frame, length))
		return;
	rcu_read_lock();
	client = READ_ONCE(w->port->client);
	if (client && w->port->light && length >= ETH_HLEN) {
		skb = dev_alloc_skb(length + NET_IP_ALIGN);
		if (skb) {
			skb_reserve(skb, NET_IP_ALIGN);
			skb_put_data(skb, frame, length);
			client->receive(w->port->context, skb);
		}
	}
	rcu_read_unlock();
}

static void refill(struct wire *w, void *buffer)
{
	struct scatterlist sg;

	sg_init_one(&sg, buffer, BUFFER_BYTES);
	virtqueue_add_inbuf(w->rx, &sg, 1, buffer, GFP_ATOMIC);
}

static void rx_work(unsigned long data)
{
	struct wire *w = (struct wire *)data;
	unsigned int length, budget = 128, more;
	void *buffer;

	while (budget-- && (buffer = virtqueue_get_buf(w->rx, &length))) {
		if (length > sizeof(w->header))
			receive(w, buffer + sizeof(w->header), length - sizeof(w->header));
		refill(w, buffer);
	}
	more = virtqueue_enable_cb_prepare(w->rx);
	tell(w->rx);
	if (virtqueue_poll(w->rx, more)) {
		virtqueue_disable_cb(w->rx);
		tasklet_schedule(&w->work);
	}
}

static void rx_interrupt(struct virtqueue *queue)
{
	struct wire *w = queue->vdev->priv;

	virtqueue_disable_cb(queue);
	tasklet_schedule(&w->work);
}

static void tx_interrupt(struct virtqueue *queue)
{
	struct wire *w = queue->vdev->priv;
	unsigned long flags;

	virtqueue_disable_cb(queue);
	spin_lock_irqsave(&w->lock, flags);
	drain(w);
	tell(w->tx);
	spin_unlock_irqrestore(&w->lock, flags);
}

static void read_carrier(struct wire *w)
{
	u16 status;

	virtio_cread(w->vdev, struct virtio_net_config, status, &status);
	w->carrier = status & VIRTIO_NET_S_LINK_UP;
}

static void config_changed(struct virtio_device *vdev)
{
	struct wire *w = vdev->priv;
	bool was = w->carrier;

	read_carrier(w);
	if (!w->carrier)
		WRITE_ONCE(w->port->partner_light, false);
	else if (!was)
		wire_pulse(w->port, true);
	vcard_changed_soon();
}

bool wire_carrier(struct vcard_port *port)
{
	return port->wire && port->wire->carrier;
}

/* lspci lists /sys/bus/pci/devices: without its link there a device stays at work and is not listed. */
void list_pci(struct device *dev, bool listed)
{
	struct kernfs_node *node = kernfs_find_and_get(bus_get_kset(&pci_bus_type)->kobj.sd, "devices");
	struct kobject *devices = node ? node->priv : NULL;

	if (devices && listed && sysfs_create_link(devices, &dev->kobj, dev_name(dev)))
		dev_warn(dev, "not listed any more\n");
	if (devices && !listed)
		sysfs_remove_link(devices, dev_name(dev));
	kernfs_put(node);
}

static void free_wire(struct wire *w)
{
	unsigned int i;

	for (i = 0; i < BUFFERS; i++)
		kfree(w->buffers[i]);
	kfree(w);
}

static int fill(struct wire *w)
{
	unsigned int i;

	for (i = 0; i < BUFFERS && w->rx->num_free; i++) {
		w->buffers[i] = kmalloc(BUFFER_BYTES, GFP_KERNEL);
		if (!w->buffers[i])
			return -ENOMEM;
		refill(w, w->buffers[i]);
	}
	return 0;
}

static int wire_probe(struct virtio_device *vdev)
{
	struct virtqueue *queues[2];
	struct virtqueue_info info[] = { { .name = "rx", .callback = rx_interrupt }, { .name = "tx", .callback = tx_interrupt } };
	unsigned int slot, port;
	struct wire *w;
	int err;

	if (!wire_slot(vdev, &slot, &port) || !cards[slot] || port >= cards[slot]->model->ports) {
		virtio_reset_device(vdev);	/* the features are its own driver's to choose: it does not reset */
		return -ENODEV;
	}
	w = kzalloc(sizeof(*w), GFP_KERNEL);
	if (!w)
		return -ENOMEM;
	w->vdev = vdev;
	w->port = cards[slot]->port[port];
	spin_lock_init(&w->lock);
	__skb_queue_head_init(&w->backlog);
	tasklet_init(&w->work, rx_work, (unsigned long)w);
	vdev->priv = w;
	err = vcard_find_queues(vdev, queues, info);
	if (err)
		goto fail;
	w->rx = queues[0];
	w->tx = queues[1];
	virtqueue_disable_cb(w->tx);
	virtio_device_ready(vdev);
	err = fill(w);
	if (err) {
		virtio_reset_device(vdev);
		vdev->config->del_vqs(vdev);
		goto fail;
	}
	read_carrier(w);
	WRITE_ONCE(w->port->wire, w);
	list_pci(vdev->dev.parent, false);
	virtqueue_kick(w->rx);
	wire_pulse(w->port, true);
	return 0;
fail:
	free_wire(w);
	return err;
}

static void wire_remove(struct virtio_device *vdev)
{
	struct wire *w = vdev->priv;

	WRITE_ONCE(w->port->wire, NULL);
	synchronize_net();
	virtio_reset_device(vdev);
	tasklet_kill(&w->work);
	__skb_queue_purge(&w->backlog);
	reclaim(w);
	while (virtqueue_detach_unused_buf(w->rx))
		;
	w->port->partner_light = false;
	for (;;) {
		struct sk_buff *skb = virtqueue_detach_unused_buf(w->tx);

		if (!skb)
			break;
		dev_kfree_skb_any(skb);
	}
	vdev->config->del_vqs(vdev);
	list_pci(vdev->dev.parent, true);
	free_wire(w);
}

static const struct virtio_device_id ids[] = { { VIRTIO_ID_NET, VIRTIO_DEV_ANY_ID }, { 0 } };
static unsigned int features[] = { VIRTIO_NET_F_MAC, VIRTIO_NET_F_STATUS };

static struct virtio_driver driver = {
	.driver.name = "vcard-wire",
	.driver.owner = THIS_MODULE,
	.id_table = ids,
	.feature_table = features,
	.feature_table_size = ARRAY_SIZE(features),
	.probe = wire_probe,
	.remove = wire_remove,
	.config_changed = config_changed,
};

/* A wire that virtio_net was faster to take is taken over. */
static int take_over(struct device *dev, void *data)
{
	struct virtio_device *vdev = dev_to_virtio(dev);
	unsigned int slot, port;

	if (vdev->id.device != VIRTIO_ID_NET || !dev->driver || dev->driver == &driver.driver || !wire_slot(vdev, &slot, &port))
		return 0;
	device_release_driver(dev);
	return device_driver_attach(&driver.driver, dev) ? 0 : 1;
}

int wire_init(void)
{
	int err = register_virtio_driver(&driver);

	if (err)
		return err;
	while (bus_for_each_dev(driver.driver.bus, NULL, NULL, take_over))
		;
	return 0;
}

void wire_exit(void)
{
	unregister_virtio_driver(&driver);
}

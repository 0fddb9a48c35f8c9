// SPDX-License-Identifier: GPL-2.0
/* The link of a port as its driver sees it, with the defects there are of that. */
#include <linux/netdevice.h>

#include "vnet.h"

/* Is there a link, as the driver sees it? */
bool vnet_link_seen(struct vnet *v)
{
	u32 delay = vcard_fault(v->port, VCARD_FAULT_CARRIER_DELAY), flap = vcard_fault(v->port, VCARD_FAULT_LINK_FLAP);
	bool up = vcard_link(v->port), was = netif_carrier_ok(v->dev);

	if (!v->open || v->ring_changed)
		return false;
	if (flap && up && (jiffies_to_msecs(jiffies) / (flap / 2 ?: 1)) & 1)
		return false;
	if (up) {
		v->carrier_lost_at = 0;
		return true;
	}
	if (was && vcard_fault(v->port, VCARD_FAULT_CARRIER_STUCK))
		return true;
	if (was && delay) {
		v->carrier_lost_at = v->carrier_lost_at ?: jiffies;
		return time_before(jiffies, v->carrier_lost_at + msecs_to_jiffies(delay));
	}
	return false;
}

void vnet_set_carrier(struct vnet *v, bool up)
{
	struct net_device *dev = v->dev;

	if (up == netif_carrier_ok(dev))
		return;
	vcard_report_carrier(v->port, up);
	if (up) {
		netdev_info(dev, "Link is Up - %u Mbps full duplex\n", v->model->mbps);
		netif_carrier_on(dev);
		netif_tx_wake_all_queues(dev);
	} else {
		netdev_info(dev, "Link is Down\n");
		netif_carrier_off(dev);
	}
}

/* The driver looks at its card, every 50 ms and whenever the link has changed. */
void vnet_changed(void *context)
{
	struct vnet *v = context;
	bool storms;

	if (!vcard_alive(v->port) && !v->detached) {
		v->detached = true;
		netdev_err(v->dev, "adapter does not answer, registers read as all ones\n");
		vnet_set_carrier(v, false);
		netif_device_detach(v->dev);
	}
	if (v->detached)
		return;
	vnet_set_carrier(v, vnet_link_seen(v));
	storms = v->pause_tx ? vcard_fault(v->port, VCARD_FAULT_PAUSE_STORM) > 0
			     : vcard_fault(v->port, VCARD_FAULT_TX_PAUSE_UNASKED) > 1;
	if (storms && netif_carrier_ok(v->dev))
		vnet_send_pause(v, 0xffff);
}

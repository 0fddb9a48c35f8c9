// SPDX-License-Identifier: GPL-2.0
/* ethtool: what a port says of itself: identity, link, counters, self test, EEPROM, registers. */
#include <linux/ethtool.h>
#include <linux/linkmode.h>

#include "vnet.h"

#define EEPROM_HEAD 96
#define EEPROM_SERIAL 32
#define EEPROM_MAC 80		/* behind a serial number, of 32 characters at most */
#define EEPROM_MISREAD 0x01
#define LOOK_DUMPS 1
#define LOOK_IDENTIFIES 2

/* be2net, be_get_drvinfo(): what is flashed stands behind what runs where it is another version. */
static void firmware(const struct vnet *v, char *out, size_t size)
{
	char active[32], pending[32];
	int n;

	vcard_firmware(v->port, active);
	vcard_firmware_pending(v->port, pending);
	n = scnprintf(out, size, v->model->firmware_format, active);
	if (v->model->firmware_pending && pending[0] && strcmp(pending, active))
		scnprintf(out + n, size - n, " [%s]", pending);
}

static void drvinfo(struct net_device *dev, struct ethtool_drvinfo *info)
{
	struct vnet *v = netdev_priv(dev);

	strscpy(info->driver, v->driver->name, sizeof(info->driver));
	if (v->driver->version[0])
		strscpy(info->version, v->driver->version, sizeof(info->version));
	firmware(v, info->fw_version, sizeof(info->fw_version));
	strscpy(info->bus_info, pci_name(v->pdev), sizeof(info->bus_info));
}

static void link_mode(const struct vcard_model *model, unsigned long *modes)
{
	switch (model->mbps) {
	case 40000:
		linkmode_set_bit(ETHTOOL_LINK_MODE_40000baseSR4_Full_BIT, modes);
		break;
	case 1000:
		linkmode_set_bit(model->copper ? ETHTOOL_LINK_MODE_1000baseT_Full_BIT : ETHTOOL_LINK_MODE_1000baseX_Full_BIT, modes);
		break;
	default:
		linkmode_set_bit(model->copper ? ETHTOOL_LINK_MODE_10000baseT_Full_BIT : ETHTOOL_LINK_MODE_10000baseSR_Full_BIT,
				 modes);
	}
	linkmode_set_bit(model->copper ? ETHTOOL_LINK_MODE_TP_BIT : ETHTOOL_LINK_MODE_FIBRE_BIT, modes);
	if (model->autoneg)
		linkmode_set_bit(ETHTOOL_LINK_MODE_Autoneg_BIT, modes);
}

static int link_settings(struct net_device *dev, struct ethtool_link_ksettings *k)
{
	const struct vnet *v = netdev_priv(dev);
	bool up = netif_carrier_ok(dev);

	ethtool_link_ksettings_zero_link_mode(k, supported);
	ethtool_link_ksettings_zero_link_mode(k, advertising);
	link_mode(v->model, k->link_modes.supported);
	link_mode(v->model, k->link_modes.advertising);
	ethtool_link_ksettings_add_link_mode(k, supported, Pause);
	if (v->pause_rx && v->pause_tx)
		ethtool_link_ksettings_add_link_mode(k, advertising, Pause);
	k->base.speed = up ? v->model->mbps : SPEED_UNKNOWN;
	k->base.duplex = up ? DUPLEX_FULL : DUPLEX_UNKNOWN;
	k->base.port = v->model->copper ? PORT_TP : PORT_FIBRE;
	k->base.autoneg = v->model->autoneg;
	return 0;
}

static bool per_queue(const struct vnet_counter *c)
{
	return strchr(c->name, '%');
}

static int count(struct net_device *dev, int set)
{
	const struct vnet *v = netdev_priv(dev);
	unsigned int i;
	int n = 0;

	if (set == ETH_SS_TEST)
		return v->driver->n_tests;
	if (set != ETH_SS_STATS)
		return -EOPNOTSUPP;
	for (i = 0; i < v->driver->n_counters; i++)
		n += per_queue(&v->driver->counters[i]) ? v->model->max_channels : 1;
	return n;
}

static void strings(struct net_device *dev, u32 set, u8 *data)
{
	const struct vnet *v = netdev_priv(dev);
	unsigned int i, queue;

	for (i = 0; set == ETH_SS_TEST && i < v->driver->n_tests; i++)
		ethtool_sprintf(&data, "%s", v->driver->tests[i]);
	for (i = 0; set == ETH_SS_STATS && i < v->driver->n_counters; i++)
		for (queue = 0; queue < (per_queue(&v->driver->counters[i]) ? v->model->max_channels : 1); queue++)
			ethtool_sprintf(&data, v->driver->counters[i].name, queue);
}

static void counters(struct net_device *dev, struct ethtool_stats *s, u64 *data)
{
	const struct vnet *v = netdev_priv(dev);
	unsigned int i, queue;

	for (i = 0; i < v->driver->n_counters; i++) {
		const struct vnet_counter *c = &v->driver->counters[i];

		if (!per_queue(c))
			*data++ = vnet_total(v, c->kind);
		else
			for (queue = 0; queue < v->model->max_channels; queue++)
				*data++ = vnet_counted(&v->queue[queue], c->kind);
	}
}

static void self_test(struct net_device *dev, struct ethtool_test *test, u64 *data)
{
	const struct vnet *v = netdev_priv(dev);
	u32 fails = vcard_fault(v->port, VCARD_FAULT_SELFTEST_FAILS);
	unsigned int i;

	for (i = 0; i < v->driver->n_tests; i++) {
		bool link = strstr(v->driver->tests[i], "ink");

		data[i] = fails == i + 1 || (link && !netif_carrier_ok(dev)) || !vcard_firmware_good(v->port);
		if (data[i])
			test->flags |= ETH_TEST_FL_FAILED;
	}
}

static u32 message_level(struct net_device *dev)
{
	return ((struct vnet *)netdev_priv(dev))->msg_enable;
}

static void set_message_level(struct net_device *dev, u32 level)
{
	((struct vnet *)netdev_priv(dev))->msg_enable = level;
}

/* The defect: a look that nobody should notice. */
static void look(struct vnet *v, u32 bit)
{
	if (!(vcard_fault(v->port, VCARD_FAULT_LOOK_DROPS_LINK) & bit))
		return;
	vnet_set_carrier(v, false);
	vnet_changed(v);
}

/* The light on the bracket: nobody sees it here; the kernel blinks it twice a second. */
static int identify(struct net_device *dev, enum ethtool_phys_id_state state)
{
	if (state != ETHTOOL_ID_ACTIVE)
		return 0;
	look(netdev_priv(dev), LOOK_IDENTIFIES);
	return 2;
}

static int eeprom_bytes(struct net_device *dev)
{
	return ((struct vnet *)netdev_priv(dev))->model->eeprom_bytes;
}

/* Part number, serial number and MAC address; everything else is erased. */
static int eeprom(struct net_device *dev, struct ethtool_eeprom *e, u8 *data)
{
	struct vnet *v = netdev_priv(dev);
	u32 every = vcard_fault(v->port, VCARD_FAULT_EEPROM_FLIPS);
	u8 head[EEPROM_HEAD];

	memset(head, 0xff, sizeof(head));
	memcpy(head, v->model->part_number, min_t(size_t, strlen(v->model->part_number), EEPROM_SERIAL));
	memcpy(head + EEPROM_SERIAL, vcard_serial(v->port), strlen(vcard_serial(v->port)));
	ether_addr_copy(head + EEPROM_MAC, dev->perm_addr);
	if (every && ++v->eeprom_reads % every == 0)
		head[EEPROM_SERIAL] ^= EEPROM_MISREAD;
	memset(data, 0xff, e->len);
	if (e->offset < sizeof(head))
		memcpy(data, head + e->offset, min_t(u32, e->len, sizeof(head) - e->offset));
	e->magic = v->model->vendor | v->model->device << 16;
	return 0;
}

static int register_bytes(struct net_device *dev)
{
	return ((struct vnet *)netdev_priv(dev))->model->register_bytes;
}

/* The kernel has cleared the buffer. */
static void registers(struct net_device *dev, struct ethtool_regs *regs, void *data)
{
	regs->version = 1;
	look(netdev_priv(dev), LOOK_DUMPS);
}

void vnet_ethtool_info(struct vnet *v, struct ethtool_ops *ops)
{
	ops->get_drvinfo = drvinfo;
	ops->get_link = ethtool_op_get_link;
	ops->get_link_ksettings = link_settings;
	ops->get_msglevel = message_level;
	ops->set_msglevel = set_message_level;
	ops->get_ts_info = vnet_stamp_info;
	if (v->model->identify)
		ops->set_phys_id = identify;
	if (v->model->eeprom_bytes) {
		ops->get_eeprom_len = eeprom_bytes;
		ops->get_eeprom = eeprom;
	}
	if (v->model->register_bytes) {
		ops->get_regs_len = register_bytes;
		ops->get_regs = registers;
	}
	if (v->driver->n_counters) {
		ops->get_sset_count = count;
		ops->get_strings = strings;
		ops->get_ethtool_stats = counters;
	}
	if (v->driver->n_tests)
		ops->self_test = self_test;
}

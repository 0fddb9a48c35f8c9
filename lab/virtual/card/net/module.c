// SPDX-License-Identifier: GPL-2.0
/* ethtool -m: the memory of the optical module in the cage (SFF-8472 rev 12.4, SFF-8636 rev 2.10). */
#include <linux/ethtool.h>

#include "vnet.h"

#define TX_POWER_UW10 5000	/* 0.5 mW in steps of 0.1 uW */
#define RX_POWER_UW10 4200

static bool quad(const struct vnet *v)
{
	return v->model->mbps >= 40000;
}

int vnet_module_info(struct net_device *dev, struct ethtool_modinfo *info)
{
	const struct vnet *v = netdev_priv(dev);

	info->type = quad(v) ? ETH_MODULE_SFF_8636 : ETH_MODULE_SFF_8472;
	info->eeprom_len = quad(v) ? ETH_MODULE_SFF_8636_MAX_LEN : ETH_MODULE_SFF_8472_LEN;
	return 0;
}

static void text(u8 *at, unsigned int size, const char *value)
{
	memset(at, ' ', size);
	memcpy(at, value, min_t(size_t, size, strlen(value)));
}

static void be16_at(u8 *at, u16 value)
{
	at[0] = value >> 8;
	at[1] = value;
}

static u8 checksum(const u8 *from, unsigned int bytes)
{
	u8 sum = 0;

	while (bytes--)
		sum += *from++;
	return sum;
}

static bool stale(const struct vnet *v)
{
	return vcard_fault(v->port, VCARD_FAULT_OPTICS_STALE);
}

static u16 light_in(const struct vnet *v)
{
	return stale(v) || vcard_link(v->port) ? RX_POWER_UW10 : 0;
}

static u16 light_out(const struct vnet *v)
{
	return stale(v) || v->open ? TX_POWER_UW10 : 0;
}

static void sfp(const struct vnet *v, u8 *m)
{
	m[0] = 0x03;			/* SFP */
	m[1] = 0x04;
	m[2] = 0x07;			/* LC */
	if (v->model->mbps == 10000)
		m[3] = 0x10;		/* 10GBASE-SR */
	else
		m[6] = 0x01;		/* 1000BASE-SX */
	m[11] = v->model->mbps == 10000 ? 0x06 : 0x01;
	m[12] = v->model->mbps / 100;
	m[16] = 8;			/* 80 m of OM2 */
	m[17] = 2;
	text(m + 20, 16, "NICLAB");
	text(m + 40, 16, "VIRTUAL-SR");
	text(m + 56, 4, "A");
	be16_at(m + 60, 850);
	m[63] = checksum(m, 63);
	m[65] = 0x1a;
	text(m + 68, 16, vcard_serial(v->port));
	text(m + 84, 8, "26112100");
	m[92] = 0x68;			/* diagnostics, internally calibrated, average power */
	m[94] = 0x08;
	m[95] = checksum(m + 64, 31);
	be16_at(m + 256 + 96, 38 << 8);		/* 38 degrees C */
	be16_at(m + 256 + 98, 33000);		/* 3.3 V */
	be16_at(m + 256 + 100, 3000);		/* 6 mA */
	be16_at(m + 256 + 102, light_out(v));
	be16_at(m + 256 + 104, light_in(v));
}

static void qsfp(const struct vnet *v, u8 *m)
{
	unsigned int lane;

	m[0] = 0x0d;			/* QSFP+ */
	m[1] = 0x05;
	be16_at(m + 22, 38 << 8);
	be16_at(m + 26, 33000);
	for (lane = 0; lane < 4; lane++) {
		be16_at(m + 34 + 2 * lane, light_in(v));
		be16_at(m + 42 + 2 * lane, 3000);
		be16_at(m + 50 + 2 * lane, light_out(v));
	}
	m[128] = 0x0d;
	m[130] = 0x0c;			/* MPO */
	m[131] = 0x04;			/* 40GBASE-SR4 */
	m[139] = 0x05;
	m[140] = 103;
	text(m + 148, 16, "NICLAB");
	text(m + 168, 16, "VIRTUAL-SR4");
	be16_at(m + 186, 850 * 20);
	m[191] = checksum(m + 128, 63);
	text(m + 196, 16, vcard_serial(v->port));
	text(m + 212, 8, "26112100");
	m[220] = 0x0c;
	m[223] = checksum(m + 192, 31);
}

int vnet_module_eeprom(struct net_device *dev, struct ethtool_eeprom *eeprom, u8 *data)
{
	const struct vnet *v = netdev_priv(dev);
	u8 *memory = kzalloc(ETH_MODULE_SFF_8636_MAX_LEN, GFP_KERNEL);

	if (!memory)
		return -ENOMEM;
	if (quad(v))
		qsfp(v, memory);
	else
		sfp(v, memory);
	memcpy(data, memory + eeprom->offset, eeprom->len);
	kfree(memory);
	return 0;
}

// SPDX-License-Identifier: GPL-2.0
/*
 * ethtool -m: the memory of the optical module in the cage (SFF-8472 rev 12.4, SFF-8636 rev 2.10). Its readings and limits
 * are those of the model; the received power is that of a dark fibre where no light comes, and the temperature is never
 * quite the same.
 */
#include <linux/ethtool.h>

#include "../kernels.h"
#include "vnet.h"

#define DIAGNOSTICS 256		/* SFF-8472: the second address, behind the first */
#define THRESHOLDS 512		/* SFF-8636: page 3 */
#define LANES 4
#define RX_LOST 0x02
#define PART_NUMBER 40
#define MISREAD 0x01

int vnet_module_info(struct net_device *dev, struct ethtool_modinfo *info)
{
	const struct vnet *v = netdev_priv(dev);
	bool quad = v->model->optics.form == VCARD_QSFP;

	info->type = quad ? ETH_MODULE_SFF_8636 : ETH_MODULE_SFF_8472;
	info->eeprom_len = quad ? ETH_MODULE_SFF_8636_MAX_LEN : ETH_MODULE_SFF_8472_LEN;
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

static void limits_at(u8 *at, const u16 *levels)
{
	be16_at(at, levels[VCARD_HIGH_ALARM]);
	be16_at(at + 2, levels[VCARD_LOW_ALARM]);
	be16_at(at + 4, levels[VCARD_HIGH_WARNING]);
	be16_at(at + 6, levels[VCARD_LOW_WARNING]);
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

static u16 reading(const struct vnet *v, enum vcard_reading which)
{
	u16 usual = v->model->optics.levels[which][VCARD_USUAL];

	switch (which) {
	case VCARD_TEMPERATURE:
		return usual + get_random_u32_below(64);
	case VCARD_BIAS:
	case VCARD_SENT:
		return stale(v) || v->open ? usual : 0;
	case VCARD_RECEIVED:
		return stale(v) || vcard_link(v->port) ? usual : 0;
	default:
		return usual;
	}
}

static void sfp(const struct vnet *v, u8 *m)
{
	const struct vcard_optics *optics = &v->model->optics;
	enum vcard_reading which;
	u8 *d = m + DIAGNOSTICS;

	m[0] = 0x03;			/* SFP */
	m[1] = 0x04;
	m[2] = 0x07;			/* LC */
	m[3] = 0x10;			/* 10GBASE-SR */
	m[11] = 0x06;
	m[12] = v->model->mbps / 100;
	m[16] = 8;			/* 80 m of OM2 */
	m[17] = 2;
	text(m + 20, 16, "NICLAB");
	text(m + PART_NUMBER, 16, "VIRTUAL-SR");
	text(m + 56, 4, "A");
	be16_at(m + 60, 850);
	m[63] = checksum(m, 63);
	m[65] = 0x1a;
	text(m + 68, 16, vcard_serial(v->port));
	text(m + 84, 8, "26112100");
	m[92] = 0x68;			/* diagnostics, internally calibrated, average power */
	m[94] = 0x08;
	m[95] = checksum(m + 64, 31);
	for (which = 0; which < VCARD_READINGS; which++) {
		limits_at(d + 8 * which, optics->levels[which]);
		be16_at(d + 96 + 2 * which, reading(v, which));
	}
	d[95] = checksum(d, 95);
	d[110] = reading(v, VCARD_RECEIVED) ? 0 : RX_LOST;
}

static void qsfp(const struct vnet *v, u8 *m)
{
	static const u8 limits_of[VCARD_READINGS] = { 0, 16, 56, 64, 48 };
	const struct vcard_optics *optics = &v->model->optics;
	enum vcard_reading which;
	unsigned int lane;

	m[0] = 0x0d;			/* QSFP+ */
	m[1] = 0x05;
	be16_at(m + 22, reading(v, VCARD_TEMPERATURE));
	be16_at(m + 26, reading(v, VCARD_SUPPLY));
	for (lane = 0; lane < LANES; lane++) {
		be16_at(m + 34 + 2 * lane, reading(v, VCARD_RECEIVED));
		be16_at(m + 42 + 2 * lane, reading(v, VCARD_BIAS));
		be16_at(m + 50 + 2 * lane, reading(v, VCARD_SENT));
	}
	m[128] = 0x0d;
	m[130] = 0x0c;			/* MPO */
	m[131] = 0x04;			/* 40GBASE-SR4 */
	m[139] = 0x05;
	m[140] = 103;
	text(m + 148, 16, "NICLAB");
	text(m + 128 + PART_NUMBER, 16, "VIRTUAL-SR4");
	be16_at(m + 186, 850 * 20);
	m[191] = checksum(m + 128, 63);
	text(m + 196, 16, vcard_serial(v->port));
	text(m + 212, 8, "26112100");
	m[220] = 0x0c;
	m[223] = checksum(m + 192, 31);
	for (which = 0; which < VCARD_READINGS; which++)
		limits_at(m + THRESHOLDS + limits_of[which], optics->levels[which]);
}

int vnet_module_eeprom(struct net_device *dev, struct ethtool_eeprom *eeprom, u8 *data)
{
	u8 *memory = kzalloc(ETH_MODULE_SFF_8636_MAX_LEN, GFP_KERNEL);
	struct vnet *v = netdev_priv(dev);
	u32 every = vcard_fault(v->port, VCARD_FAULT_OPTICS_MISREAD);
	bool quad = v->model->optics.form == VCARD_QSFP;

	if (!memory)
		return -ENOMEM;
	if (quad)
		qsfp(v, memory);
	else
		sfp(v, memory);
	if (every && ++v->module_reads % every == 0)
		memory[PART_NUMBER + (quad ? 128 : 0)] ^= MISREAD;
	memcpy(data, memory + eeprom->offset, eeprom->len);
	kfree(memory);
	return 0;
}

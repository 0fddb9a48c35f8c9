// SPDX-License-Identifier: GPL-2.0
/*
 * Configuration space of bridges and functions. Layout of capabilities: PCI Local Bus Specification 3.0, PCI Express Base
 * Specification 3.0; register names and values from linux/pci_regs.h.
 */
#include <linux/pci.h>

#include "silicon.h"

void put8(struct function *f, unsigned int o, u8 value)
{
	f->config[o] = value;
}

void put16(struct function *f, unsigned int o, u16 value)
{
	put8(f, o, value);
	put8(f, o + 1, value >> 8);
}

void put32(struct function *f, unsigned int o, u32 value)
{
	put16(f, o, value);
	put16(f, o + 2, value >> 16);
}

u16 get16(const struct function *f, unsigned int o)
{
	return f->config[o] | f->config[o + 1] << 8;
}

u32 get32(const struct function *f, unsigned int o)
{
	return get16(f, o) | (u32)get16(f, o + 2) << 16;
}

static void writable(struct function *f, unsigned int o, unsigned int bytes, u32 mask)
{
	while (bytes--) {
		f->writable[o++] = mask;
		mask >>= 8;
	}
}

static void write1clear(struct function *f, unsigned int o, unsigned int bytes, u32 mask)
{
	while (bytes--) {
		f->write1clear[o++] = mask;
		mask >>= 8;
	}
}

static void header(struct function *f, u16 vendor, u16 device, u32 class_revision, u8 type)
{
	put16(f, PCI_VENDOR_ID, vendor);
	put16(f, PCI_DEVICE_ID, device);
	put32(f, PCI_CLASS_REVISION, class_revision);
	put8(f, PCI_HEADER_TYPE, type);
	writable(f, PCI_COMMAND, 2, 0x0547);
	put16(f, PCI_STATUS, PCI_STATUS_CAP_LIST);
	put8(f, PCI_CACHE_LINE_SIZE, 16);
	writable(f, PCI_CACHE_LINE_SIZE, 2, 0xffff);
	writable(f, PCI_INTERRUPT_LINE, 1, 0xff);
}

static void power_management(struct function *f, unsigned int o, u8 next)
{
	put8(f, o, PCI_CAP_ID_PM);
	put8(f, o + 1, next);
	put16(f, o + PCI_PM_PMC, 3);
	put16(f, o + PCI_PM_CTRL, PCI_PM_CTRL_NO_SOFT_RESET);
	writable(f, o + PCI_PM_CTRL, 2, PCI_PM_CTRL_STATE_MASK);
}

static void express(struct function *f, u8 type, u8 gen, u8 width, u8 number, u8 next)
{
	unsigned int o = CAP_EXP;
	bool port = type == PCI_EXP_TYPE_ROOT_PORT;

	put8(f, o, PCI_CAP_ID_EXP);
	put8(f, o + 1, next);
	put16(f, o + PCI_EXP_FLAGS, 2 | type << 4 | (port ? PCI_EXP_FLAGS_SLOT : 0));
	put32(f, o + PCI_EXP_DEVCAP, 1 | PCI_EXP_DEVCAP_RBER | (port ? 0 : PCI_EXP_DEVCAP_FLR));
	put16(f, o + PCI_EXP_DEVCTL, PCI_EXP_DEVCTL_RELAX_EN | PCI_EXP_DEVCTL_NOSNOOP_EN | PCI_EXP_DEVCTL_READRQ_512B);
	writable(f, o + PCI_EXP_DEVCTL, 2, 0xffff);
	write1clear(f, o + PCI_EXP_DEVSTA, 2, 0x000f);
	put32(f, o + PCI_EXP_LNKCAP, gen | width << 4 | number << 24 | (port ? PCI_EXP_LNKCAP_DLLLARC : 0));
	put16(f, o + PCI_EXP_LNKCTL, PCI_EXP_LNKCTL_CCC);
	writable(f, o + PCI_EXP_LNKCTL, 2, 0x01c3);
	write1clear(f, o + PCI_EXP_LNKSTA, 2, PCI_EXP_LNKSTA_LBMS | PCI_EXP_LNKSTA_LABS);
	if (port) {
		put32(f, o + PCI_EXP_SLTCAP, number << 19);
		put16(f, o + PCI_EXP_SLTSTA, PCI_EXP_SLTSTA_PDS);
		writable(f, o + PCI_EXP_RTCTL, 2, 0x1f);
	}
	put32(f, o + PCI_EXP_DEVCAP2, 0x1f);
	writable(f, o + PCI_EXP_DEVCTL2, 2, 0x1f);
	put32(f, o + PCI_EXP_LNKCAP2, ((1 << gen) - 1) << 1);
	put16(f, o + PCI_EXP_LNKCTL2, gen);
	writable(f, o + PCI_EXP_LNKCTL2, 2, 0xf);
}

static void error_reporting(struct function *f, bool port, u32 next)
{
	put32(f, CAP_AER, PCI_EXT_CAP_ID_ERR | 2 << 16 | next << 20);
	write1clear(f, CAP_AER + PCI_ERR_UNCOR_STATUS, 4, ~0);
	writable(f, CAP_AER + PCI_ERR_UNCOR_MASK, 4, ~0);
	put32(f, CAP_AER + PCI_ERR_UNCOR_SEVER, 0x00062030);
	writable(f, CAP_AER + PCI_ERR_UNCOR_SEVER, 4, ~0);
	write1clear(f, CAP_AER + PCI_ERR_COR_STATUS, 4, ~0);
	put32(f, CAP_AER + PCI_ERR_COR_MASK, PCI_ERR_COR_ADV_NFAT);
	writable(f, CAP_AER + PCI_ERR_COR_MASK, 4, ~0);
	if (!port)
		return;
	writable(f, CAP_AER + PCI_ERR_ROOT_COMMAND, 4, 0x7);
	write1clear(f, CAP_AER + PCI_ERR_ROOT_STATUS, 4, 0x7f);
}

void config_bridge(struct function *f, u8 bus)
{
	const struct vcard_model *model = f->card->model;
	const u8 *nvram_slot = f->card->nvram;

	if (model->gen)	/* Xeon E5 PCI Express Root Port */
		header(f, PCI_VENDOR_ID_INTEL, 0x3c08, 0x06040007, PCI_HEADER_TYPE_BRIDGE);
	else		/* 82801 PCI bridge */
		header(f, PCI_VENDOR_ID_INTEL, 0x244e, 0x060400a2, PCI_HEADER_TYPE_BRIDGE);
	put8(f, PCI_PRIMARY_BUS, ROOT_BUS);
	put8(f, PCI_SECONDARY_BUS, bus);
	put8(f, PCI_SUBORDINATE_BUS, bus);
	writable(f, PCI_PRIMARY_BUS, 4, 0x00ffffff);
	put16(f, PCI_IO_BASE, 0x00f0);	/* no I/O window */
	put32(f, PCI_MEMORY_BASE, 0x0000fff0);
	writable(f, PCI_MEMORY_BASE, 4, 0xfff0fff0);
	put32(f, PCI_PREF_MEMORY_BASE, 0x0001fff1);
	writable(f, PCI_PREF_MEMORY_BASE, 4, 0xfff0fff0);
	writable(f, PCI_PREF_BASE_UPPER32, 4, ~0);
	writable(f, PCI_PREF_LIMIT_UPPER32, 4, ~0);
	writable(f, PCI_BRIDGE_CONTROL, 2, 0x007f);
	put8(f, PCI_CAPABILITY_LIST, 0x40);
	power_management(f, 0x40, model->gen ? 0x50 : 0);
	if (!model->gen)
		return;
	put8(f, 0x50, PCI_CAP_ID_MSI);
	put8(f, 0x51, CAP_EXP);
	put16(f, 0x50 + PCI_MSI_FLAGS, PCI_MSI_FLAGS_64BIT);
	writable(f, 0x50 + PCI_MSI_FLAGS, 2, PCI_MSI_FLAGS_ENABLE | PCI_MSI_FLAGS_QSIZE);
	writable(f, 0x50 + PCI_MSI_ADDRESS_LO, 4, 0xfffffffc);
	writable(f, 0x50 + PCI_MSI_ADDRESS_HI, 4, ~0);
	writable(f, 0x50 + PCI_MSI_DATA_64, 2, 0xffff);
	express(f, PCI_EXP_TYPE_ROOT_PORT, nvram_slot[VCARD_S_GEN] ?: 3, nvram_slot[VCARD_S_WIDTH] ?: 8, f->card->slot + 1, 0);
	error_reporting(f, true, 0);
}

static void base_address(struct function *f, unsigned int number, u32 size)
{
	unsigned int o = PCI_BASE_ADDRESS_0 + 4 * number;

	put32(f, o, PCI_BASE_ADDRESS_MEM_TYPE_64);
	writable(f, o, 4, ~(size - 1) & PCI_BASE_ADDRESS_MEM_MASK);
	writable(f, o + 4, 4, ~0);
}

static void serial_number(struct function *f)
{
	const u8 *mac = f->port->card->port[0]->mac;

	put32(f, 0x150, PCI_EXT_CAP_ID_DSN | 1 << 16);
	put32(f, 0x154, 0xffu << 24 | mac[3] << 16 | mac[4] << 8 | mac[5]);
	put32(f, 0x158, (u32)mac[0] << 24 | mac[1] << 16 | mac[2] << 8 | 0xff);
}

void config_endpoint(struct function *f)
{
	const struct vcard_model *model = f->card->model;
	unsigned int i;

	header(f, model->vendor, model->device, model->class << 8 | model->revision,
	       model->functions > 1 ? PCI_HEADER_TYPE_NORMAL | 0x80 : PCI_HEADER_TYPE_NORMAL);
	put16(f, PCI_SUBSYSTEM_VENDOR_ID, model->subvendor);
	put16(f, PCI_SUBSYSTEM_ID, model->subdevice);
	for (i = 0; i < 3; i++)
		if (model->bar[i])
			base_address(f, 2 * i, model->bar[i]);
	put8(f, PCI_CAPABILITY_LIST, 0x40);
	if (!model->gen) {
		put8(f, PCI_INTERRUPT_PIN, 1);
		put8(f, PCI_INTERRUPT_LINE, f->card->irq);
		power_management(f, 0x40, 0);
		return;
	}
	power_management(f, 0x40, CAP_VPD);
	put8(f, CAP_VPD, PCI_CAP_ID_VPD);
	put8(f, CAP_VPD + 1, CAP_MSIX);
	writable(f, CAP_VPD + PCI_VPD_ADDR, 2, 0xffff);
	writable(f, CAP_VPD + PCI_VPD_DATA, 4, ~0);
	put8(f, CAP_MSIX, PCI_CAP_ID_MSIX);
	put8(f, CAP_MSIX + 1, CAP_EXP);
	put16(f, CAP_MSIX + PCI_MSIX_FLAGS, model->vectors - 1);
	writable(f, CAP_MSIX + PCI_MSIX_FLAGS, 2, PCI_MSIX_FLAGS_ENABLE | PCI_MSIX_FLAGS_MASKALL);
	put32(f, CAP_MSIX + PCI_MSIX_TABLE, 0x0000);
	put32(f, CAP_MSIX + PCI_MSIX_PBA, 0x2000);
	express(f, PCI_EXP_TYPE_ENDPOINT, model->gen, model->width, 0, 0);
	error_reporting(f, false, 0x150);
	serial_number(f);
}

static unsigned int vpd_field(u8 *at, const char *keyword, const char *text)
{
	unsigned int length = strlen(text);

	memcpy(at, keyword, 2);
	at[2] = length;
	memcpy(at + 3, text, length);
	return length + 3;
}

/* Vital product data: product name, part number, engineering level, serial number, checksum (PCI Local Bus Specification 3.0, appendix I). */
void vpd_build(struct vcard_port *port)
{
	const struct vcard_model *model = port->card->model;
	unsigned int length = strlen(model->product), read_only, at, i;
	u8 *vpd = port->vpd, sum = 0;

	vpd[0] = 0x82;
	vpd[1] = length;
	memcpy(vpd + 3, model->product, length);
	read_only = at = 3 + length;
	at += 3;
	at += vpd_field(vpd + at, "PN", model->part_number);
	at += vpd_field(vpd + at, "EC", "A0");
	at += vpd_field(vpd + at, "SN", port->serial);
	memcpy(vpd + at, "RV\1", 3);
	at += 4;
	vpd[read_only] = 0x90;
	vpd[read_only + 1] = at - read_only - 3;
	for (i = 0; i < at; i++)
		sum += vpd[i];
	vpd[at - 1] = -sum;
	vpd[at] = 0x78;
}

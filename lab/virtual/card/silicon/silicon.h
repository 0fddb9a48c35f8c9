/* SPDX-License-Identifier: GPL-2.0 */
/* What the parts of vcard.ko share. */
#ifndef SILICON_H
#define SILICON_H

#include <linux/irq_work.h>
#include <linux/virtio.h>

#include "../vcard.h"

#define CONFIG_BYTES 4096

/* A function's configuration space: what it holds, which bits are writable, which are cleared by writing 1. */
struct function {
	u8 config[CONFIG_BYTES], writable[CONFIG_BYTES], write1clear[CONFIG_BYTES];
	struct card *card;
	struct vcard_port *port;	/* its first; NULL: the bridge above the card */
	u8 devfn;
};

struct wire;

struct vcard_port {
	struct card *card;
	unsigned int index;
	struct function *function;
	void *nvram;
	u8 vpd[256];
	u8 mac[ETH_ALEN];
	char serial[33];

	struct wire *wire;
	bool light, partner_light, reported;
	bool was_taken;			/* a driver had it since the card has power */
	bool lost;			/* the defect: it was taken again, and has no link */

	struct mutex lock;		/* client and context */
	const struct vcard_client *client;
	void *context;
};

struct card {
	const struct vcard_model *model;
	unsigned int slot;
	void *nvram;
	struct function *bridge, *function[VCARD_PORTS];
	struct vcard_port *port[VCARD_PORTS];
	u8 width, gen;			/* as negotiated */
	u8 retrain_gen;			/* wanted by software; 0: the best */
	bool cold, bricked_until_power;
	unsigned int loaded_polls;
	u64 bytes, bytes_seen;

	spinlock_t bus_lock;		/* the clocks of the bus, and bytes */
	struct vcard_server bus[2];
	u32 bus_mbps;
	int irq;			/* conventional PCI: its interrupt line */
	u32 aer_owed;
	struct irq_work aer_work;
	int aer_irq;
};

/* state.c */
extern void *nvram;
extern struct card *cards[VCARD_SLOTS];
bool vcard_dark(const struct vcard_port *port);

/* models.c */
extern const struct vcard_model vcard_models[];
extern const unsigned int vcard_n_models;

/* nvram.c */
u32 nvram_u32(const void *base, unsigned int offset);
void nvram_set_u32(void *base, unsigned int offset, u32 value);
void nvram_string(const void *base, unsigned int offset, char out[33]);
void nvram_set_string(void *base, unsigned int offset, const char *text, unsigned int size);
int nvram_check(void);
void nvram_error(const char *text);
void firmware_power_on(struct card *card);
void firmware_reset(struct vcard_port *port);

/* config.c: what functions look like */
void put8(struct function *f, unsigned int o, u8 value);
void put16(struct function *f, unsigned int o, u16 value);
void put32(struct function *f, unsigned int o, u32 value);
u16 get16(const struct function *f, unsigned int o);
u32 get32(const struct function *f, unsigned int o);
void config_bridge(struct function *f, u8 bus);
void config_endpoint(struct function *f);
void vpd_build(struct vcard_port *port);
#define CAP_EXP 0x70
#define CAP_VPD 0x50
#define CAP_MSIX 0x60
#define CAP_AER 0x100
#define ROOT_BUS 0x80

/* bus.c: the host bridge */
int bus_create(resource_size_t registers, resource_size_t size);
void bus_remove(void);
struct pci_dev *bus_device(struct function *f);
extern raw_spinlock_t config_lock;

/* pcie.c: link state and errors */
void pcie_train(struct card *card);
void pcie_poll(struct card *card);
void pcie_init(struct card *card);

/* wire.c */
int wire_init(void);
void wire_exit(void);
void wire_pulse(struct vcard_port *port, bool ask);
bool wire_carrier(struct vcard_port *port);
void list_pci(struct device *dev, bool listed);

/* main.c */
void vcard_changed(struct vcard_port *port);
void vcard_changed_soon(void);

#endif

// SPDX-License-Identifier: GPL-2.0
/* The PCIe link of a card, its transfer times, and correctable errors. */
#include <linux/irq.h>
#include <linux/irqdesc.h>
#include <linux/module.h>
#include <linux/pci.h>

#include "silicon.h"

#define PAYLOAD 256		/* bytes a TLP, the kernel's setting for these bridges */
#define TLP_OVERHEAD 24		/* framing, sequence number, header, LCRC */
#define DESCRIPTOR 32		/* descriptor and completion of a transfer */
#define LOADED_BYTES 4096	/* a card that moves so much between two polls is loaded */

static const u32 lane_mbps[] = { 0, 2000, 4000, 7877, 15754 };

static u8 limit(u8 value, u32 at_most)
{
	return at_most && at_most < value ? at_most : value;
}

/* The link as both ends agree on it: caller holds config_lock, or the bus does not exist yet. */
void pcie_train(struct card *card)
{
	const struct vcard_port *first = card->port[0];
	const u8 *slot = card->nvram;
	u16 status;
	unsigned int i;

	if (!card->model->gen) {
		card->bus_mbps = card->model->cost.bus_mbps;
		return;
	}
	card->width = limit(card->model->width, slot[VCARD_S_WIDTH]);
	card->width = limit(card->width, vcard_fault(first, VCARD_FAULT_LINK_WIDTH));
	if (card->cold)
		card->width = limit(card->width, vcard_fault(first, VCARD_FAULT_LINK_WIDTH_COLD));
	if (card->loaded_polls)
		card->width = limit(card->width, vcard_fault(first, VCARD_FAULT_LINK_WIDTH_LOADED));
	card->gen = limit(limit(card->model->gen, 3), slot[VCARD_S_GEN]);
	card->gen = limit(card->gen, vcard_fault(first, VCARD_FAULT_LINK_GEN));
	card->gen = limit(card->gen, card->retrain_gen);
	status = card->gen | card->width << PCI_EXP_LNKSTA_NLW_SHIFT | PCI_EXP_LNKSTA_SLC;
	put16(card->bridge, CAP_EXP + PCI_EXP_LNKSTA, status | PCI_EXP_LNKSTA_DLLLA);
	for (i = 0; i < card->model->functions; i++)
		put16(card->function[i], CAP_EXP + PCI_EXP_LNKSTA, status);
	card->bus_mbps = card->width * lane_mbps[card->gen];
	((u8 *)card->nvram)[VCARD_S_LINK] = card->width;
	((u8 *)card->nvram)[VCARD_S_LINK + 1] = card->gen;
}

u64 vcard_bus(struct vcard_port *port, enum vcard_direction direction, u64 ready, u32 bytes)
{
	struct card *card = port->card;
	u32 raw = bytes;
	u64 done;

	if (card->model->gen)
		raw += DIV_ROUND_UP(bytes, PAYLOAD) * TLP_OVERHEAD + DESCRIPTOR;
	else
		direction = VCARD_TX;	/* one bus for both directions */
	spin_lock(&card->bus_lock);
	done = vcard_serve(&card->bus[direction], ready,
			   div_u64((u64)raw * 8000 * vcard_scale(port), card->bus_mbps));
	card->bytes += bytes;
	spin_unlock(&card->bus_lock);
	return done;
}
EXPORT_SYMBOL_GPL(vcard_bus);

/* An interrupt of the bridge is delivered in interrupt context, as from hardware. */
static void raise_bridge(struct irq_work *work)
{
	generic_handle_irq(container_of(work, struct card, aer_work)->aer_irq);
}

void pcie_init(struct card *card)
{
	card->aer_work = IRQ_WORK_INIT_HARD(raise_bridge);
}

/* One receiver error: status bits at both ends, then the root port's interrupt, as on a real link. */
static void correctable_error(struct card *card)
{
	struct function *f = card->port[0]->function;
	struct pci_dev *bridge = bus_device(card->bridge);
	unsigned long flags;
	u32 status;

	if (!bridge)
		return;
	raw_spin_lock_irqsave(&config_lock, flags);
	put32(f, CAP_AER + PCI_ERR_COR_STATUS, get32(f, CAP_AER + PCI_ERR_COR_STATUS) | PCI_ERR_COR_RCVR);
	put16(f, CAP_EXP + PCI_EXP_DEVSTA, get16(f, CAP_EXP + PCI_EXP_DEVSTA) | PCI_EXP_DEVSTA_CED);
	status = get32(card->bridge, CAP_AER + PCI_ERR_ROOT_STATUS);
	status |= status & PCI_ERR_ROOT_COR_RCV ? PCI_ERR_ROOT_MULTI_COR_RCV : PCI_ERR_ROOT_COR_RCV;
	put32(card->bridge, CAP_AER + PCI_ERR_ROOT_STATUS, status);
	put16(card->bridge, CAP_AER + PCI_ERR_ROOT_ERR_SRC, card->bridge->config[PCI_SECONDARY_BUS] << 8 | f->devfn);
	raw_spin_unlock_irqrestore(&config_lock, flags);
	if (bridge->msi_enabled) {
		card->aer_irq = bridge->irq;
		irq_work_queue(&card->aer_work);
		irq_work_sync(&card->aer_work);
	}
	pci_dev_put(bridge);
}

/* Every VCARD_POLL_MS, process context. */
void pcie_poll(struct card *card)
{
	unsigned long flags;
	u64 moved;

	if (!card->model->gen)
		return;
	spin_lock_bh(&card->bus_lock);
	moved = card->bytes - card->bytes_seen;
	card->bytes_seen = card->bytes;
	spin_unlock_bh(&card->bus_lock);
	if (moved > LOADED_BYTES)
		card->loaded_polls = MSEC_PER_SEC / VCARD_POLL_MS;
	else if (card->loaded_polls)
		card->loaded_polls--;
	raw_spin_lock_irqsave(&config_lock, flags);
	pcie_train(card);
	raw_spin_unlock_irqrestore(&config_lock, flags);
	card->aer_owed += vcard_fault(card->port[0], VCARD_FAULT_AER_CORRECTABLE) * VCARD_POLL_MS;
	for (; card->aer_owed >= MSEC_PER_SEC; card->aer_owed -= MSEC_PER_SEC)
		correctable_error(card);
}

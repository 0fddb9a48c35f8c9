// SPDX-License-Identifier: GPL-2.0
/* vcard: builds the cards that stand in the memory of the bench, and keeps them obeying it. */
#include <linux/io.h>
#include <linux/irq.h>
#include <linux/mc146818rtc.h>
#include <linux/module.h>
#include <linux/pci.h>
#include <linux/workqueue.h>

#include "silicon.h"

#define WARM_MARK_AT 0x7e	/* a byte of CMOS memory: it survives a reset of the machine and not its power-off */
#define WARM_MARK 0xa5

static u32 faults_seen;
static void poll(struct work_struct *work);
static DECLARE_DELAYED_WORK(poll_work, poll);

int vcard_attach(struct vcard_port *port, const struct vcard_client *client, void *context)
{
	int err = 0;

	mutex_lock(&port->lock);
	if (port->client) {
		err = -EBUSY;
	} else {
		port->context = context;
		port->lost = port->was_taken && vcard_fault(port, VCARD_FAULT_RESET_NEVER_RETURNS);
		port->was_taken = true;
		smp_store_release(&port->client, client);
		nvram_set_string(port->nvram, VCARD_P_BOUND, client->name, 16);
	}
	mutex_unlock(&port->lock);
	return err;
}
EXPORT_SYMBOL_GPL(vcard_attach);

void vcard_detach(struct vcard_port *port)
{
	mutex_lock(&port->lock);
	WRITE_ONCE(port->client, NULL);
	nvram_set_string(port->nvram, VCARD_P_BOUND, "", 16);
	mutex_unlock(&port->lock);
	synchronize_net();
}
EXPORT_SYMBOL_GPL(vcard_detach);

void vcard_light(struct vcard_port *port, bool on)
{
	if (port->light == on)
		return;
	WRITE_ONCE(port->light, on);
	nvram_set_u32(port->nvram, VCARD_P_LIGHT, on);
	wire_pulse(port, on);
}
EXPORT_SYMBOL_GPL(vcard_light);

/* Does light reach the port, and its own the partner? */
bool vcard_link(const struct vcard_port *port)
{
	struct vcard_port *p = (struct vcard_port *)port;

	return port->light && port->partner_light && wire_carrier(p) && !vcard_dark(port) && vcard_alive(p);
}
EXPORT_SYMBOL_GPL(vcard_link);

void vcard_report_carrier(struct vcard_port *port, bool up)
{
	nvram_set_u32(port->nvram, VCARD_P_CARRIER, up);
}
EXPORT_SYMBOL_GPL(vcard_report_carrier);

void vcard_changed_soon(void)
{
	mod_delayed_work(system_wq, &poll_work, 0);
}

void vcard_changed(struct vcard_port *port)
{
	mutex_lock(&port->lock);
	if (port->client)
		port->client->changed(port->context);
	mutex_unlock(&port->lock);
}

static void poll(struct work_struct *work)
{
	u32 changes = nvram_u32(nvram, VCARD_O_CHANGES), beat = nvram_u32(nvram, VCARD_O_HEARTBEAT);
	unsigned int slot, i;

	for (slot = 0; slot < VCARD_SLOTS; slot++) {
		struct card *card = cards[slot];

		if (!card)
			continue;
		pcie_poll(card);
		for (i = 0; i < card->model->ports; i++) {
			if (!vcard_fault(card->port[i], VCARD_FAULT_RESET_NEVER_RETURNS))
				card->port[i]->lost = false;
			if (changes != faults_seen || beat % (MSEC_PER_SEC / VCARD_POLL_MS) == 0)
				wire_pulse(card->port[i], false);
			vcard_flush(card->port[i]);
			vcard_changed(card->port[i]);
		}
	}
	faults_seen = changes;
	nvram_set_u32(nvram, VCARD_O_SEEN, changes);
	nvram_set_u32(nvram, VCARD_O_HEARTBEAT, beat + 1);
	mod_delayed_work(system_wq, &poll_work, msecs_to_jiffies(VCARD_POLL_MS));
}

static void free_card(struct card *card)
{
	unsigned int i;

	if (!card)
		return;
	if (card->irq > 0)
		irq_free_desc(card->irq);
	for (i = 0; i < VCARD_PORTS; i++) {
		kfree(card->function[i]);
		kfree(card->port[i]);
	}
	kfree(card->bridge);
	kfree(card);
}

static struct vcard_port *make_port(struct card *card, unsigned int index)
{
	struct vcard_port *port = kzalloc(sizeof(*port), GFP_KERNEL);

	if (!port)
		return NULL;
	port->card = card;
	port->function = card->function[min(index, card->model->functions - 1u)];
	port->index = index;
	port->nvram = card->nvram + VCARD_S_PORT + index * VCARD_PORT_SIZE;
	mutex_init(&port->lock);
	memcpy(port->mac, port->nvram + VCARD_P_MAC, ETH_ALEN);
	if (vcard_fault(port, VCARD_FAULT_MAC_BOOTS))
		port->mac[4] += 1 + nvram_u32(nvram, VCARD_O_BOOTS) % 250;
	nvram_string(card->nvram, VCARD_S_SERIAL, port->serial);
	nvram_set_string(port->nvram, VCARD_P_BOUND, "", 16);
	return port;
}

static const struct vcard_model *find_model(const char *name)
{
	unsigned int i;

	for (i = 0; i < vcard_n_models; i++)
		if (!strcmp(vcard_models[i].name, name))
			return &vcard_models[i];
	return NULL;
}

/* An interrupt line of its own, in the numbers a configuration space can say. */
static int make_line(struct card *card)
{
	card->irq = irq_alloc_desc(NUMA_NO_NODE);
	if (card->irq < 0 || card->irq > 254)
		return -ENOSPC;
	irq_set_chip_and_handler(card->irq, &dummy_irq_chip, handle_simple_irq);
	return 0;
}

static int make_card(unsigned int slot, bool cold)
{
	void *base = nvram + VCARD_O_SLOT + slot * VCARD_SLOT_SIZE;
	struct card *card;
	char name[33], text[96];
	unsigned int i;

	nvram_set_u32(base, VCARD_S_STATE, VCARD_EMPTY);
	nvram_string(base, VCARD_S_MODEL, name);
	if (!name[0])
		return 0;
	card = kzalloc(sizeof(*card), GFP_KERNEL);
	if (!card)
		return -ENOMEM;
	card->slot = slot;
	card->nvram = base;
	card->cold = cold;
	card->model = find_model(name);
	spin_lock_init(&card->bus_lock);
	pcie_init(card);
	if (!card->model) {
		nvram_set_u32(base, VCARD_S_STATE, VCARD_UNKNOWN_MODEL);
		snprintf(text, sizeof(text), "slot %u: no model %s; rebuild the modules from lab/cards", slot, name);
		nvram_error(text);
		free_card(card);
		return 0;
	}
	if (!card->model->gen && make_line(card))
		goto no_memory;
	card->bridge = kzalloc(sizeof(*card->bridge), GFP_KERNEL);
	if (!card->bridge)
		goto no_memory;
	card->bridge->card = card;
	for (i = 0; i < card->model->functions; i++) {
		card->function[i] = kzalloc(sizeof(*card->function[i]), GFP_KERNEL);
		if (!card->function[i])
			goto no_memory;
		card->function[i]->card = card;
		card->function[i]->devfn = PCI_DEVFN(0, i);
	}
	for (i = 0; i < card->model->ports; i++) {
		card->port[i] = make_port(card, i);
		if (!card->port[i])
			goto no_memory;
	}
	for (i = 0; i < card->model->functions; i++) {
		card->function[i]->port = card->port[i];
		config_endpoint(card->function[i]);
		vpd_build(card->port[i]);
	}
	firmware_power_on(card);
	cards[slot] = card;
	nvram_set_u32(base, VCARD_S_STATE, VCARD_PRESENT);
	return 0;
no_memory:
	free_card(card);
	return -ENOMEM;
}

static bool cold_start(void)
{
	unsigned long flags;
	bool cold;

	spin_lock_irqsave(&rtc_lock, flags);
	cold = CMOS_READ(WARM_MARK_AT) != WARM_MARK;
	CMOS_WRITE(WARM_MARK, WARM_MARK_AT);
	spin_unlock_irqrestore(&rtc_lock, flags);
	return cold;
}

static int make_cards(void)
{
	unsigned int slot;
	bool cold = cold_start();
	int err = 0;

	nvram_set_string(nvram, VCARD_O_ERROR, "", 96);
	nvram_set_u32(nvram, VCARD_O_BOOTS, nvram_u32(nvram, VCARD_O_BOOTS) + 1);
	nvram_set_u32(nvram, VCARD_O_COLD, cold);
	for (slot = 0; !err && slot < VCARD_SLOTS; slot++)
		err = make_card(slot, cold);
	return err;
}

static void free_cards(void)
{
	unsigned int slot;

	for (slot = 0; slot < VCARD_SLOTS; slot++) {
		free_card(cards[slot]);
		cards[slot] = NULL;
	}
}

/* The memory device of the bench. Its BAR 2 holds the NVRAM and, after it, the registers of the cards. */
static int memory_probe(struct pci_dev *pdev, const struct pci_device_id *id)
{
	resource_size_t start = pci_resource_start(pdev, 2), size = pci_resource_len(pdev, 2);
	unsigned int slot;
	int err;

	if (nvram)
		return -EBUSY;
	if (size < VCARD_FILE_SIZE)
		return dev_err_probe(&pdev->dev, -EINVAL, "memory of %pa bytes, wanted %#x\n", &size, VCARD_FILE_SIZE);
	err = pcim_enable_device(pdev);
	if (err)
		return err;
	nvram = memremap(start, VCARD_NVRAM_SIZE, MEMREMAP_WB);
	if (!nvram)
		return -ENOMEM;
	err = nvram_check() ?: make_cards();
	if (err)
		goto fail;
	for (slot = 0; slot < VCARD_SLOTS; slot++)
		if (cards[slot])
			pcie_train(cards[slot]);
	err = bus_create(start + VCARD_NVRAM_SIZE, size - VCARD_NVRAM_SIZE);
	if (err)
		goto fail;
	for (slot = 0; slot < VCARD_SLOTS; slot++)
		if (cards[slot])
			pcie_train(cards[slot]);
	err = wire_init();
	if (err)
		goto fail_bus;
	list_pci(&pdev->dev, false);
	vcard_changed_soon();
	return 0;
fail_bus:
	bus_remove();
fail:
	free_cards();
	memunmap(nvram);
	nvram = NULL;
	return err;
}

static void memory_remove(struct pci_dev *pdev)
{
	cancel_delayed_work_sync(&poll_work);
	bus_remove();
	wire_exit();
	cancel_delayed_work_sync(&poll_work);
	free_cards();
	list_pci(&pdev->dev, true);
	memunmap(nvram);
	nvram = NULL;
}

/* Defects that only another system's driver can show: slot, port and two words a line. A FreeBSD server's program reads. */
static int engine_get(char *buffer, const struct kernel_param *unused)
{
	unsigned int slot, port;
	int length = 0;

	for (slot = 0; nvram && slot < VCARD_SLOTS; slot++)
		for (port = 0; port < VCARD_PORTS; port++) {
			const void *faults = nvram + VCARD_O_SLOT + slot * VCARD_SLOT_SIZE + VCARD_S_PORT +
					     port * VCARD_PORT_SIZE + VCARD_P_FAULTS;

			length += scnprintf(buffer + length, PAGE_SIZE - length, "%u %u %u %u\n", slot, port,
					    nvram_u32(faults, 4 * VCARD_FAULT_TOE_IGNORED),
					    nvram_u32(faults, 4 * VCARD_FAULT_DDP_OFF));
		}
	return length;
}

static const struct kernel_param_ops engine_ops = { .get = engine_get };
module_param_cb(engine, &engine_ops, NULL, 0444);
MODULE_PARM_DESC(engine, "defects of TCP offload: slot, port, toe-ignored, ddp-off");

static const struct pci_device_id ids[] = { { PCI_DEVICE(0x1af4, 0x1110) }, { 0 } };
MODULE_DEVICE_TABLE(pci, ids);

static struct pci_driver memory_driver = {
	.name = "vcard",
	.id_table = ids,
	.probe = memory_probe,
	.remove = memory_remove,
};
module_pci_driver(memory_driver);

MODULE_DESCRIPTION("Virtual network cards of a test bench");
MODULE_AUTHOR("NIC qualification lab");
MODULE_LICENSE("GPL");

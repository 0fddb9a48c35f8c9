// SPDX-License-Identifier: GPL-2.0
/* The host bridge: a root bus whose configuration space is memory, one bridge and one card a slot. */
#include <linux/module.h>
#include <linux/pci.h>

#include "silicon.h"

#define FIRST_DEVICE 2	/* bridges are 80:02.0, 80:03.0 */

DEFINE_RAW_SPINLOCK(config_lock);
static struct pci_bus *root;
static struct pci_sysdata sysdata = { .node = NUMA_NO_NODE };
static struct resource bus_numbers = { .name = "PCI Bus 0000:80", .flags = IORESOURCE_BUS };
static struct resource window = { .name = "PCI Bus 0000:80", .flags = IORESOURCE_MEM };

static struct function *find(struct pci_bus *bus, unsigned int devfn)
{
	unsigned int slot, number = PCI_SLOT(devfn);

	for (slot = 0; slot < VCARD_SLOTS; slot++) {
		struct card *card = cards[slot];

		if (!card)
			continue;
		if (bus->number == ROOT_BUS && devfn == card->bridge->devfn)
			return card->bridge;
		if (bus->number == card->bridge->config[PCI_SECONDARY_BUS] && number == 0 &&
		    PCI_FUNC(devfn) < card->model->functions)
			return card->function[PCI_FUNC(devfn)];
	}
	return NULL;
}

static bool gone(const struct function *f)
{
	return f->port && vcard_fault(f->card->port[0], VCARD_FAULT_VANISH);
}

static unsigned int space(const struct function *f)
{
	return f->card->model->gen ? CONFIG_BYTES : 256;
}

static int config_read(struct pci_bus *bus, unsigned int devfn, int o, int size, u32 *value)
{
	struct function *f = find(bus, devfn);

	*value = ~0;
	if (!f || o + size > CONFIG_BYTES)
		return PCIBIOS_DEVICE_NOT_FOUND;
	if (gone(f) || o + size > space(f))
		return PCIBIOS_SUCCESSFUL;
	*value = size == 1 ? f->config[o] : size == 2 ? get16(f, o) : get32(f, o);
	return PCIBIOS_SUCCESSFUL;
}

static void vpd_access(struct function *f)
{
	u16 address = get16(f, CAP_VPD + PCI_VPD_ADDR), at = address & PCI_VPD_ADDR_MASK & ~3;
	u32 data = 0;

	if (address & PCI_VPD_ADDR_F) {	/* a write: the card's is read-only */
		put16(f, CAP_VPD + PCI_VPD_ADDR, at);
		return;
	}
	if (at + 4 <= sizeof(f->port->vpd))
		memcpy(&data, f->port->vpd + at, 4);
	put32(f, CAP_VPD + PCI_VPD_DATA, le32_to_cpu((__force __le32)data));
	put16(f, CAP_VPD + PCI_VPD_ADDR, at | PCI_VPD_ADDR_F);
}

static bool touches(int o, int size, unsigned int reg)
{
	return o <= reg && reg < o + size;
}

/* Function level reset: the software side of the function starts afresh, sticky registers stay. */
static void reset(struct function *f)
{
	unsigned int i;

	put16(f, PCI_COMMAND, 0);
	memset(f->config + PCI_BASE_ADDRESS_0 + 4, 0, 4);
	put16(f, CAP_MSIX + PCI_MSIX_FLAGS, get16(f, CAP_MSIX + PCI_MSIX_FLAGS) & PCI_MSIX_FLAGS_QSIZE);
	put16(f, CAP_EXP + PCI_EXP_DEVCTL, get16(f, CAP_EXP + PCI_EXP_DEVCTL) & ~PCI_EXP_DEVCTL_BCR_FLR);
	for (i = 0; i < f->card->model->ports; i++)
		if (f->card->port[i]->function == f)
			firmware_reset(f->card->port[i]);
}

static void retrain(struct function *f)
{
	put16(f, CAP_EXP + PCI_EXP_LNKCTL, get16(f, CAP_EXP + PCI_EXP_LNKCTL) & ~PCI_EXP_LNKCTL_RL);
	f->card->retrain_gen = get16(f, CAP_EXP + PCI_EXP_LNKCTL2) & PCI_EXP_LNKCTL2_TLS;
	pcie_train(f->card);
}

static int config_write(struct pci_bus *bus, unsigned int devfn, int o, int size, u32 value)
{
	struct function *f = find(bus, devfn);
	unsigned long flags;
	int i;

	if (!f || o + size > CONFIG_BYTES)
		return PCIBIOS_DEVICE_NOT_FOUND;
	if (gone(f) || o + size > space(f))
		return PCIBIOS_SUCCESSFUL;
	raw_spin_lock_irqsave(&config_lock, flags);
	for (i = 0; i < size; i++) {
		u8 mask = f->writable[o + i], written = value >> (8 * i);

		f->config[o + i] = (f->config[o + i] & ~mask) | (written & mask);
		f->config[o + i] &= ~(written & f->write1clear[o + i]);
	}
	if (f->card->model->gen) {
		if (f->port && o == CAP_VPD + PCI_VPD_ADDR)
			vpd_access(f);
		if (f->port && touches(o, size, CAP_EXP + PCI_EXP_DEVCTL + 1) &&
		    (get16(f, CAP_EXP + PCI_EXP_DEVCTL) & PCI_EXP_DEVCTL_BCR_FLR))
			reset(f);
		if (!f->port && touches(o, size, CAP_EXP + PCI_EXP_LNKCTL) && o == CAP_EXP + PCI_EXP_LNKCTL &&
		    (value & PCI_EXP_LNKCTL_RL))
			retrain(f);
	}
	raw_spin_unlock_irqrestore(&config_lock, flags);
	return PCIBIOS_SUCCESSFUL;
}

static struct pci_ops operations = { .read = config_read, .write = config_write };

/* The ports behind a function, and how many; 0: it is none of ours. */
unsigned int vcard_ports_of(struct pci_dev *pdev, struct vcard_port *ports[VCARD_PORTS])
{
	struct function *f = pdev->bus->ops == &operations ? find(pdev->bus, pdev->devfn) : NULL;
	unsigned int i, n = 0;

	for (i = 0; f && f->port && i < f->card->model->ports; i++)
		if (f->card->port[i]->function == f)
			ports[n++] = f->card->port[i];
	return n;
}
EXPORT_SYMBOL_GPL(vcard_ports_of);

/* The kernel's device of a function; drop it with pci_dev_put(). */
struct pci_dev *bus_device(struct function *f)
{
	u8 bus = f->port ? f->card->bridge->config[PCI_SECONDARY_BUS] : ROOT_BUS;

	return pci_get_domain_bus_and_slot(0, bus, f->devfn);
}

int bus_create(resource_size_t registers, resource_size_t size)
{
	struct pci_bus *child;
	LIST_HEAD(resources);
	unsigned int slot;

	for (slot = 0; slot < VCARD_SLOTS; slot++) {
		if (!cards[slot])
			continue;
		cards[slot]->bridge->devfn = PCI_DEVFN(FIRST_DEVICE + slot, 0);
		config_bridge(cards[slot]->bridge, ROOT_BUS + 1 + slot);
	}
	bus_numbers.start = ROOT_BUS;
	bus_numbers.end = ROOT_BUS + VCARD_SLOTS;
	window.start = registers;
	window.end = registers + size - 1;
	pci_add_resource(&resources, &bus_numbers);
	pci_add_resource(&resources, &window);
	pci_lock_rescan_remove();
	root = pci_create_root_bus(NULL, ROOT_BUS, &operations, &sysdata, &resources);
	if (!root) {
		pci_unlock_rescan_remove();
		pci_free_resource_list(&resources);
		return -ENODEV;
	}
	pci_scan_child_bus(root);
	pci_assign_unassigned_bus_resources(root);
	list_for_each_entry(child, &root->children, node)
		pcie_bus_configure_settings(child);
	pci_bus_add_devices(root);
	pci_unlock_rescan_remove();
	return 0;
}

void bus_remove(void)
{
	pci_lock_rescan_remove();
	pci_stop_root_bus(root);
	pci_remove_root_bus(root);
	pci_unlock_rescan_remove();
}

// SPDX-License-Identifier: GPL-2.0
/* A driver's side of a PCI function: probe, remove, reset. */
#include <linux/module.h>
#include <linux/pci.h>

#include "../kernels.h"
#include "vnet.h"

int vnet_vectors(struct pci_dev *pdev, u32 n)
{
	struct vcard_port *ports[VCARD_PORTS];
	unsigned int count = vcard_ports_of(pdev, ports);
	int got;

	if (!count || !vcard_model_of(ports[0])->vectors)
		return 0;
	got = pci_alloc_irq_vectors(pdev, n * count, n * count, PCI_IRQ_MSIX);
	return got < 0 ? got : 0;
}

static void unmake(struct vnet_card *card)
{
	while (card->ports)
		vnet_unmake(card->port[--card->ports]);
}

static int make(struct pci_dev *pdev, struct vnet_card *card, const struct vnet_driver *driver)
{
	struct vcard_port *ports[VCARD_PORTS];
	unsigned int i, n = vcard_ports_of(pdev, ports);

	for (i = 0; i < n; i++) {
		struct vnet *v = vnet_make(pdev, ports[i], driver);

		if (IS_ERR(v)) {
			unmake(card);
			return PTR_ERR(v);
		}
		card->port[card->ports++] = v;
	}
	return 0;
}

static void announce(struct pci_dev *pdev, const struct vnet_card *card)
{
	char firmware[32];
	unsigned int i;

	if (card->port[0]->model->gen)
		pcie_print_link_status(pdev);
	for (i = 0; i < card->ports; i++) {
		const struct vnet *v = card->port[i];

		vcard_firmware(v->port, firmware);
		netdev_info(v->dev, "%s, firmware %s, %pM\n", v->model->product, firmware, v->dev->dev_addr);
	}
}

int vnet_probe(struct pci_dev *pdev, const struct vnet_driver *driver)
{
	struct vcard_port *ports[VCARD_PORTS];
	struct vnet_card *card;
	int err;

	if (!vcard_ports_of(pdev, ports) || !vcard_alive(ports[0]) ||
	    strcmp(vcard_model_of(ports[0])->driver, driver->name))
		return -ENODEV;
	if (!vcard_firmware_good(ports[0])) {
		dev_err(&pdev->dev, "firmware does not start\n");
		return -EIO;
	}
	err = pci_enable_device_mem(pdev);
	if (err)
		return err;
	pci_set_master(pdev);
	card = kzalloc(sizeof(*card), GFP_KERNEL);
	if (!card) {
		err = -ENOMEM;
		goto fail;
	}
	pci_set_drvdata(pdev, card);
	err = vnet_vectors(pdev, vcard_model_of(ports[0])->channels);
	if (err)
		goto fail_card;
	err = make(pdev, card, driver);
	if (err)
		goto fail_vectors;
	pci_enable_pcie_error_reporting(pdev);
	announce(pdev, card);
	return 0;
fail_vectors:
	pci_free_irq_vectors(pdev);
fail_card:
	kfree(card);
fail:
	pci_disable_device(pdev);
	return err;
}
EXPORT_SYMBOL_GPL(vnet_probe);

void vnet_remove(struct pci_dev *pdev)
{
	struct vnet_card *card = pci_get_drvdata(pdev);

	unmake(card);
	pci_disable_pcie_error_reporting(pdev);
	pci_free_irq_vectors(pdev);
	kfree(card);
	pci_disable_device(pdev);
}
EXPORT_SYMBOL_GPL(vnet_remove);

static void reset_prepare(struct pci_dev *pdev)
{
	struct vnet_card *card = pci_get_drvdata(pdev);
	unsigned int i;

	rtnl_lock();
	for (i = 0; i < card->ports; i++) {
		netif_device_detach(card->port[i]->dev);
		if (netif_running(card->port[i]->dev))
			vnet_stop(card->port[i]->dev);
	}
	rtnl_unlock();
}

static void reset_done(struct pci_dev *pdev)
{
	struct vnet_card *card = pci_get_drvdata(pdev);
	unsigned int i;

	rtnl_lock();
	for (i = 0; i < card->ports; i++) {
		struct net_device *dev = card->port[i]->dev;

		if (netif_running(dev) && vnet_open(dev))
			netdev_err(dev, "does not start after a reset\n");
		netif_device_attach(dev);
	}
	rtnl_unlock();
}

const struct pci_error_handlers vnet_errors = {
	.reset_prepare = reset_prepare,
	.reset_done = reset_done,
};
EXPORT_SYMBOL_GPL(vnet_errors);

MODULE_DESCRIPTION("What the drivers of virtual network cards share");
MODULE_AUTHOR("NIC qualification lab");
MODULE_LICENSE("GPL");

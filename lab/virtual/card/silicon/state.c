// SPDX-License-Identifier: GPL-2.0
/* The cards, the memory that they obey, and what is asked of them without a change: every other part may look here. */
#include <linux/module.h>

#include "silicon.h"

void *nvram;
struct card *cards[VCARD_SLOTS];

const struct vcard_model *vcard_model_of(const struct vcard_port *port)
{
	return port->card->model;
}
EXPORT_SYMBOL_GPL(vcard_model_of);

u32 vcard_fault(const struct vcard_port *port, enum vcard_fault fault)
{
	return nvram_u32(port->nvram, VCARD_P_FAULTS + 4 * fault);
}
EXPORT_SYMBOL_GPL(vcard_fault);

u32 vcard_scale(const struct vcard_port *port)
{
	return nvram_u32(nvram, VCARD_O_SCALE) ?: port->card->model->cost.scale;
}
EXPORT_SYMBOL_GPL(vcard_scale);

bool vcard_alive(const struct vcard_port *port)
{
	return !vcard_fault(port->card->port[0], VCARD_FAULT_VANISH);
}
EXPORT_SYMBOL_GPL(vcard_alive);

/* Has the port a defect that keeps its light off? */
bool vcard_dark(const struct vcard_port *port)
{
	return port->lost || vcard_fault(port, VCARD_FAULT_NO_LINK);
}

/* The address that the card shows the driver that takes the port. */
void vcard_mac(const struct vcard_port *port, u8 mac[ETH_ALEN])
{
	if (port->was_taken && vcard_fault(port, VCARD_FAULT_MAC_LOST))
		eth_random_addr(mac);
	else
		ether_addr_copy(mac, port->mac);
}
EXPORT_SYMBOL_GPL(vcard_mac);

const char *vcard_serial(const struct vcard_port *port)
{
	return port->serial;
}
EXPORT_SYMBOL_GPL(vcard_serial);

unsigned int vcard_index(const struct vcard_port *port)
{
	return port->index;
}
EXPORT_SYMBOL_GPL(vcard_index);

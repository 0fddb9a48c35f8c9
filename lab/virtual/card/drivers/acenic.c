// SPDX-License-Identifier: GPL-2.0
/* Names of counters and self tests: Linux 6.1, acenic.c has neither counters nor self tests. */
#include "../net/vnet.h"

static const struct pci_device_id ids[] = {
#include "gen/acenic_ids.h"
	{ 0 }
};

static const struct vnet_counter counters[] = {
};

static const char *const tests[] = {
};

VNET_DRIVER(acenic, "AceNIC/3C985/GA620 Gigabit Ethernet driver", "Jes Sorensen <jes@trained-monkey.org>");

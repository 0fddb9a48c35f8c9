// SPDX-License-Identifier: GPL-2.0
/* Names of counters and self tests: Linux 6.1, cxgb4_ethtool.c, stats_strings, adapter_stats_strings, cxgb4_selftest_strings. */
#include "../net/vnet.h"

static const struct pci_device_id ids[] = {
#include "gen/cxgb4_ids.h"
	{ 0 }
};

static const struct vnet_counter counters[] = {
	{ "tx_octets_ok", VC_TX_BYTES },
	{ "tx_frames_ok", VC_TX_PACKETS },
	{ "tx_pause_frames", VC_TX_PAUSE },
	{ "rx_octets_ok", VC_RX_BYTES },
	{ "rx_frames_ok", VC_RX_PACKETS },
	{ "rx_multicast_frames", VC_RX_MULTICAST },
	{ "rx_frames_too_long", VC_RX_TOO_LONG },
	{ "rx_pause_frames", VC_RX_PAUSE },
	{ "rx_ovflow", VC_RX_NO_BUFFER },
	{ "tso", VC_TX_TSO },
	{ "tx_csum_offload", VC_TX_CSUM },
	{ "rx_csum_good", VC_RX_CSUM_GOOD },
	{ "vlan_extractions", VC_VLAN_STRIPPED },
	{ "vlan_insertions", VC_VLAN_INSERTED },
	{ "gro_merged", VC_RX_MERGED },
};

static const char *const tests[] = {
	"Loop back test (online)",
};

/* Parameters: cxgb4_main.c. rx_dma_offset is not among them any more. */
VNET_PARAM(msi, "2", 0644);
VNET_PARAM(select_queue, "0", 0644);

VNET_DRIVER(cxgb4, "Chelsio T4/T5/T6 Network Driver", "Chelsio Communications");

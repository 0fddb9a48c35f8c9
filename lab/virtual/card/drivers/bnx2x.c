// SPDX-License-Identifier: GPL-2.0
/* Names of counters and self tests: Linux 6.1, bnx2x_ethtool.c, bnx2x_stats_arr, bnx2x_q_stats_arr, bnx2x_tests_str_arr. */
#include "../net/vnet.h"

static const struct pci_device_id ids[] = {
#include "gen/bnx2x_ids.h"
	{ 0 }
};

static const struct vnet_counter counters[] = {
	{ "[%u]: rx_bytes", VC_RX_BYTES },
	{ "[%u]: rx_ucast_packets", VC_RX_PACKETS },
	{ "[%u]: rx_discards", VC_RX_NO_BUFFER },
	{ "[%u]: rx_csum_offload_errors", VC_RX_CSUM_BAD },
	{ "[%u]: tx_bytes", VC_TX_BYTES },
	{ "[%u]: tx_ucast_packets", VC_TX_PACKETS },
	{ "[%u]: tpa_aggregations", VC_RX_LRO_STARTED },
	{ "[%u]: tpa_aggregated_frames", VC_RX_LRO },
	{ "rx_bytes", VC_RX_BYTES },
	{ "rx_ucast_packets", VC_RX_PACKETS },
	{ "rx_mcast_packets", VC_RX_MULTICAST },
	{ "rx_discards", VC_RX_NO_BUFFER },
	{ "rx_filtered_packets", VC_RX_FILTERED },
	{ "rx_oversize_packets", VC_RX_TOO_LONG },
	{ "rx_pause_frames", VC_RX_PAUSE },
	{ "rx_csum_offload_errors", VC_RX_CSUM_BAD },
	{ "tx_bytes", VC_TX_BYTES },
	{ "tx_ucast_packets", VC_TX_PACKETS },
	{ "tx_pause_frames", VC_TX_PAUSE },
	{ "tpa_aggregations", VC_RX_LRO_STARTED },
	{ "tpa_aggregated_frames", VC_RX_LRO },
	{ "driver_filtered_tx_pkt", VC_TX_RING_FULL },
};

static const char *const tests[] = {
	"register_test (offline)",
	"memory_test (offline)",
	"int_loopback_test (offline)",
	"nvram_test (online)",
	"interrupt_test (online)",
	"link_test (online)",
};

/* Parameters: bnx2x_main.c. */
VNET_PARAM(num_queues, "0", 0444);
VNET_PARAM(disable_tpa, "0", 0444);
VNET_PARAM(int_mode, "0", 0444);
VNET_PARAM(dropless_fc, "0", 0444);
VNET_PARAM(mrrs, "-1", 0444);
VNET_PARAM(debug, "0", 0444);

VNET_DRIVER(bnx2x, "QLogic BCM57710/57711/57711E/57712/57712_MF/57800/57800_MF/57810/57810_MF/57840/57840_MF Driver", "Eliezer Tamir");

// SPDX-License-Identifier: GPL-2.0
/* Names of counters and self tests: Linux 6.1, ixgbe_ethtool.c, ixgbe_gstrings_stats, ixgbe_gstrings_test. */
#include "../net/vnet.h"

static const struct pci_device_id ids[] = {
#include "gen/ixgbe_ids.h"
	{ 0 }
};

static const struct vnet_counter counters[] = {
	{ "rx_packets", VC_RX_PACKETS },
	{ "tx_packets", VC_TX_PACKETS },
	{ "rx_bytes", VC_RX_BYTES },
	{ "tx_bytes", VC_TX_BYTES },
	{ "multicast", VC_RX_MULTICAST },
	{ "rx_missed_errors", VC_RX_NO_BUFFER },
	{ "rx_long_length_errors", VC_RX_TOO_LONG },
	{ "rx_csum_offload_errors", VC_RX_CSUM_BAD },
	{ "hw_rsc_aggregated", VC_RX_LRO },
	{ "hw_rsc_flushed", VC_RX_LRO_STARTED },
	{ "tx_timeout_count", VC_TX_TIMEOUTS },
	{ "tx_restart_queue", VC_TX_RING_FULL },
	{ "tx_flow_control_xoff", VC_TX_PAUSE },
	{ "rx_flow_control_xoff", VC_RX_PAUSE },
	{ "tx_queue_%u_packets", VC_TX_PACKETS },
	{ "tx_queue_%u_bytes", VC_TX_BYTES },
	{ "rx_queue_%u_packets", VC_RX_PACKETS },
	{ "rx_queue_%u_bytes", VC_RX_BYTES },
};

static const char *const tests[] = {
	"Register test  (offline)",
	"Eeprom test    (offline)",
	"Interrupt test (offline)",
	"Loopback test  (offline)",
	"Link test   (on/offline)",
};

VNET_DRIVER(ixgbe, "Intel(R) 10 Gigabit PCI Express Network Driver", "Intel Corporation, <linux.nics@intel.com>");

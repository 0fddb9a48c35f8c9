// SPDX-License-Identifier: GPL-2.0
/* Names of counters and self tests: Linux 6.1, ethtool_common.c, efx_sw_stat_desc; siena.c, siena_stat_desc; selftest.c. */
#include "../net/vnet.h"

static const struct pci_device_id ids[] = {
#include "gen/sfc_siena_ids.h"
	{ 0 }
};

static const struct vnet_counter counters[] = {
	{ "tx_bytes", VC_TX_BYTES },
	{ "tx_packets", VC_TX_PACKETS },
	{ "tx_pause", VC_TX_PAUSE },
	{ "rx_bytes", VC_RX_BYTES },
	{ "rx_good", VC_RX_PACKETS },
	{ "rx_multicast", VC_RX_MULTICAST },
	{ "rx_pause", VC_RX_PAUSE },
	{ "rx_gtjumbo", VC_RX_TOO_LONG },
	{ "rx_nodesc_drop_cnt", VC_RX_NO_BUFFER },
	{ "tx_tso_bursts", VC_TX_TSO },
	{ "tx_tso_packets", VC_TX_TSO_FRAMES },
	{ "rx_tcp_udp_chksum_err", VC_RX_CSUM_BAD },
	{ "tx-%u.tx_packets", VC_TX_PACKETS },
	{ "rx-%u.rx_packets", VC_RX_PACKETS },
};

static const char *const tests[] = {
	"registers",
	"memory",
	"nvram",
	"interrupt",
	"phy",
};

/* Parameters: siena/efx.c, efx_channels.c, rx_common.c. */
VNET_PARAM(interrupt_mode, "0", 0444);
VNET_PARAM(rss_cpus, "0", 0444);
VNET_PARAM(rx_refill_threshold, "0", 0444);
VNET_PARAM(irq_adapt_low_thresh, "8000", 0644);
VNET_PARAM(irq_adapt_high_thresh, "16000", 0644);

VNET_DRIVER(sfc_siena, "Solarflare network driver", "Solarflare Communications and Michael Brown");

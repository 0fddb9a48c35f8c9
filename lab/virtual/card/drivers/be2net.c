// SPDX-License-Identifier: GPL-2.0
/* Names of counters and self tests: Linux 6.1, be_ethtool.c, et_stats, et_rx_stats, et_tx_stats, et_self_tests. */
#include "../net/vnet.h"

static const struct pci_device_id ids[] = {
#include "gen/be2net_ids.h"
	{ 0 }
};

static const struct vnet_counter counters[] = {
	{ "rx_pause_frames", VC_RX_PAUSE },
	{ "tx_pauseframes", VC_TX_PAUSE },
	{ "rx_drops_no_pbuf", VC_RX_NO_BUFFER },
	{ "rx_address_filtered", VC_RX_FILTERED },
	{ "rx_frame_too_long", VC_RX_TOO_LONG },
	{ "rx_tcp_checksum_errs", VC_RX_CSUM_BAD },
	{ "rxq%u: rx_bytes", VC_RX_BYTES },
	{ "rxq%u: rx_pkts", VC_RX_PACKETS },
	{ "rxq%u: rx_mcast_pkts", VC_RX_MULTICAST },
	{ "txq%u: tx_bytes", VC_TX_BYTES },
	{ "txq%u: tx_pkts", VC_TX_PACKETS },
	{ "txq%u: tx_reqs", VC_TX_REQUESTS },
	{ "txq%u: tx_stops", VC_TX_RING_FULL },
};

static const char *const tests[] = {
	"MAC Loopback test",
	"PHY Loopback test",
	"External Loopback test",
	"DDR DMA test",
	"Link test",
};

/* Parameters: be_main.c. */
VNET_PARAM(num_vfs, "0", 0444);
VNET_PARAM(rx_frag_size, "2048", 0444);

VNET_DRIVER(be2net, "Emulex OneConnect NIC Driver", "Emulex Corporation");

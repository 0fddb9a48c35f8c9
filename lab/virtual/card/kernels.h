/* SPDX-License-Identifier: GPL-2.0 */
/* What Linux 6.1 (Debian 12) and 6.12 (Debian 13) call otherwise; the sources use the names of the newer. */
#ifndef KERNELS_H
#define KERNELS_H

#include <linux/ethtool.h>
#include <linux/pci.h>
#include <linux/random.h>
#include <linux/version.h>
#include <linux/virtio_config.h>

#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 5, 0)
#include <linux/aer.h>
#else
#include <net/gso.h>

/* the kernel does it for every device it finds */
static inline void pci_enable_pcie_error_reporting(struct pci_dev *pdev) { }
static inline void pci_disable_pcie_error_reporting(struct pci_dev *pdev) { }
#endif

#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 2, 0)
#define get_random_u32_below prandom_u32_max
#endif

#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 8, 0)
struct ethtool_rxfh_param {
	u8 hfunc;
	u32 *indir;
	u8 *key;
};

#define VNET_RXFH(get, set)										\
	static int get##_parts(struct net_device *dev, u32 *indirection, u8 *key, u8 *function)	\
	{												\
		struct ethtool_rxfh_param hash = { .indir = indirection, .key = key };			\
		int err = get(dev, &hash);								\
													\
		if (function)										\
			*function = hash.hfunc;								\
		return err;										\
	}												\
	static int set##_parts(struct net_device *dev, const u32 *indirection, const u8 *key, const u8 function) \
	{												\
		struct ethtool_rxfh_param hash = { function, (u32 *)indirection, (u8 *)key };		\
													\
		return set(dev, &hash, NULL);								\
	}
#define VNET_RXFH_OPERATION(name) name##_parts
#else
#define VNET_RXFH(get, set)
#define VNET_RXFH_OPERATION(name) name
#endif

#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 11, 0)
#define kernel_ethtool_ts_info ethtool_ts_info

struct virtqueue_info {
	const char *name;
	vq_callback_t *callback;
};

static inline int vcard_find_queues(struct virtio_device *vdev, struct virtqueue *queues[2], struct virtqueue_info info[2])
{
	vq_callback_t *callbacks[] = { info[0].callback, info[1].callback };
	const char *const names[] = { info[0].name, info[1].name };

	return virtio_find_vqs(vdev, 2, queues, callbacks, names, NULL);
}
#else
static inline int vcard_find_queues(struct virtio_device *vdev, struct virtqueue *queues[2], struct virtqueue_info info[2])
{
	return virtio_find_vqs(vdev, 2, queues, info, NULL);
}
#endif

#endif

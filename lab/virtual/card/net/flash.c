// SPDX-License-Identifier: GPL-2.0
/* ethtool -f: checks an image and has the silicon write it. */
#include <linux/crc32.h>
#include <linux/firmware.h>

#include "vnet.h"

static u32 image_crc(const u8 *image, size_t size)
{
	static const u8 zero[4];
	u32 crc = crc32_le(~0, image, VCARD_FW_CRC);

	crc = crc32_le(crc, zero, sizeof(zero));
	return ~crc32_le(crc, image + VCARD_FW_HEADER, size - VCARD_FW_HEADER);
}

static bool matches(const u8 *field, size_t size, const char *wanted)
{
	return strnlen(field, size) == strlen(wanted) && !memcmp(field, wanted, strlen(wanted));
}

static u32 word(const u8 *at)
{
	return at[0] | at[1] << 8 | at[2] << 16 | (u32)at[3] << 24;
}

/* What is wrong with the image, NULL when nothing is. */
static const char *fault_of(const struct vnet *v, const u8 *image, size_t size)
{
	if (size < VCARD_FW_HEADER || memcmp(image, VCARD_FW_MAGIC, 8))
		return "is not a firmware image";
	if (vcard_fault(v->port, VCARD_FAULT_FLASH_ACCEPTS))
		return NULL;
	if (!matches(image + VCARD_FW_DRIVER, 16, v->driver->name))
		return "is of another vendor";
	if (!matches(image + VCARD_FW_MODEL, 32, v->model->name) && !matches(image + VCARD_FW_MODEL, 32, "*"))
		return "is of another adapter";
	if (word(image + VCARD_FW_LENGTH) != size - VCARD_FW_HEADER)
		return "has the wrong length";
	if (word(image + VCARD_FW_CRC) != image_crc(image, size))
		return "has a wrong checksum";
	return NULL;
}

int vnet_flash(struct net_device *dev, struct ethtool_flash *flash)
{
	struct vnet *v = netdev_priv(dev);
	const struct firmware *fw;
	const char *fault;
	char version[33];
	int err;

	flash->data[ETHTOOL_FLASH_MAX_FILENAME - 1] = 0;
	err = request_firmware_direct(&fw, flash->data, &v->pdev->dev);
	if (err) {
		netdev_info(dev, "firmware file %s cannot be loaded\n", flash->data);
		return err;
	}
	fault = fault_of(v, fw->data, fw->size);
	if (fault) {
		netdev_info(dev, "firmware file %s %s\n", flash->data, fault);
		err = -EINVAL;
	} else {
		memcpy(version, fw->data + VCARD_FW_VERSION, 32);
		version[32] = 0;
		netdev_info(dev, "flashing firmware %s from %s\n", version, flash->data);
		err = vcard_firmware_flash(v->port, fw->data, fw->size, version);
		if (err)
			netdev_err(dev, "flashing firmware failed (%d)\n", err);
		else
			netdev_info(dev, "firmware %s is flashed, not yet active\n", version);
	}
	release_firmware(fw);
	return err;
}

// SPDX-License-Identifier: GPL-2.0
/* The card's memory: strings and words of the mailbox, and the firmware banks. */
#include <linux/delay.h>
#include <linux/module.h>

#include "silicon.h"

u32 nvram_u32(const void *base, unsigned int offset)
{
	return le32_to_cpu(READ_ONCE(*(const __le32 *)(base + offset)));
}

void nvram_set_u32(void *base, unsigned int offset, u32 value)
{
	WRITE_ONCE(*(__le32 *)(base + offset), cpu_to_le32(value));
}

void nvram_string(const void *base, unsigned int offset, char out[33])
{
	memcpy(out, base + offset, 32);
	out[32] = 0;
}

void nvram_set_string(void *base, unsigned int offset, const char *text, unsigned int size)
{
	strncpy(base + offset, text, size);
}

int nvram_check(void)
{
	u32 magic = nvram_u32(nvram, VCARD_O_MAGIC), version = nvram_u32(nvram, VCARD_O_VERSION);

	if (magic != VCARD_MAGIC || version != VCARD_VERSION) {
		pr_err("vcard: memory has magic %#x, version %u; wanted %#x, version %u\n", magic, version, VCARD_MAGIC,
		       VCARD_VERSION);
		return -EINVAL;
	}
	return 0;
}

void nvram_error(const char *text)
{
	pr_err("vcard: %s\n", text);
	nvram_set_string(nvram, VCARD_O_ERROR, text, 96);
}

static void activate(struct vcard_port *port)
{
	char pending[33];

	nvram_string(port->nvram, VCARD_P_FW_PENDING, pending);
	if (!pending[0] || nvram_u32(port->nvram, VCARD_P_FW_STATE) != VCARD_FW_GOOD)
		return;
	if (!vcard_fault(port, VCARD_FAULT_FLASH_FORGETS))
		nvram_set_string(port->nvram, VCARD_P_FW_ACTIVE, pending, 32);
	nvram_set_string(port->nvram, VCARD_P_FW_PENDING, "", 32);
}

/* What a write that lost power leaves: the other bank, and a card that takes images, unless it is defective. */
static u32 firmware_after_cut(const struct vcard_port *port)
{
	static const u32 state[] = { VCARD_FW_GOOD, VCARD_FW_NONE, VCARD_FW_LOCKED };
	u32 defect = vcard_fault(port, VCARD_FAULT_FLASH_CUT_BRICKS);

	return defect < ARRAY_SIZE(state) ? state[defect] : VCARD_FW_GOOD;
}

/* The card gets power: the model's version where none was ever written, pending versions, and bricks that recover. */
void firmware_power_on(struct card *card)
{
	char active[33];
	unsigned int i;

	for (i = 0; i < card->model->ports; i++) {
		struct vcard_port *port = card->port[i];

		nvram_string(port->nvram, VCARD_P_FW_ACTIVE, active);
		if (!active[0])
			nvram_set_string(port->nvram, VCARD_P_FW_ACTIVE, card->model->firmware, 32);
		if (!card->cold)
			continue;
		if (nvram_u32(port->nvram, VCARD_P_FW_STATE) != VCARD_FW_GOOD) {
			nvram_set_u32(port->nvram, VCARD_P_FW_STATE, firmware_after_cut(port));
			nvram_set_string(port->nvram, VCARD_P_FW_PENDING, "", 32);
		}
		activate(port);
	}
}

void firmware_reset(struct vcard_port *port)
{
	if (port->card->model->activation == VCARD_AT_RESET)
		activate(port);
}

void vcard_firmware(struct vcard_port *port, char version[32])
{
	char text[33];

	nvram_string(port->nvram, VCARD_P_FW_ACTIVE, text);
	strscpy(version, text, 32);
}
EXPORT_SYMBOL_GPL(vcard_firmware);

void vcard_firmware_pending(struct vcard_port *port, char version[32])
{
	char text[33];

	nvram_string(port->nvram, VCARD_P_FW_PENDING, text);
	strscpy(version, text, 32);
}
EXPORT_SYMBOL_GPL(vcard_firmware_pending);

bool vcard_firmware_good(struct vcard_port *port)
{
	u32 state = nvram_u32(port->nvram, VCARD_P_FW_STATE);

	return state != VCARD_FW_BRICKED && state != VCARD_FW_NONE;
}
EXPORT_SYMBOL_GPL(vcard_firmware_good);

void vcard_firmware_load(struct vcard_port *port)
{
	if (port->card->model->activation != VCARD_AT_POWER)
		activate(port);
}
EXPORT_SYMBOL_GPL(vcard_firmware_load);

/* Writes an image that the driver has checked; takes the time the model says. */
int vcard_firmware_flash(struct vcard_port *port, const u8 *image, u32 length, const char *version)
{
	unsigned int place = (port->card->slot * VCARD_PORTS + port->index) * VCARD_IMAGE_SIZE, done = 0, step;
	u32 fails = vcard_fault(port, VCARD_FAULT_FLASH_FAILS);

	if (length > VCARD_IMAGE_SIZE)
		return -EFBIG;
	if (nvram_u32(port->nvram, VCARD_P_FW_STATE) == VCARD_FW_LOCKED)
		return -EIO;
	nvram_set_u32(port->nvram, VCARD_P_FW_STATE, VCARD_FW_HALF);
	nvram_set_string(port->nvram, VCARD_P_FW_PENDING, "", 32);
	nvram_set_u32(port->nvram, VCARD_P_FW_LENGTH, 0);
	step = DIV_ROUND_UP(length, 30);
	while (done < length) {
		if (fails && done > length / 2) {
			if (fails > 1)
				nvram_set_u32(port->nvram, VCARD_P_FW_STATE, VCARD_FW_BRICKED);
			return -EIO;
		}
		step = min(step, length - done);
		memcpy(nvram + VCARD_O_IMAGES + place + done, image + done, step);
		done += step;
		msleep(DIV_ROUND_UP(port->card->model->flash_ms, 30));
	}
	nvram_set_u32(port->nvram, VCARD_P_FW_LENGTH, length);
	nvram_set_u32(port->nvram, VCARD_P_FW_FLASHES, nvram_u32(port->nvram, VCARD_P_FW_FLASHES) + 1);
	nvram_set_string(port->nvram, VCARD_P_FW_PENDING, version, 32);
	nvram_set_u32(port->nvram, VCARD_P_FW_STATE, VCARD_FW_GOOD);
	return 0;
}
EXPORT_SYMBOL_GPL(vcard_firmware_flash);

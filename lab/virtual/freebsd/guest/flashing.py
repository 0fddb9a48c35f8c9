"""Firmware of a card written by its driver: the image is a firmware module, which a setting names (oce(4))."""

from __future__ import annotations

import os

from below import ROOT, Refusal, kernel_says, netdevs, run, units
from kld import found

IMAGE_AT = 4096
"""Offset of the image in the file of its module."""
_FIRMWARE = "/usr/lib/firmware"


def by_module(oid: str, device: str, module: str) -> None:
    """Write the image of a firmware module into the card of ``device``.

    Raises:
        Refusal: In the words of sysctl; why, the kernel says.
    """
    _, path = found(module) if module and "/" not in module else (module, None)
    if path is None:
        kernel_says(f"{device}: Unable to get Firmware. Make sure {module} is copied to /boot/modules")
        raise Refusal(f"{oid}: No such file or directory")
    with open(f"{ROOT}{path}", "rb") as file:
        image = file.read()[IMAGE_AT:]
    address = next(address for address, name in units().items() if name == device)
    if _write(netdevs(address)[0], f"{module}.image", image):
        kernel_says(f"{device}: Firmware Upgrade failed")
        raise Refusal(f"{oid}: Invalid argument")
    kernel_says(f"{device}: Firmware Flashed successfully")


def _write(iface: str, name: str, image: bytes) -> int:
    """Have the driver below write it; the exit status of its tool."""
    place = f"{ROOT}{_FIRMWARE}/{name}"
    os.makedirs(os.path.dirname(place), exist_ok=True)
    with open(place, "wb") as file:
        file.write(image)
    try:
        return run("ethtool", "-f", iface, name)[0]
    finally:
        os.unlink(place)

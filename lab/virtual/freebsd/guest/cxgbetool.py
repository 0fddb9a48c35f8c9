"""cxgbetool NEXUS loadfw FILE: writes firmware into a Chelsio card."""

from __future__ import annotations

import os

from below import ROOT, Refusal, netdevs, run, units

_FIRMWARE = "/usr/lib/firmware"


def cxgbetool(arguments: list[str]) -> int:
    if len(arguments) != 3 or arguments[1] != "loadfw":
        raise Refusal("usage: cxgbetool <nexus> [operation]\n\tloadfw <fw-image.bin>")
    nexus, _, path = arguments
    address = next((one for one, name in units().items() if name == nexus and nexus.startswith("t")), None)
    if address is None:
        raise Refusal(f"cxgbetool: nexus operations on {nexus}: No such file or directory")
    if not os.path.exists(f"{ROOT}{path}"):
        raise Refusal(f"cxgbetool: open({path}): No such file or directory")
    name = os.path.basename(path)
    if not os.path.exists(f"{ROOT}{_FIRMWARE}/{name}"):
        raise Refusal("cxgbetool: CHELSIO_T4_LOAD_FW: Invalid argument")
    status, _, _ = run("ethtool", "-f", netdevs(address)[0], name)
    if status:
        raise Refusal("cxgbetool: CHELSIO_T4_LOAD_FW: Invalid argument")
    return 0

"""FreeBSD host: TCP that the card does itself, as cxgbe(4) shows and sets it.

Sources: sys/dev/cxgbe/t4_main.c (``toecaps``, ``toe.*``, ``misc.tids``), t4_sge.c (``ofld_rxq.M.fl.cluster_*``).
``misc.ddp_stats`` proves nothing here: it counts what is placed of other protocols (common/t4_hw.c,
t4_get_usm_stats(): "non-TCP directly-placed packets").
"""

from __future__ import annotations

import re

from niclab.hosts.drivers.driver_commands import FreeBsdDriverCommands
from niclab.hosts.engine.engine_records import Placing
from niclab.hosts.engine.tids import read_tids
from niclab.hosts.errors import unreadable
from niclab.hosts.parity import partly
from niclab.hosts.settings.settings_records import Attempt

_CXGBE = "cxgbe"
_NO_ENGINE = "shows no TCP offload that the lab reads"
_CAPABILITIES = re.compile(r"(?:0x)?([0-9a-f]{1,4})(?:<[A-Za-z0-9_,]*>)?")
_TCP = 1
_BUFFERS = re.compile(r"\.[0-9]+\.fl\.cluster_(?:allocated|recycled|fast_recycled)")


class FreeBsdEngine(FreeBsdDriverCommands):
    """See :class:`niclab.hosts.host.HostEngine` for the meaning of each method."""

    @partly(f"{_CXGBE}, by `toecaps` of the parent device")
    def is_reserved(self, iface: str) -> bool:
        name = f"{self._nexus(iface)}.toecaps"
        value = self._text(name)
        match = _CAPABILITIES.fullmatch(value)
        if match is None:
            raise unreadable("sysctl -n", name, value, "bits such as '1<TOE>'")
        return bool(int(match[1], 16) & _TCP)

    @partly(f"{_CXGBE}, by `toe.cop_managed_offloading` of the parent device")
    def is_by_policy(self, iface: str) -> bool:
        """Releases that have no such policy do not have the name either."""
        name = f"{self._nexus(iface)}.toe.cop_managed_offloading"
        shown = self._sysctls_if_any(name)
        return shown is not None and shown.values.get(name) != 0

    @partly(f"{_CXGBE}, by `misc.tids` of the parent device: of all its ports")
    def connections_command(self, iface: str) -> str:
        return f"sysctl -n {self._nexus(iface)}.misc.tids"

    def read_connections(self, text: str) -> int:
        return read_tids(text)

    @partly(f"{_CXGBE}, by `toe.ddp` and `toe.ddp_thres` of the parent device")
    def placing(self, iface: str) -> Placing:
        tree = f"{self._nexus(iface)}.toe"
        least = self._sysctls_if_any(f"{tree}.ddp_thres")
        value = None if least is None else least.values.get(f"{tree}.ddp_thres")
        return Placing(self._number(f"{tree}.ddp") != 0, value if isinstance(value, int) else None)

    @partly(f"{_CXGBE}, by `toe.ddp` of the parent device")
    def set_placing(self, iface: str, on: bool) -> Attempt[Placing]:
        return Attempt(self._told(f"sysctl {self._nexus(iface)}.toe.ddp={int(on)}"), self.placing(iface))

    @partly(f"{_CXGBE}, by `toe.ddp` of the parent device")
    def restoring_placing(self, iface: str) -> str:
        return f"sysctl {self._nexus(iface)}.toe.ddp={int(self.placing(iface).on)}"

    @partly(f"{_CXGBE}, by the clusters of `ofld_rxq`")
    def buffers(self, iface: str) -> int:
        tree = f"{self._chelsio(iface, _NO_ENGINE).tree}.ofld_rxq"
        found = {name: value for name, value in self._sysctls(tree).values.items() if _BUFFERS.search(name)}
        numbers = [value for value in found.values() if isinstance(value, int)]
        if not found or len(numbers) != len(found):
            raise unreadable("sysctl", tree, str(found), "numbers such as 'ofld_rxq.0.fl.cluster_allocated: 9'")
        return sum(numbers)

    def _nexus(self, iface: str) -> str:
        return self._parent(self._chelsio(iface, _NO_ENGINE)).tree

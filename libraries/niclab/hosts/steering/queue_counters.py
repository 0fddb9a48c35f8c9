"""The counters of single queues among a driver's own, which each driver names in its own way."""

from __future__ import annotations

import re

from niclab.hosts.errors import ReadError
from niclab.hosts.host_records import Counters

_RECEIVED = re.compile(
    r"rx_queue_([0-9]{1,4})_packets"  # igb, ixgbe, ice: igb_ethtool.c, ixgbe_ethtool.c, ice_ethtool.c
    r"|rxq([0-9]{1,4}): rx_pkts"  # be2net: be_ethtool.c, et_rx_stats
    r"|\[([0-9]{1,4})\]: rx_ucast_packets"  # bnx2x, bnxt: bnx2x_ethtool.c, bnx2x_q_stats_arr
    r"|rx-([0-9]{1,4})\.(?:rx_)?packets"  # sfc, i40e: sfc/ethtool_common.c, efx_describe_per_queue_stats()
    r"|rx([0-9]{1,4})_packets"  # mlx4, mlx5: mlx5 en_stats.c, rq_stats_desc
)
_SENT = re.compile(
    r"tx_queue_([0-9]{1,4})_packets"  # igb, ixgbe, ice
    r"|txq([0-9]{1,4}): tx_pkts"  # be2net
    r"|\[([0-9]{1,4})\]: tx_ucast_packets"  # bnx2x, bnxt
    r"|tx-([0-9]{1,4})\.(?:tx_)?packets"  # sfc, i40e
    r"|tx([0-9]{1,4})_packets"  # mlx4, mlx5: mlx5 en_stats.c, sq_stats_desc
)


def sent_by_queue(counters: Counters) -> dict[int, int]:
    """Find the frames that each send queue has counted.

    Args:
        counters: The driver's own counters.

    Returns:
        Queue -> its count; empty where the driver has no counter of a single queue (cxgb4, e1000e).

    Raises:
        ReadError: Two counters are of one queue.
    """
    return _by_queue(counters, _SENT, "send")


def frames_by_queue(counters: Counters) -> dict[int, int]:
    """Find the frames that each receive queue has counted.

    Args:
        counters: The driver's own counters.

    Returns:
        Queue -> its count; empty where the driver has no counter of a single queue (cxgb4).

    Raises:
        ReadError: Two counters are of one queue.
    """
    return _by_queue(counters, _RECEIVED, "receive")


def _by_queue(counters: Counters, names: re.Pattern[str], way: str) -> dict[int, int]:
    found = dict[int, int]()
    for name, value in counters.entries:
        match = names.fullmatch(name)
        if match is None:
            continue
        queue = int(next(group for group in match.groups() if group is not None))
        if queue in found:
            raise ReadError(f"two counters are of {way} queue {queue}, the second is {name!r}; expected one")
        found[queue] = value
    return found

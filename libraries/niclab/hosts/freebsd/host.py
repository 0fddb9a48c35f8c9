"""A FreeBSD server."""

from __future__ import annotations

from niclab.hosts.freebsd.host_bond import FreeBsdBonds
from niclab.hosts.freebsd.host_control import FreeBsdControl
from niclab.hosts.freebsd.host_drivers import FreeBsdDrivers
from niclab.hosts.freebsd.host_loader import FreeBsdLoader
from niclab.hosts.freebsd.host_network import FreeBsdNetwork
from niclab.hosts.freebsd.host_packages import FreeBsdPackages
from niclab.hosts.freebsd.host_pci import FreeBsdPci
from niclab.hosts.freebsd.host_settings import FreeBsdSettings
from niclab.hosts.freebsd.host_system import FreeBsdSystem


class FreeBsdHost(
    FreeBsdSystem,
    FreeBsdDrivers,
    FreeBsdPci,
    FreeBsdNetwork,
    FreeBsdSettings,
    FreeBsdPackages,
    FreeBsdLoader,
    FreeBsdBonds,
    FreeBsdControl,
):
    """A FreeBSD server, releases 9 to 14, over a shell, see :class:`niclab.hosts.host.Host`. Connects to nothing by
    itself.

    :param shell: runs the commands in ``sh``, whatever root's login shell is; root is wanted for changes.
    :param name: the subject of every message, ``dut`` or ``peer``.
    """

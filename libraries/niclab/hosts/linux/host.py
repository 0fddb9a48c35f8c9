"""A Linux server."""

from __future__ import annotations

from niclab.hosts.linux.host_binding import LinuxBinding
from niclab.hosts.linux.host_bond import LinuxBonds
from niclab.hosts.linux.host_control import LinuxControl
from niclab.hosts.linux.host_settings import LinuxSettings
from niclab.hosts.linux.host_software import LinuxSoftware
from niclab.hosts.linux.host_system import LinuxSystem


class LinuxHost(LinuxSystem, LinuxBinding, LinuxSettings, LinuxSoftware, LinuxBonds, LinuxControl):
    """A Linux server over a shell, see :class:`niclab.hosts.host.Host`. Connects to nothing by itself.

    :param shell: runs the commands; root is wanted for lspci, modprobe, dmesg and changes.
    :param name: the subject of every message, ``dut`` or ``peer``.
    """

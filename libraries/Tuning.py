"""Settings that a QA engineer chooses for a test: interrupts, rings, coalescing, offloads, packet steering, sysctls."""

from __future__ import annotations

from typing import Literal

from robot.api.deco import library

from BenchLibrary import BenchLibrary, keyword
from listeners.TuningScopes import TuningScopes
from niclab.bench.records import Role
from niclab.card import Setting, SettingKind
from niclab.hosts.steering.linux import cpus_of_list
from niclab.hosts.steering.steering_kinds import SteeringKind
from niclab.settings.tuning import Tuning as Chosen


@library(scope="GLOBAL", listener=TuningScopes())
class Tuning(BenchLibrary):
    """Keywords that change settings of ports and servers. Each reads back what it has set.

    Nothing has to be undone: what is set in a test is put back when the test has ended, what is set in the setup of a
    suite when the suite has. The undo is in the journal first, so that a killed run leaves nothing behind either.

    | `Set Ring` | dut.p0 | rx | 4096 |
    | `Set Coalescing` | dut.p0 | rx-usecs | 50 |
    | `Set IRQ Affinity` | dut.p0 | 0-3 |
    | `Set Offload` | dut.p0 | tso4 | False |
    | `Set RPS` | dut.p0 | 0-3 |
    | `Set RFS` | dut.p0 |
    | `Set XPS` | dut.p0 | 0-3 |
    | `Set Sysctl` | dut | net.ipv4.tcp_rmem | 4096 1048576 6291456 |

    A port is named as in the bench file, ``dut.p0``; ``dut`` alone is its port on the first path. Each keyword raises
    NotApplicable where the sheet or the system does not offer the setting, CardFailure where the dut takes it and does
    not show it, BenchFault where the peer does.
    """

    @keyword
    def set_ring(self, port: str, ring: str, size: int | Literal["largest"]) -> None:
        """Set the size of a ring. Some cards lose their link for a moment: `Every Link Should Be Up` waits for it.

        Args:
            port: Name of the port.
            ring: ``rx``, ``tx``, ``rx_mini`` or ``rx_jumbo``.
            size: Number of descriptors, or ``largest``.
        """
        self.run.part(Chosen).set(port, Setting(kind=SettingKind.RING, name=ring, to=size))

    @keyword
    def set_coalescing(self, port: str, parameter: str, value: int) -> None:
        """Set a parameter of interrupt coalescing; adaptive coalescing is switched off where the port has it.

        Args:
            port: Name of the port.
            parameter: Name as of ``ethtool -C``, such as ``rx-usecs``.
            value: Its value, in the unit of its name.
        """
        self.run.part(Chosen).set(port, Setting(kind=SettingKind.COALESCING, name=parameter, to=value))

    @keyword
    def set_offload(self, port: str, offload: str, on: bool) -> None:
        """Switch an offload.

        Args:
            port: Name of the port.
            offload: Name of a row of the sheet, such as ``tso4``.
            on: True or false.
        """
        self.run.part(Chosen).set(port, Setting(kind=SettingKind.OFFLOAD, name=offload, to=on))

    @keyword("Set IRQ Affinity")
    def set_irq_affinity(self, port: str, cpus: str) -> None:
        """Give each interrupt of a port one CPU of a list, in turn.

        Args:
            port: Name of the port.
            cpus: Numbers and ranges, such as ``0-2,5``.
        """
        self.run.part(Chosen).steer(port, SteeringKind.IRQ, cpus_of_list(cpus))

    @keyword("Set RPS")
    def set_rps(self, port: str, cpus: str) -> None:
        """Let CPUs take over received packets of every queue of a port (receive packet steering).

        Args:
            port: Name of the port.
            cpus: Numbers and ranges, such as ``0-2,5``.
        """
        self.run.part(Chosen).steer(port, SteeringKind.RPS, cpus_of_list(cpus))

    @keyword("Set RFS")
    def set_rfs(self, port: str) -> None:
        """Let packets follow their flow to the CPU of its reader: 32768 flows, 2048 of each queue (kernel scaling.rst).

        Args:
            port: Name of the port.
        """
        self.run.part(Chosen).steer(port, SteeringKind.RFS, frozenset())

    @keyword("Set XPS")
    def set_xps(self, port: str, cpus: str) -> None:
        """Give each send queue of a port one CPU of a list, in turn (transmit packet steering).

        Args:
            port: Name of the port.
            cpus: Numbers and ranges, such as ``0-2,5``.
        """
        self.run.part(Chosen).steer(port, SteeringKind.XPS, cpus_of_list(cpus))

    @keyword
    def set_sysctl(self, server: Role, name: str, value: str) -> None:
        """Set a sysctl, such as the socket memory ``net.ipv4.tcp_rmem``.

        Args:
            server: ``dut`` or ``peer``.
            name: Name of the sysctl.
            value: Its value; several numbers are separated by blanks.
        """
        self.run.part(Chosen).set_sysctl(server, name, value)

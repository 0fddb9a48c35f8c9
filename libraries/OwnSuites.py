"""Keywords of suites of one's own, besides SSHLibrary: names of ports, verdicts, the undo of what they change."""

from __future__ import annotations

import re

from robot.api.deco import library

from BenchLibrary import BenchLibrary, keyword
from niclab.bench.records import Role
from niclab.core.verdict import Blamed, require, require_number
from niclab.settings.tuning import Tuning, port_of

_BLAMED = "${blamed:Card|Bench}"


@library(scope="GLOBAL")
class OwnSuites(BenchLibrary):
    """Keywords that give tests with SSHLibrary the verdicts of this lab.

    `Should Be Equal` and its like say neither what was measured nor who is to blame. `Card Should Be` ends a test with
    a ``CardFailure`` where the card is wrong, `Bench Should Be` with a ``BenchFault`` where the lab is. Their messages
    have the form of all others: ``subject: measured; expected ... (source)``.

    | ${port} = | `Interface Of` | dut.p0 |
    | ${address} = | `Address Of` | peer.p0 |
    | ${changes} = | DutShell.Execute Command | cat /sys/class/net/${port}/carrier_changes |
    | `Card Should Be` | driver of dut.p0 | ${driver} | e1000e | our own order |
    | `Card Should Match` | version of dut.p0 | ${version} | ^5[.] |
    | `Bench Should Be At Least` | free memory of dut in MB | ${memory} | 512 |
    | `Card Should Be At Most` | changes of carrier of dut.p0 | ${changes} | 2 | our own limit |
    | `Undo Afterwards` | dut | a dummy interface is made | ip link delete dummy0 |
    """

    @keyword
    def interface_of(self, port: str) -> str:
        """Return the name of a port's interface, such as ``enp1s0``.

        Args:
            port: ``dut.p0``; ``dut`` alone is its port on the first path.
        """
        return self.run.interface(port_of(self.run, port))

    @keyword
    def address_of(self, port: str) -> str:
        """Return the IPv4 address that a port has in tests, such as ``198.18.10.1``.

        Args:
            port: ``dut.p0``; ``dut`` alone is its port on the first path.
        """
        return str(self.run.bench.address(port_of(self.run, port)).ip)

    @keyword
    def undo_afterwards(self, server: Role, what: str, command: str) -> None:
        """Run a command when the test has ended, whatever ends it; of a suite's setup, when the suite has.

        Call it before the change: the command is in the undo journal then, and even a killed run leaves nothing behind.
        It must do no harm where nothing was changed.

        Args:
            server: ``dut`` or ``peer``.
            what: What will be changed, in words, such as ``a dummy interface is made``.
            command: The command line, run by ``sh`` as root.
        """
        self.run.part(Tuning).undo(server, what, command)

    @keyword(f"{_BLAMED} Should Be")
    def should_be(self, blamed: Blamed, subject: str, found: str, expected: str, source: str = "") -> None:
        """Check that a text is the expected one, blanks around it left out.

        Args:
            blamed: ``Card`` or ``Bench``: which of them is wrong otherwise.
            subject: What was measured, such as ``driver of dut.p0``.
            found: What was found.
            expected: What is right.
            source: Where that is said.
        """
        require(blamed, subject, repr(found.strip()), repr(expected), source, met=found.strip() == expected.strip())

    @keyword(f"{_BLAMED} Should Match")
    def should_match(self, blamed: Blamed, subject: str, found: str, pattern: str, source: str = "") -> None:
        """Check that a regular expression matches somewhere in a text.

        Args:
            blamed: ``Card`` or ``Bench``: which of them is wrong otherwise.
            subject: What was measured.
            found: What was found.
            pattern: The regular expression, as of Python's ``re``.
            source: Where it is said.
        """
        require(blamed, subject, repr(found), f"a match of {pattern}", source, met=bool(re.search(pattern, found)))

    @keyword(f"{_BLAMED} Should Be At Least")
    def should_be_at_least(self, blamed: Blamed, subject: str, found: float, limit: float, source: str = "") -> None:
        """Check that a number is not below a limit.

        Args:
            blamed: ``Card`` or ``Bench``: which of them is wrong otherwise.
            subject: What was measured, with its unit, such as ``speed of dut.p0 in Mbit/s``.
            found: The number.
            limit: The limit.
            source: Where it is said.
        """
        require_number(subject, found)
        require(blamed, subject, f"{found:g}", f"at least {limit:g}", source, met=found >= limit)

    @keyword(f"{_BLAMED} Should Be At Most")
    def should_be_at_most(self, blamed: Blamed, subject: str, found: float, limit: float, source: str = "") -> None:
        """Check that a number is not above a limit.

        Args:
            blamed: ``Card`` or ``Bench``: which of them is wrong otherwise.
            subject: What was measured, with its unit.
            found: The number.
            limit: The limit.
            source: Where it is said.
        """
        require_number(subject, found)
        require(blamed, subject, f"{found:g}", f"at most {limit:g}", source, met=found <= limit)

"""The errors that a question to a server may raise."""

from __future__ import annotations

from typing import Self

from niclab.core.verdict import BenchFault, NotApplicable

_SHOWN_CHARACTERS = 120


class ReadError(BenchFault):
    """Text of a tool that cannot be read; never answered with an empty, zero or guessed value.

    ``message`` is the sentence without subject, ``subject`` says whose text it was (``dut: `ethtool -i enp1s0```).
    """

    def __init__(self, message: str, subject: str = "") -> None:
        super().__init__(f"{subject}: {message}" if subject else message)
        self.message = message

    def about(self, subject: str) -> Self:
        """The same error, naming host and command."""
        return type(self)(self.message, subject)


class NoDevice(BenchFault):
    """No PCI device is at the address of the bench file."""


class NoInterface(BenchFault):
    """A PCI device without a network interface: no driver bound, or the driver's probe failed."""


def unreadable(kind: str, where: str, text: object, expected: str) -> ReadError:
    """The one sentence of every reader: ``cannot read KIND: WHERE 'text'; expected ...``.

    Args:
        kind: The tool and form that was read, ``ethtool -i``.
        where: ``line 3``, or the path of a JSON value.
        text: What is there; shortened to 120 characters.
        expected: What is wanted instead, in plain words.
    """
    shown = text if isinstance(text, str) else repr(text)
    if len(shown) > _SHOWN_CHARACTERS:
        shown = shown[:_SHOWN_CHARACTERS] + "..."
    return ReadError(f"cannot read {kind}: {where} {shown!r}; expected {expected}")


class NotOffered(NotApplicable):
    """The driver has no operation that shows or takes this setting.

    No fault of the bench: the question does not apply to this driver. A setting that the sheet names is asked for with
    ``DutPort.ask``, which charges the card with it.
    """


class ModuleRefused(BenchFault):
    """The kernel does not take a driver's module.

    Args:
        message: The sentence, with the words of the tool.
        lacks_key: It knows no key of its signature, or there is none; else it lacks a symbol, or is of another kernel.
    """

    def __init__(self, message: str, lacks_key: bool) -> None:
        super().__init__(message)
        self.lacks_key = lacks_key


class ModuleUnread(BenchFault):
    """A driver that shows modules could not read the one in a port's cage; the words are the tool's."""


class LookFailed(BenchFault):
    """A driver that offers a look into its card could not take it; the words are the tool's."""

"""Tools that write firmware and that no system brings along: those of the cards' vendors, and devlink."""

from __future__ import annotations

import re
import shlex
from abc import abstractmethod
from collections.abc import Sequence
from typing import ClassVar

from niclab.core.verdict import BenchFault
from niclab.hosts.command_words import interface_name, pci_address
from niclab.hosts.host import CommandResult
from niclab.hosts.host_commands import HostCommands, is_no_answer, words_of
from niclab.hosts.settings.settings_records import FirmwareTool, ToolAnswer, ToolRun

_TIMEOUT_S = 600
_NOT_STARTED, _OWN_FAILURE = 126, 255  # the second is what a program gives that ends with -1
_PROGRAM = re.compile(r"[A-Za-z0-9_.+/-]{1,200}")
_SYSTEM = r"(operating system|\bos\b|platform|distribution|release|kernel)"
_UNSUPPORTED = re.compile(
    rf"unsupported {_SYSTEM}|{_SYSTEM}( \S+)? (is |version )*(not supported|unsupported)", re.IGNORECASE
)


class FirmwareTools(HostCommands):
    """Programs that write firmware. See :class:`niclab.hosts.host.HostFirmware` for the meaning of each method."""

    IMAGES: ClassVar[str]
    """The folder of the system's firmware images."""

    def missing_programs(self, names: Sequence[str]) -> tuple[str, ...]:
        """Name those of some programs that the system does not find, or may not run."""
        for name in names:
            if not _PROGRAM.fullmatch(name):
                raise BenchFault(f"{self.name}: program {name!r}; expected a name or a path")
        looks = "; ".join(f'test -x "$(command -v {name})" || echo {name}' for name in names)
        return tuple(self._run(looks).split())

    def tool_command(self, tool: FirmwareTool, iface: str, address: str, file: str) -> str:
        """The command of :meth:`write_with`, for the journal."""
        image = shlex.quote(f"{self.IMAGES}/{self._checked_file(file)}")
        line = tool.line
        for word, value in (
            ("interface", interface_name(self.name, iface)),
            ("pci", pci_address(self.name, address)),
            ("image", image),
            ("file", file),
        ):
            line = line.replace(f"{{{word}}}", value)
        return f": writes firmware; {line}"

    def write_with(self, tool: FirmwareTool, iface: str, address: str, file: str) -> ToolRun:
        """Write a firmware image into the card with a tool.

        Raises:
            BenchFault: When the tool cannot be started or was killed, or has no device, rights or memory.
        """
        command = self.tool_command(tool, iface, address, file)
        result = self._try(command, timeout_s=_TIMEOUT_S)
        answer = answer_of(tool, result)
        if answer is None:
            raise self._failed(command, result)
        return ToolRun(answer, words_of(result))

    @abstractmethod
    def _checked_file(self, file: str) -> str:
        """The name of a firmware image, where it is one."""


def answer_of(tool: FirmwareTool, result: CommandResult) -> ToolAnswer | None:
    """Read how a tool ended. Its words count more than its exit status, which is 0 also where scripts give up.

    Args:
        tool: The tool.
        result: What it said.

    Returns:
        The answer; None where it could not work, whoever refused nothing.
    """
    said = f"{result.stdout}\n{result.stderr}"
    if result.exit_status is None or _NOT_STARTED <= result.exit_status < _OWN_FAILURE:
        return None
    if tool.refused_by_any_error and result.exit_status != 0 and is_no_answer(result):
        return None
    if tool.refused is not None and re.search(tool.refused, said):
        return ToolAnswer.REFUSED
    if _UNSUPPORTED.search(said) or (tool.unsupported is not None and re.search(tool.unsupported, said)):
        return ToolAnswer.UNSUPPORTED
    if result.exit_status == 0:
        return ToolAnswer.WRITTEN
    return None if is_no_answer(result) else ToolAnswer.FAILED

"""A verdict follows from records and Enums: no code searches the words of a message of the project's own.

And a sheet that gives no answer is SheetSilent or SheetUnknown: what is merely not applicable, a plan may allow.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

from parsed_tree import trees

LIBRARIES = Path(__file__).resolve().parents[1] / "libraries"
NICLAB = LIBRARIES / "niclab"
READERS = (NICLAB / "hosts",)
"""Folders whose modules read what tools of a server print."""
FOREIGN_WORDS = {"files/nodes.py": "PyYAML has no code for its problems"}
"""Modules that search words of another package, and why."""
MESSAGES = {"message", "reason"}
ERRORS = ("Fault", "Error", "Failure", "Failed")
SEARCHES = {"startswith", "endswith", "find", "index", "count", "partition", "search", "match", "fullmatch", "findall"}

NO_ANSWER = re.compile(
    r"sheet \{\} (has no|names (no|none)|does not (know|say)|knows (no|none|nothing|neither)|says nothing)\b"
)
"""Begins the message of a sheet that gives no answer."""
OF_THE_DRIVER = "the table of the system's driver is whole: an offload that it lacks, the driver lacks"
ANSWERS = {
    ("checks/firmware.py", "names none"): "no port shows one either; whether the version is right is asked elsewhere",
    ("checks/packages.py", "names no driver {} that comes with the kernel"): "plans name it: the kernel brings none",
    ("links/optics/cage_checks.py", "has no cage for a module: link.media: {}"): "link.media is the answer",
    ("settings/tcp_offload.py", "names no TCP offload of {} on {}"): "left out: the driver has none",
    ("settings/tcp_offload.py", "names no direct placement"): "left out: the driver has none",
    ("settings/tcp_offload.py", "has no word that switches offload toe on"): OF_THE_DRIVER,
    ("frames/filters.py", "names no offload {} for {}"): OF_THE_DRIVER,
    ("settings/held.py", "has no offload {} that can be switched on {}"): OF_THE_DRIVER,
    ("settings/held.py", "does not say that offload {} can be switched"): "it says that it cannot: unknown is another",
    ("settings/offloads/offload_table.py", "says nothing about offload {} for {}"): OF_THE_DRIVER,
    ("settings/offloads/offload_proof.py", "names no counter by which TCP proves {}"): "a driver need not count it",
    ("frames/delivery.py", "knows no offload {} that can be switched"): "it says that none can: unknown is another",
    ("settings/dut_ports.py", "names no {}{}"): "rows of settings are those that the driver has",
    ("settings/dut_ports.py", "knows nothing of {} as delivered"): "it names none: the driver has none",
    ("settings/dut_ports.py", "knows nothing of {} as delivered, and the driver offers none: {}"): "neither has it",
    ("settings/held.py", "names no {} queues"): "a section of queues has the kinds that the driver has",
    ("settings/queues.py", "names no combined queues"): "a section of queues has the kinds that the driver has",
    ("settings/tunables.py", "knows no default of a tunable of {}"): "it names none: the driver has none",
    ("traffic/effects/adaptive.py", "names no adaptive coalescing of received frames"): "left out: the driver has none",
    ("traffic/limits/frame_rate.py", "has no limits.frames_per_s"): "left out: no limit comes before the line",
    ("traffic/limits/frame_rate.py", "has no limits.frame_rate_same_within_percent"): "left out with frames_per_s",
    (
        "storage/offload/engine.py",
        "has no section iscsi_offload: no document says that it speaks iSCSI",
    ): "plans name it",
    (
        "storage/iscsi/iscsi_workloads.py",
        "has no section iscsi: no document ran storage over this card",
    ): "plans name it",
    (
        "storage/nvme/nvme_workloads.py",
        "has no section nvme_tcp: nobody asks for NVMe over TCP by this card",
    ): "left out: no requirement asks for it",
    ("storage/nfs/nfs_limit.py", "has no limits.nfs"): "plans name it: no document ran NFS over this card",
}
"""Messages that read like a sheet without an answer, and why each is one."""


def template(text: ast.expr, variables: dict[str, ast.expr]) -> str:
    """A message with ``{}`` for what is filled in; a part with a name of its own is filled in as well."""
    if isinstance(text, ast.Name) and text.id in variables:
        return template(variables[text.id], {})
    if isinstance(text, ast.Constant):
        return str(text.value)
    if isinstance(text, ast.JoinedStr):
        return "".join(
            template(part.value, variables) if isinstance(part, ast.FormattedValue) else template(part, variables)
            for part in text.values
        )
    return "{}"


def without_answer(tree: ast.Module) -> Iterator[str]:
    """The messages of plain NotApplicable that say of the sheet that it gives no answer, without their beginning."""
    for function in ast.walk(tree):
        if not isinstance(function, ast.FunctionDef):
            continue
        assigned = [node for node in ast.walk(function) if isinstance(node, ast.Assign)]
        variables = {ast.unparse(each.targets[0]): each.value for each in assigned if is_text(each.value)}
        for node in ast.walk(function):
            if isinstance(node, ast.Call) and ast.unparse(node.func) == "NotApplicable" and node.args:
                said = template(node.args[0], variables)
                if NO_ANSWER.search(said):
                    yield said.partition("sheet {} ")[2]


def is_text(value: ast.expr) -> bool:
    return isinstance(value, ast.JoinedStr | ast.Constant)


def searched(tree: ast.Module) -> Iterator[tuple[ast.expr | None, ast.expr]]:
    """The text that is looked for (None: not known) and the one that is searched, of every search in a module."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Compare):
            for operator, text in zip(node.ops, node.comparators, strict=True):
                if isinstance(operator, ast.In | ast.NotIn):
                    yield node.left, text
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in SEARCHES:
            yield None, node.func.value
            for text in node.args:
                yield None, text


def is_own_message(text: ast.expr, caught: set[str]) -> bool:
    """Is a text an error turned into words, or a field or variable that holds a message?"""
    if isinstance(text, ast.Call) and ast.unparse(text.func) == "str" and text.args:
        return isinstance(text.args[0], ast.Name) and text.args[0].id in caught
    name = text.attr if isinstance(text, ast.Attribute) else text.id if isinstance(text, ast.Name) else ""
    return name in MESSAGES


def breaches(tree: ast.Module, *, reads_tools: bool) -> list[int]:
    """The lines in which a module searches a message, or a sentence in any text unless it reads what tools print."""
    caught = {node.name for node in ast.walk(tree) if isinstance(node, ast.ExceptHandler) and node.name}
    caught |= {
        each.arg
        for node in ast.walk(tree)
        if isinstance(node, ast.arguments)
        for each in node.args
        if each.annotation is not None
        and ast.unparse(each.annotation).endswith(("Fault", "Error", "Failure", "Failed"))
    }
    found = list[int]()
    for wanted, text in searched(tree):
        of_in = wanted is not None
        sentence = isinstance(wanted, ast.Constant) and isinstance(wanted.value, str) and " " in wanted.value.strip()
        if (is_own_message(text, caught) and (of_in or isinstance(text, ast.Call))) or (sentence and not reads_tools):
            found.append(text.lineno)
    return found


def test_no_message_of_the_project_is_searched() -> None:
    found = {
        str(file.relative_to(NICLAB if file.is_relative_to(NICLAB) else LIBRARIES)): lines
        for file, tree in trees(LIBRARIES)
        if (lines := breaches(tree, reads_tools=any(file.is_relative_to(folder) for folder in READERS)))
    }
    assert {file: lines for file, lines in found.items() if file not in FOREIGN_WORDS} == {}
    assert set(FOREIGN_WORDS) <= set(found)


def test_a_breach_would_be_found() -> None:
    """Negative control of this file's own search."""
    of_an_error = "try:\n    f()\nexcept ValueError as error:\n    if 'busy' in str(error):\n        raise\n"
    of_an_argument = "def f(error: BenchFault) -> bool:\n    return 'busy' in str(error)\n"
    by_a_pattern = "try:\n    f()\nexcept ValueError as error:\n    re.search('busy', str(error))\n"
    of_a_reason, of_a_list = "kind = 'busy' in each.reason\n", "any('stood still' in each for each in lines)\n"
    for text in (of_an_error, of_an_argument, by_a_pattern, of_a_reason, of_a_list):
        assert breaches(ast.parse(text), reads_tools=False), text
    for text in ("'busy' in result.stderr\n", "name in names\n", "kind in (1, 2)\n"):
        assert not breaches(ast.parse(text), reads_tools=False), text
    assert not breaches(ast.parse("'no device' in result.stderr\n"), reads_tools=True)


def test_a_sheet_without_an_answer_is_no_question_that_does_not_apply() -> None:
    found = {(str(file.relative_to(NICLAB)), said) for file, tree in trees(NICLAB) for said in without_answer(tree)}
    assert found - set(ANSWERS) == set(), "SheetSilent, SheetUnknown, or a reason here"
    assert set(ANSWERS) - found == set()


def test_a_silent_sheet_would_be_found() -> None:
    """Negative control of this file's own search."""
    for text in (
        "raise NotApplicable(f'sheet {card.name} has no limits.x')",
        "raise NotApplicable(f'{place}, and sheet {card.name} names none')",
        "said = f'sheet {card.name} knows nothing of {what}'\n    raise A(said) if why else NotApplicable(said)",
        "raise NotApplicable(\n        f'sheet {name} does not know ' f'{what}'\n    )",
    ):
        assert list(without_answer(ast.parse(f"def f():\n    {text}\n"))), text
    for text in ("raise SheetSilent(f'sheet {name} has no x')", "raise NotApplicable(f'sheet {name} lists no x')"):
        assert not list(without_answer(ast.parse(f"def f():\n    {text}\n"))), text

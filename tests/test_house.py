"""The house stays in order: sizes, imports, names, and fields that somebody reads.

The lists of known exceptions may only become shorter: an entry that is no exception any more fails its test.
"""

from __future__ import annotations

import ast
import re
from collections import Counter, defaultdict
from collections.abc import Collection, Mapping
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest
from parsed_tree import trees

REPOSITORY = Path(__file__).resolve().parents[1]
LIBRARIES = REPOSITORY / "libraries"
NICLAB = LIBRARIES / "niclab"
KEYWORD_LIBRARY_LINES = 120
LIBRARIES_LINES = 92_231
"""A little above what they have. Whoever needs more looks first for what can go."""
FILE_LINES, FUNCTION_LINES, FOLDER_FILES = 440, 50, 15
LONG_FUNCTIONS = {
    "frames/exchange.py:exchange",
    "commands/certifying/certify.py:run",
    "commands/cli.py:_parser",
    "commands/doctor.py:examine",
    "links/carrier.py:expect",
    "report/allure/allure.py:generate",
    "report/certificate/certificate.py:_certificate",
    "report/evidence/runfolder.py:new_run",
}
"""Functions that are longer."""
SAME_NAMES = {"common", "freebsd", "linux", "parity", "timing"}
"""Names of modules that several have: parts of systems, and a command with the module that does its work."""
BELOW = {"core": set[str](), "files": {"core"}, "transports": {"core", "files"}}
"""Package -> the packages of niclab that it may import; the others may import any, as long as there is no cycle."""

READ_ONLY = r"(Mapping|Sequence|Collection|Set)\b"
CHANGING = r"(list|dict|set|defaultdict|Counter|deque|ContextVar|(threading\.)?local|ExitStack|.*\.ExitStack)\b"

MODEL_OF_A_CARD = "card.model."
"""Constants of the model of a card, which the virtual bench reads and no check may read."""
SHEET_PROBLEMS = NICLAB / "card" / "checks.py"
EXCEPTIONS = dict(line.split("  # ") for line in (Path(__file__).parent / "unread_fields.txt").read_text().splitlines())
"""Fields of records that nothing reads by name, ``module.Class.field``, and who reads them all the same."""


def imported_packages(tree: ast.Module) -> set[str]:
    """The packages of niclab that a module imports when it runs; imports for types alone are none."""
    typing = {
        id(each)
        for node in ast.walk(tree)
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"
        for each in ast.walk(node)
    }
    names = list[str]()
    for node in ast.walk(tree):
        if id(node) in typing:
            continue
        if isinstance(node, ast.Import):
            names += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module == "niclab":
            names += [f"niclab.{alias.name}" for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module:
            names.append(node.module)
    return {name.split(".")[1] for name in names if name.startswith("niclab.")}


def imported_modules(tree: ast.Module, known: Collection[str]) -> set[str]:
    """The modules among those ``known`` that a module names in an import: also for types alone, and in a function."""
    names = set[str]()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            submodules = {f"{node.module}.{alias.name}" for alias in node.names}
            names |= submodules & set(known) or {node.module}
    return names & set(known)


def changing_state(tree: ast.Module) -> list[str]:
    """Variables of a module that its functions can change: containers that are not declared read-only, and globals."""
    found = [name for node in ast.walk(tree) if isinstance(node, ast.Global) for name in node.names]
    for node in tree.body:
        if isinstance(node, ast.Assign | ast.AnnAssign) and (value := node.value) is not None:
            target = ast.unparse(node.targets[0] if isinstance(node, ast.Assign) else node.target)
            read_only = isinstance(node, ast.AnnAssign) and re.match(READ_ONLY, ast.unparse(node.annotation))
            made = isinstance(value, ast.Call) and re.match(CHANGING, ast.unparse(value.func))
            display = isinstance(value, ast.List | ast.Dict | ast.Set | ast.ListComp | ast.DictComp | ast.SetComp)
            found += [target] if (made or display) and not read_only and target != "__all__" else []
    return found


def circle_of(graph: Mapping[str, set[str]]) -> list[str]:
    """A circle of a graph of imports; empty when there is none."""
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        return list(error.args[1])
    return []


@cache
def packages() -> dict[str, set[str]]:
    """Package of niclab -> the other packages that it imports."""
    found = defaultdict[str, set[str]](set)
    for file, tree in trees(NICLAB):
        package = file.relative_to(NICLAB).parts[0]
        if not package.endswith(".py"):
            found[package] |= imported_packages(tree) - {package, "__version__"}
    return dict(found)


def is_record(node: ast.ClassDef) -> bool:
    """Is it a dataclass, or a record of a bench file or card sheet?"""
    bases = {ast.unparse(base) for base in node.bases}
    records = {"Record", "Sheet", "Section", "VersionLists"}
    return any("dataclass" in ast.unparse(each) for each in node.decorator_list) or bool(bases & records)


def reads_itself(node: ast.ClassDef) -> bool:
    """Does a method of the record go through all its fields?"""
    return any(isinstance(each, ast.Call) and ast.unparse(each).endswith("fields(self)") for each in ast.walk(node))


def fields() -> dict[str, str]:
    """``module.Class.field`` -> ``field``, of every record of niclab that does not go through its fields itself."""
    return {
        f"{'.'.join(file.relative_to(NICLAB).with_suffix('').parts)}.{node.name}.{line.target.id}": line.target.id
        for file, tree in trees(NICLAB)
        for node in ast.walk(tree)
        if isinstance(node, ast.ClassDef) and is_record(node) and not reads_itself(node)
        for line in node.body
        if isinstance(line, ast.AnnAssign) and isinstance(line.target, ast.Name)
    }


def read_names() -> set[str]:
    """Names of attributes that a library reads, also by ``getattr`` and tables of names.

    What looks for contradictions in a sheet asks nothing of a card: it is no reader.
    """
    names = set[str]()
    for file, tree in trees(LIBRARIES):
        if file == SHEET_PROBLEMS:
            continue
        for node in ast.walk(tree):
            if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Load):
                names.add(node.attr)
            elif isinstance(node, ast.Constant) and isinstance(node.value, str):
                names.add(node.value)
    return names


@pytest.mark.parametrize("file", sorted(LIBRARIES.glob("*.py")), ids=lambda file: file.stem)
def test_a_keyword_library_is_vocabulary(file: Path) -> None:
    text = file.read_text()
    assert len(text.splitlines()) <= KEYWORD_LIBRARY_LINES
    assert "get_library_instance" not in text


def test_the_libraries_do_not_grow_by_themselves() -> None:
    sizes = {file: len(file.read_text().splitlines()) for file, _ in trees(LIBRARIES)}
    assert sum(sizes.values()) <= LIBRARIES_LINES
    assert {file: size for file, size in sizes.items() if size > FILE_LINES} == {}


def test_functions_are_short() -> None:
    long = {
        f"{file.relative_to(NICLAB)}:{node.name}"
        for file, tree in trees(NICLAB)
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        and (node.end_lineno or node.lineno) - node.lineno >= FUNCTION_LINES
    }
    assert long == LONG_FUNCTIONS


def test_a_folder_can_be_looked_over() -> None:
    modules = [file for file, _ in trees(NICLAB) if file.stem != "__init__"]
    counts = Counter(file.parent for file in modules)
    assert {folder: count for folder, count in counts.items() if count > FOLDER_FILES} == {}
    names = Counter(file.stem for file in modules)
    assert {name for name, count in names.items() if count > 1} == SAME_NAMES


def test_suites_import_resources_only() -> None:
    suites = list((REPOSITORY / "suites").rglob("*.robot"))
    assert suites
    assert [file.name for file in suites if re.search(r"^(Library|Variables)\s", file.read_text(), re.MULTILINE)] == []


def test_packages_import_one_way() -> None:
    found = packages()
    assert circle_of(found) == []
    assert len(found) > 10


def test_files_import_one_way() -> None:
    modules = {".".join(file.relative_to(LIBRARIES).with_suffix("").parts): tree for file, tree in trees(LIBRARIES)}
    found = {name: imported_modules(tree, modules) - {name} for name, tree in modules.items()}
    assert circle_of(found) == []
    assert sum(map(len, found.values())) > 1000


@pytest.mark.parametrize(("package", "allowed"), BELOW.items())
def test_a_package_below_the_others_imports_none_of_them(package: str, allowed: set[str]) -> None:
    assert packages()[package] <= allowed


def test_contributing_lists_every_package_above_those_that_import_it() -> None:
    rows = re.findall(r"^\| ((?:`\w+`(?:, )?)+) \|", (REPOSITORY / "CONTRIBUTING.md").read_text(), re.MULTILINE)
    above = set[str]()
    for row in rows:
        here = set(re.findall(r"\w+", row))
        above |= here
        assert {name: packages()[name] - above for name in here if packages()[name] - above} == {}
    assert above == set(packages())


@pytest.mark.parametrize("file", sorted((NICLAB / "core").glob("*.py")), ids=lambda file: file.stem)
def test_the_core_holds_no_state_of_a_run(file: Path) -> None:
    assert changing_state(ast.parse(file.read_text())) == []


def test_class_names_are_unique() -> None:
    places = defaultdict[str, list[str]](list)
    for file, tree in trees(NICLAB):
        for node in tree.body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                places[node.name].append(file.stem)
    assert {name: files for name, files in places.items() if len(files) > 1} == {}


def test_every_field_of_a_record_has_a_reader() -> None:
    names, found = read_names(), fields()
    assert len(found) > 500
    unread = {place for place, name in found.items() if name not in names}
    assert {place for place in unread if not place.startswith(MODEL_OF_A_CARD)} == set(EXCEPTIONS)
    assert all(len(reason.split()) > 2 for reason in EXCEPTIONS.values())


def test_every_fact_of_a_sheet_is_asked() -> None:
    """The list of unread fields has none of a card sheet: a fact that nothing asks makes a certificate say too much."""
    assert [place for place in EXCEPTIONS if place.startswith("card.")] == []
    asked = {place for place in fields() if place.startswith("card.")}
    assert {"card.identity_facts.IdentityFacts.mac_ouis", "card.limits.Limits.vlan_fraction_of_untagged"} <= asked


def test_every_figure_of_scale_names_what_measures_it() -> None:
    table = (REPOSITORY / "docs/scale.md").read_text().partition("| measured | figure | by |\n")[2].partition("\n\n")[0]
    _, *rows = table.splitlines()
    assert len(rows) > 5
    for row in rows:
        (program,) = re.findall(r"`([a-z/_]+\.py)` \|$", row)
        assert (REPOSITORY / program).is_file(), row


def test_a_breach_would_be_found() -> None:
    """Negative control of this file's own search."""
    tree = ast.parse(
        "from niclab.hosts import x\nif TYPE_CHECKING:\n    from niclab.run.run import Run\nimport niclab.card"
    )
    assert imported_packages(tree) == {"hosts", "card"}
    known = {"niclab.hosts.x", "niclab.run.run", "niclab.card", "niclab.core.wait"}
    assert imported_modules(tree, known) == {"niclab.hosts.x", "niclab.run.run", "niclab.card"}
    assert imported_modules(ast.parse("def f():\n    import niclab.card"), known) == {"niclab.card"}
    assert circle_of({"a": {"b"}, "b": {"a"}}) == ["a", "b", "a"]
    kept = "a: list[int] = []\nb = dict[str, int]()\nc: Mapping[str, int] = {}\nd = (1,)\ndef f():\n    global d"
    assert changing_state(ast.parse(kept)) == ["d", "a", "b"]
    (node,) = ast.parse("@dataclass(frozen=True)\nclass A:\n    b: int").body
    assert isinstance(node, ast.ClassDef) and is_record(node) and not reads_itself(node)
    (node,) = ast.parse("class A:\n    b: int\n    def c(self):\n        return [d for d in fields(self)]").body
    assert isinstance(node, ast.ClassDef) and reads_itself(node)

"""The reach of a run on a bench, reported before it starts: its equipment against what the tests need."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from niclab.bench.records import Bench, Role, Wiring
from niclab.report.allure.tags import DECIDES
from niclab.scope.requirements import Requirements

NEEDS = "needs:"
"""The beginning of a tag that names equipment."""
Tags = frozenset[str]


def missing(bench: Bench) -> list[str]:
    """Name the equipment that a bench has not, by the tags of the tests that need it.

    Args:
        bench: The bench.
    """
    servers = [bench.server(role) for role in Role]
    on_switch = any(path.through is Wiring.SWITCH for path in bench.paths)
    has = {
        "bmc": all(server.bmc is not None for server in servers),
        "console": all(server.console is not None for server in servers),
        "cable": any(path.pull for path in bench.paths),
        "switch": bench.switch is not None and (bench.switch.connect is not None or on_switch),
    }
    return [name for name, there in has.items() if not there]


@dataclass(frozen=True)
class Reach:
    """The tests of a run, and the equipment that the bench lacks.

    Attributes:
        tests: Tags of each test.
        lacks: Names of the equipment, see :func:`missing`.
        requirements: Every requirement of the lab.
    """

    tests: Sequence[Tags]
    lacks: Sequence[str]
    requirements: Requirements

    def lines(self) -> Iterator[str]:
        """Say which requirements the bench can decide, and why it cannot decide the others."""
        skipped = sum(bool(self._lacking(tags)) for tags in self.tests)
        lacks = f"no {', no '.join(self.lacks)}" if self.lacks else "everything that a test needs"
        yield f"equipment: {lacks}; {skipped} of {len(self.tests)} tests cannot be asked"
        found = {each: self._decided(each) for each in self.requirements.requirements}
        for title, wanted in (("can decide", "all"), ("can decide in part", "part"), ("cannot decide", "none")):
            named = [f"{each}{why}" for each, (how, why) in found.items() if how == wanted]
            yield f"the bench {title} ({len(named)}): {', '.join(named) or 'none'}"
        others = [each for each, (how, _) in found.items() if how == "no test"]
        yield f"without a test in this run ({len(others)}): {', '.join(others) or 'none'}"

    def _decided(self, requirement: str) -> tuple[str, str]:
        """Return how far a requirement can be decided, and the obstacles: parts without a test, and equipment."""
        decides = [f"{DECIDES}{part}".lower() for part in self.requirements.parts(requirement)]
        tests = [tags for tags in self.tests if not tags.isdisjoint(decides)]
        if not tests:
            return "no test", ""
        asked = sum(any(part in tags for tags in tests) for part in decides)
        lacking = [names for tags in tests if (names := self._lacking(tags))]
        names = sorted({name for each in lacking for name in each})
        words = [f"{asked} of {len(decides)} parts"] * (asked < len(decides))
        words += [f"without {', '.join(names)}: {len(lacking)} of {len(tests)} tests"] * bool(lacking)
        why = f" ({'; '.join(words)})" if words else ""
        return ("none" if len(lacking) == len(tests) else "part" if words else "all"), why

    def _lacking(self, tags: Tags) -> list[str]:
        return [name for name in self.lacks if f"{NEEDS}{name}" in tags]


def reach(bench: Bench, tests: Iterable[Iterable[str]], requirements: Requirements) -> Reach:
    """Compare a bench with the tests of a run.

    Args:
        bench: The bench.
        tests: Tags of each test.
        requirements: Every requirement of the lab.
    """
    return Reach([frozenset(tag.lower() for tag in tags) for tags in tests], missing(bench), requirements)

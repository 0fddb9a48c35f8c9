"""The virtual bench of the negative controls, and the suites run against it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from real_bench import NAME
from robot.api import ExecutionResult

import lifecycle
import slots
from identity import Identity

REPOSITORY = Path(__file__).resolve().parents[2]
VBENCH = REPOSITORY / "lab" / "virtual" / "vbench"
ROBOT_WITHIN_S = 600


def only(*names: str) -> list[str]:
    """The options of robot that select tests by name."""
    return [option for name in names for option in ("--test", name)]


@dataclass(frozen=True)
class Run:
    """The result of a run of the suites: test name -> message of the red ones, names of the green ones, the rest."""

    red: dict[str, str]
    green: set[str]
    skipped: set[str]
    seconds: float
    setup_message: str

    def should_show(self, red: set[str], green: set[str] | None = None) -> None:
        """Assert that these tests and no others are red, and green; the message quotes what the red ones say."""
        shown = "".join(f"\n  {name}: {message}" for name, message in self.red.items())
        assert set(self.red) == red, f"red should be {sorted(red)}, and is:{shown or ' nothing'}"
        assert green is None or self.green == green, f"green should be {sorted(green)}, and is {sorted(self.green)}"


class Bench:
    """The virtual bench of the controls, and the suites run against it."""

    def __init__(self, file: Path, scratch: Path) -> None:
        self.file, self._scratch, self._count, self._sheets = file, scratch, 0, 0

    def vbench(self, *arguments: str) -> str:
        """Run ``vbench`` for this bench; returns what it printed."""
        words = 2 if arguments[0] == "fault" else 1
        command = [sys.executable, str(VBENCH), *arguments[:words], "--name", NAME, *arguments[words:]]
        done = subprocess.run(command, capture_output=True, text=True, timeout=300, stdin=subprocess.DEVNULL)
        assert done.returncode == 0, f"{command}: {done.stdout}{done.stderr}"
        return done.stdout

    def power_cycle(self, role: str) -> None:
        """Cut the power of a server and bring it up again."""
        layout = slots.bench(NAME)
        lifecycle.redfish(layout.server(role), Identity(layout), "ForceOff")
        self.vbench("up")

    def ssh(self, role: str, command: str) -> str:
        return self.vbench("ssh", role, command)

    def sheet(self, **facts: tuple[str, str]) -> Path:
        """A copy of the card's sheet in which each given line is replaced: name=(old, new)."""
        text = (REPOSITORY / "lab/cards/intel-82574l.yaml").read_text()
        for old, new in facts.values():
            assert text.count(old) == 1, f"{old!r} is in the sheet {text.count(old)} times"
            text = text.replace(old, new)
        self._sheets += 1
        folder = self._scratch / f"sheet-{self._sheets}"
        folder.mkdir()
        path = folder / "intel-82574l.yaml"
        path.write_text(text)
        return path

    def command(self, *options: str, card: Path | str | None = None, suites: Path = REPOSITORY / "suites") -> list[str]:
        """The robot command for suites on this bench; its output folder is new each time."""
        self._count += 1
        self.output = self._scratch / f"run-{self._count}"
        variables = ["--variable", f"BENCH:{self.file}"]
        if card is not None:
            variables += ["--variable", f"CARD:{card}"]
        if isinstance(card, str):  # tests are made from its sheet as `niclab certify` makes them
            sheet = REPOSITORY / "lab" / "cards" / f"{card}.yaml"
            variables += ["--prerunmodifier", f"{REPOSITORY / 'libraries' / 'listeners' / 'PerCard.py'}:{sheet}"]
        fixed = ["--outputdir", str(self.output), "--console", "none"]
        return [sys.executable, "-m", "robot", *variables, *options, *fixed, str(suites)]

    def run(
        self,
        *options: str,
        card: Path | str | None = None,
        inject: tuple[str, str, str] | None = None,
        others: Sequence[tuple[str, str, str]] = (),
        suites: Path = REPOSITORY / "suites",
    ) -> Run:
        """Run the suites selected by ``options``.

        Args:
            inject: Name of a test, and the ``vbench`` arguments that inject a defect into it and clear it.
            others: More of them, each into a test of its own.
        """
        environment, listener = dict(os.environ), []
        injected = [*([inject] if inject is not None else []), *others]
        if injected:
            prefix = f"{sys.executable} {VBENCH}"
            plans = [
                {"test": test, "inject": f"{prefix} {defect}", "clear": f"{prefix} {clear}" if clear else ""}
                for test, defect, clear in injected
            ]
            environment["CONTROL_INJECT"] = json.dumps(plans)
            listener = ["--listener", str(Path(__file__).with_name("inject.py"))]
        start = time.monotonic()
        done = subprocess.run(
            self.command(*listener, *options, card=card, suites=suites),
            capture_output=True,
            text=True,
            env=environment,
            timeout=ROBOT_WITHIN_S,
            stdin=subprocess.DEVNULL,
        )
        assert done.returncode <= 250, f"robot could not run: {done.stdout}{done.stderr}"
        return self.result(time.monotonic() - start)

    def result(self, seconds: float = 0.0) -> Run:
        """The outcome in the output folder of the last command."""
        result = ExecutionResult(self.output / "output.xml")
        errors = [message.message for message in result.errors if message.level == "ERROR"]
        assert not errors, errors  # a defect that was not injected is such an error
        suite = result.suite
        tests = list(suite.all_tests)
        assert tests, "no test was run"
        return Run(
            red={test.name: test.message for test in tests if test.failed},
            green={test.name for test in tests if test.passed},
            skipped={test.name for test in tests if test.skipped},
            seconds=seconds,
            setup_message=suite.setup.message or suite.message,
        )


def run_with(bench: Bench, into: str, target: str, fault: str, *others: str) -> Run:
    """Run the test ``into`` with the fault, from the end of its setup on, and others without."""
    inject = (into, f"fault set --name {NAME} {target} {fault}", f"fault clear --name {NAME}")
    run = bench.run(*only(into, *others), inject=inject)
    run.should_show(red={into}, green=set(others))
    return run

"""Robot Framework listener that injects a defect while one test runs: the defect comes after the bench was proven good.

``CONTROL_INJECT`` in the environment is JSON, a list of ``{"test": name, "inject": command, "clear": command}`` with at
most one for each test. ``inject`` runs when the test's setup has ended, ``clear`` when the test has ended; both are
command lines run from the repository root.
"""

from __future__ import annotations

import json
import os
import shlex
import subprocess
from pathlib import Path
from typing import Any

REPOSITORY = Path(__file__).resolve().parents[2]


class inject:
    ROBOT_LISTENER_API_VERSION = 3

    def __init__(self) -> None:
        plans: list[dict[str, str]] = json.loads(os.environ["CONTROL_INJECT"])
        self._plans = {plan["test"]: plan for plan in plans}
        self._armed: dict[str, str] | None = None

    def start_test(self, data: Any, result: Any) -> None:
        self._armed = self._plans.get(result.name)
        if self._armed and not data.has_setup:
            raise AssertionError(f"{result.name} has no setup to inject the defect after")

    def end_keyword(self, _: Any, result: Any) -> None:
        if self._armed and result.type == "SETUP":
            _run(self._armed["inject"])
            self._armed = None

    def end_test(self, _: Any, result: Any) -> None:
        plan = self._plans.get(result.name)
        if plan and plan["clear"]:
            _run(plan["clear"])


def _run(command: str) -> None:
    subprocess.run(shlex.split(command), cwd=REPOSITORY, check=True, timeout=60, stdin=subprocess.DEVNULL)

"""The end of a run: the last looks at the card and the bench, and everything put back."""

from __future__ import annotations

import contextlib
from collections.abc import Callable

from niclab.checks.chosen_driver import ChosenDriver
from niclab.run.run import Run, release
from niclab.run.watching.facts import CardFacts
from niclab.run.watching.hygiene import BenchHygiene
from niclab.run.watching.kernel_watch import KernelWatch


def release_bench(run: Run, warn: Callable[[str], object]) -> None:
    """Undo every change, read the facts of the card again, and judge both kernels for the last time.

    The facts are read of the driver that was qualified: before it goes where the run has installed it, else when all
    is undone.

    Args:
        run: The current run.
        warn: Takes what is not as it was found, and what a kernel said after the last test.

    Raises:
        BenchFault: Something could not be undone, or a fact is not what it was at the start.
    """
    require_unchanged, chosen = run.part(CardFacts).require_unchanged, run.part(ChosenDriver)
    with contextlib.ExitStack() as ending:  # each step is taken, whatever becomes of those before it

        def compare() -> None:
            for found in run.part(BenchHygiene).finish():
                warn(f"Bench hygiene: {found}")

        def tell() -> None:
            for said in run.part(KernelWatch).found_at_the_end:
                warn(f"After the last test: {said}")

        ending.callback(tell)
        ending.callback(release, None if chosen.is_installed else lambda _: require_unchanged())
        ending.callback(compare)
        chosen.look_before_it_goes(require_unchanged)

"""Golden soak: certificates of a card without any defect; none may be red, undecided, or leave anything behind.

    python tests/robustness/soak.py --runs 20

Starts a bench of its own and removes it. Prints a line for each run, and ends with status 1 when one is not clean.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

import nightly
from nightly import Nightly, Outcome

HEAD = ("run", "seconds", "verdicts", "leftovers", "judged")


def row(number: int, outcome: Outcome) -> tuple[str, ...]:
    """The line of one run."""
    own = [f"{name}: {outcome.verdicts.get(name, 'missing')}" for name in nightly.OWN_CHECKS]
    wrong = [each for each in own if not each.endswith(": pass")]
    judged = "clean" if outcome.is_clean else why(outcome)
    return (str(number), f"{outcome.seconds:.0f}", nightly.counts(outcome), ", ".join(wrong) or "none", judged)


def why(outcome: Outcome) -> str:
    """Return why a run is not clean, in one line."""
    if not outcome.verdicts:
        return f"no certificate (status {outcome.status})"
    red = [f"{name.rpartition('.')[2]}: {outcome.verdicts[name]}" for name in outcome.red]
    others = [each for each in outcome.reasons if not nightly.of_partial(each)]
    return "; ".join(red or others or ["an own check is missing"])


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the certificates; 0 when all of them are clean."""
    parser = argparse.ArgumentParser(description="Certificates of a sound card, one after the other.")
    parser.add_argument("--runs", type=int, default=20)
    nightly.options_of(parser, "soak", ())
    options = parser.parse_args(arguments)
    bench = Nightly(options.name, options.card, options.suite, options.results)
    outcomes = []
    with bench.up():
        for number in range(1, options.runs + 1):
            outcomes.append(bench.whole_run())
            print(*row(number, outcomes[-1]), sep="  ", flush=True)
    print(nightly.table([HEAD, *(row(number, each) for number, each in enumerate(outcomes, 1))]))
    clean = sum(each.is_clean for each in outcomes)
    print(f"{clean} of {options.runs} runs clean, {sum(each.seconds for each in outcomes) / 60:.0f} min")
    return 0 if clean == options.runs else 1


if __name__ == "__main__":
    sys.exit(main())

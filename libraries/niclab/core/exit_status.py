"""The exit statuses of ``niclab``: the one table by which a pipeline tells the ends of a run apart."""

from __future__ import annotations

from enum import IntEnum


class ExitStatus(IntEnum):
    """Exit statuses of ``niclab certify``; where several apply, the first of :data:`GRAVEST_FIRST` does.

    ======  =============  ==========================================================================================
    status  name           meaning
    ======  =============  ==========================================================================================
    0       CERTIFIED      A clean certificate.
    1       CARD_FAILURE   A test found the card wrong, and no waiver covers it.
    2       WRONG_USAGE    The command line is wrong: unknown or missing arguments. Nothing was run.
    3       BENCH_FAULT    The lab is wrong: a file of it, a server, the evidence, or a bench that was left changed.
                           So is a run that was ended early, and a defect of niclab itself.
    4       UNDECIDED      A test could not decide, or the plan requires an answer that nobody gave.
    5       PARTIAL        Only some suites were asked for, and nothing was wrong in them.
    6       WAIVED         Certified, but the certificate rests on a waiver.
    ======  =============  ==========================================================================================

    ``niclab soak`` ends with 0, 1, 3 or 4. Other commands use four of them: 0, 1 where their answer is no (files that
    differ from the certificate, figures that differ), 2, and 3 where they cannot answer.
    """

    CERTIFIED = 0
    CARD_FAILURE = 1
    WRONG_USAGE = 2
    BENCH_FAULT = 3
    UNDECIDED = 4
    PARTIAL = 5
    WAIVED = 6


GRAVEST_FIRST = (ExitStatus.CARD_FAILURE, ExitStatus.BENCH_FAULT, ExitStatus.UNDECIDED, ExitStatus.PARTIAL)
"""Statuses of a run that is not certified, the worst first.

Status 4 means that neither the card nor the lab was found wrong.
"""

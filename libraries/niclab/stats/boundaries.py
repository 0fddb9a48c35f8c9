"""The moment to close a question before the last repeat: group-sequential boundaries with alpha spending.

Who looks at the data after every repeat and stops at the first "significant" look errs far more often than stated.
Alpha spending (Lan & DeMets 1983, Biometrika 70:659) gives each look its part of the allowed error:

* O'Brien-Fleming type (O'Brien & Fleming 1979): 2 - 2 Phi(z(1 - alpha/2) / sqrt(f)); hardly stops early, but its last
  look costs next to nothing;
* Pocock type (Pocock 1977): alpha ln(1 + (e - 1) f); stops early when the answer is plain;

where f is the fraction of the planned repeats. The published tables are for a known variance. Here it is estimated from
as few as three repeats, so the boundaries are computed for Student's t itself, without approximation:

For normal values with mean 0, the ratio R(n) = sum / sqrt(sum of squares) does not depend on the sum of squares (Basu
1955), so R(1), R(2), ... is a Markov chain of one number. With an angle psi of density ~ cos(psi)^(n-1), independent of
what was before,

    R(n) = sqrt(n) sin(psi_n-1)   and   R(n+1) = sqrt(1 + R(n)^2) sin(psi_n + atan R(n)),

and t(n) = sqrt(n-1) tan(psi_n-1). What was not stopped is carried from repeat to repeat on a grid of cells.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from dataclasses import dataclass
from enum import Enum
from functools import lru_cache
from itertools import pairwise
from statistics import NormalDist

_NORMAL = NormalDist()
_ANGLES = 4000
_CELLS = 200
_FARTHEST = 1e6  # a t that is passed with probability 5e-13 at 3 repeats, where next to nothing may be spent
_LOGIT_LOW, _LOGIT_HIGH = -7.0, 14.0


class Spending(Enum):
    """The spread of the allowed error over the looks."""

    OBRIEN_FLEMING = "obrien-fleming"
    POCOCK = "pocock"

    def spent(self, alpha: float, fraction: float) -> float:
        """Error of one side that may have been spent at ``fraction`` (0 < fraction <= 1) of the repeats."""
        if self is Spending.POCOCK:
            return alpha * math.log(1 + (math.e - 1) * fraction)
        return 2 * _NORMAL.cdf(_NORMAL.inv_cdf(alpha / 2) / math.sqrt(fraction))


@dataclass(frozen=True)
class _Angle:
    """The distribution of an angle with density ~ cos(psi)^power on -pi/2..pi/2, tabulated."""

    upper: tuple[float, ...]  # P(angle > -pi/2 + i * step)

    @property
    def step(self) -> float:
        return math.pi / (len(self.upper) - 1)

    def tail(self, psi: float) -> float:
        """P(angle > psi)."""
        place = (psi + math.pi / 2) / self.step
        if place <= 0:
            return 1.0
        if place >= len(self.upper) - 1:
            return 0.0
        index = int(place)
        return self.upper[index] + (place - index) * (self.upper[index + 1] - self.upper[index])

    def quantile(self, tail: float) -> float:
        """The angle that is passed with probability ``tail``."""
        index = bisect_right(self.upper, -tail, key=lambda value: -value)
        index = min(max(index, 1), len(self.upper) - 1)
        before, after = self.upper[index - 1], self.upper[index]
        part = (before - tail) / (before - after) if before > after else 0.0
        return -math.pi / 2 + (index - 1 + part) * self.step


@lru_cache(maxsize=256)
def _angle(power: int) -> _Angle:
    """By Simpson's rule on each of the equal steps."""
    step = math.pi / _ANGLES
    cosines = [max(0.0, math.cos(-math.pi / 2 + i * step / 2)) ** power for i in range(2 * _ANGLES + 1)]
    parts = [cosines[2 * i] + 4 * cosines[2 * i + 1] + cosines[2 * i + 2] for i in range(_ANGLES)]
    upper, total = [0.0], 0.0
    for part in reversed(parts):
        total += part
        upper.append(total)
    return _Angle(tuple(value / total for value in reversed(upper)))


@dataclass(frozen=True)
class _Surviving:
    """Chain states that were not stopped: R(n) in the middle of each cell, and its probability."""

    ratios: tuple[float, ...]
    weights: tuple[float, ...]

    def tail_after_one_more(self, n: int, ratio: float) -> float:
        """P(not stopped until n and R(n + 1) > ratio)."""
        angle = _angle(n - 1)
        total = 0.0
        for r, weight in zip(self.ratios, self.weights, strict=True):
            sine = ratio / math.sqrt(1 + r * r)
            if sine >= 1:
                continue
            if sine <= -1:
                total += weight
                continue
            start, delta = math.asin(sine), math.atan(r)
            total += weight * (angle.tail(start - delta) - angle.tail(math.pi - start - delta))
        return total


def _cells(n: int, stop: float) -> list[float]:
    """Edges of cells in R(n) from its lowest value to ``stop``; fine where the chain often is and in the upper tail."""
    angle = _angle(n - 2)
    logits = [_LOGIT_LOW + i * (_LOGIT_HIGH - _LOGIT_LOW) / _CELLS for i in range(_CELLS + 1)]
    edges = [math.sqrt(n) * math.sin(angle.quantile(1 / (1 + math.exp(z)))) for z in logits]
    return [-math.sqrt(n), *(edge for edge in edges if edge < stop), stop]


def _first(n: int, stop: float) -> _Surviving:
    angle = _angle(n - 2)
    edges = _cells(n, stop)
    tails = [angle.tail(math.asin(max(-1.0, min(1.0, edge / math.sqrt(n))))) for edge in edges]
    return _packed(edges, tails)


def _next(before: _Surviving, n: int, stop: float) -> _Surviving:
    """The chain at ``n``, where it was ``before`` at n - 1."""
    edges = _cells(n, stop)
    return _packed(edges, [before.tail_after_one_more(n - 1, edge) for edge in edges])


def _packed(edges: list[float], tails: list[float]) -> _Surviving:
    middles = tuple((low + high) / 2 for low, high in pairwise(edges))
    return _Surviving(middles, tuple(max(0.0, low - high) for low, high in pairwise(tails)))


@lru_cache(maxsize=64)
def t_boundaries(looks: tuple[int, ...], alpha: float, spending: Spending) -> tuple[float, ...]:
    """For each look (number of repeats so far, rising, the first at least 2), the t that |t| must pass to stop there.

    Repeats are taken as independent and normal. The probability that t passes its boundary at any look while the mean
    is on the wrong side of the limit is then at most ``alpha`` for each side.

    Raises:
        ValueError: For looks that do not rise or begin below 2, or an alpha outside 0..0.5.
    """
    if not looks or looks[0] < 2 or any(a >= b for a, b in pairwise(looks)):
        raise ValueError(f"looks {looks!r}; expected rising numbers of repeats, the first at least 2")
    if not 0 < alpha < 0.5:
        raise ValueError(f"alpha {alpha!r}; expected more than 0 and less than 0.5")
    found: list[float] = []
    spent = 0.0
    chain: _Surviving | None = None
    for n in range(looks[0], looks[-1] + 1):
        if n not in looks:
            assert chain is not None  # the first n is a look
            chain = _next(chain, n, math.sqrt(n))
            continue
        allowed = spending.spent(alpha, n / looks[-1])
        ratio = _stop_ratio(chain, n, allowed - spent)
        found.append(_t_of(ratio, n))
        chain = _first(n, ratio) if chain is None else _next(chain, n, ratio)
        spent = allowed
    return tuple(found)


def _t_of(ratio: float, n: int) -> float:
    rest = n - ratio * ratio
    return _FARTHEST if rest <= 0 else min(_FARTHEST, ratio * math.sqrt((n - 1) / rest))


def _stop_ratio(chain: _Surviving | None, n: int, allowed: float) -> float:
    """The R(n) that is passed with probability ``allowed`` by what was not stopped before."""
    if chain is None:
        return math.sqrt(n) * math.sin(_angle(n - 2).quantile(allowed))
    low, high = 0.0, math.sqrt(n)
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if chain.tail_after_one_more(n - 1, middle) > allowed else (low, middle)
    return high

"""Student's t distribution for any degrees of freedom, also fractions of one (Welch)."""

from __future__ import annotations

import math
from functools import lru_cache

_TINY = 1e-300
_MOST_TERMS = 500
_HALVINGS = 200


def t_upper_tail(t: float, df: float) -> float:
    """P(T > ``t``) for Student's T with ``df`` > 0 degrees of freedom.

    For t >= 0 it is I_x(df/2, 1/2) / 2 with x = df / (df + t^2) (Abramowitz & Stegun 1964, 26.7.1).

    Raises:
        ValueError: When ``df`` is not positive or ``t`` is not a number.
    """
    if not df > 0 or math.isnan(t):
        raise ValueError(f"t {t!r} with {df!r} degrees of freedom; expected a number, and more than 0")
    half = _incomplete_beta(df / (df + t * t), df / 2) / 2
    return half if t >= 0 else 1 - half


@lru_cache(maxsize=4096)
def t_quantile(upper: float, df: float) -> float:
    """The t with P(T > t) = ``upper``, for 0 < ``upper`` < 1.

    Raises:
        ValueError: For another ``upper`` or a ``df`` that is not positive.
    """
    if not 0 < upper < 1:
        raise ValueError(f"upper tail {upper!r}; expected more than 0 and less than 1")
    if upper > 0.5:
        return -t_quantile(1 - upper, df)
    low, high = 0.0, 1.0
    while t_upper_tail(high, df) > upper:
        low, high = high, high * 2
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        if middle in (low, high):
            break
        low, high = (middle, high) if t_upper_tail(middle, df) > upper else (low, middle)
    return high


def _incomplete_beta(x: float, a: float) -> float:
    """I_x(a, 1/2), regularised; by its continued fraction (Abramowitz & Stegun 1964, 26.5.8)."""
    b = 0.5
    if x <= 0:
        return 0.0
    if x >= 1:
        return 1.0
    log_front = math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b) + a * math.log(x) + b * math.log1p(-x)
    if x < (a + 1) / (a + b + 2):
        return math.exp(log_front) * _continued_fraction(x, a, b) / a
    return 1 - math.exp(log_front) * _continued_fraction(1 - x, b, a) / b


def _continued_fraction(x: float, a: float, b: float) -> float:
    """Evaluated forwards by Lentz's method; it converges fast for x < (a + 1) / (a + b + 2)."""
    c, d = 1.0, 1 - (a + b) * x / (a + 1)
    d = 1 / (d if abs(d) > _TINY else _TINY)
    value = d
    for m in range(1, _MOST_TERMS):
        for numerator in (
            m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m)),
            -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1)),
        ):
            d = 1 + numerator * d
            c = 1 + numerator / c
            d = 1 / (d if abs(d) > _TINY else _TINY)
            c = c if abs(c) > _TINY else _TINY
            value *= c * d
        if abs(c * d - 1) < 1e-15:
            return value
    return value

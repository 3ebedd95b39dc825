# SPDX-License-Identifier: Apache-2.0
"""How many values are needed to show a difference between two series. Pure.

The answer to "no difference can be seen": whether more boots, rounds or reads are worth it.
"""

from collections.abc import Sequence
from math import ceil, erf, log

from appliance.statistics import stats

POWER = 0.8
"""How probable it shall be that a difference of that size is seen."""

LEAST = 4
"""Values on each side below which no interval is reported: of 3 and 3 the test of Mann and Whitney
shows nothing at 95 %, and 3 beside many tell too little of how much they vary."""


def count_for_ratio(
    deviation: float, *, ratio: float, confidence: float = 0.95, power: float = POWER
) -> int:
    """About how many values on each side show that one side's are `ratio` times the other's.

    From how much the values of a side vary (see `stats.find_deviation`), for `ratio.find_ratio`:
    in all (z + z')² / (3 · (p − ½)²) values, half of them on each side, where p is how
    probable a value of one side is above one of the other (Noether, Journal of the American
    Statistical Association 82 (1987) 645). p is Φ(ln(ratio) / (deviation · √2)) where logarithms
    vary normally. It is meant for differences that take many values: for a large one it asks for
    some too many. Raises ValueError where `ratio` is no difference.
    """
    if ratio <= 1.0:
        raise ValueError(f"a ratio above 1 is needed, not {ratio}")
    if deviation <= 0.0:
        return LEAST
    z = stats.find_normal((1.0 + confidence) / 2.0) + stats.find_normal(power)
    # Φ(x / √2) − ½ = erf(x / 2) / 2
    beyond_half = erf(log(ratio) / deviation / 2.0) / 2.0
    return max(LEAST, ceil((z / beyond_half) ** 2 / 3.0 / 2.0))


def count_more(
    ones: Sequence[float],
    others: Sequence[float],
    *,
    ratio: float,
    confidence: float = 0.95,
    power: float = POWER,
) -> int | None:
    """About how many values each side still lacks to show `ratio`; 0 where it lacks none.

    The side that varies more counts for both, and the one with fewer values. None where too few
    values tell how much they vary.
    """
    deviations = [stats.find_deviation(values) for values in (ones, others)]
    known = [deviation for deviation in deviations if deviation is not None]
    if len(known) < len(deviations):
        return None
    count = count_for_ratio(max(known), ratio=ratio, confidence=confidence, power=power)
    return max(0, count - min(len(ones), len(others)))

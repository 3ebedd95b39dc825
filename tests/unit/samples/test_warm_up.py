# SPDX-License-Identifier: Apache-2.0
import pytest

from appliance.samples.warm_up import judge_warm_up


@pytest.mark.parametrize(
    ("hit_ratios", "settled"),
    [
        # A set that fits: the first round misses, the next ones hit.
        ((0.0, 1.0, 1.0), False),
        ((0.0, 1.0, 1.0, 1.0), True),
        # A cache that nothing fills.
        ((0.0, 0.0, 0.0), True),
        # The change at its limit and below it, in either direction and in the middle.
        ((0.50, 0.51, 0.52), False),
        ((0.50, 0.51, 0.519), True),
        ((0.519, 0.51, 0.50), True),
        ((0.50, 0.53, 0.50), False),
        # Only the last three count.
        ((0.1, 0.9, 0.50, 0.51, 0.50), True),
        ((0.5, 0.5, 0.5, 0.6), False),
        ((0.5, 0.5), False),
        ((), False),
    ],
)
def test_settled_is_less_than_a_fiftieth_apart_in_three_rounds(
    hit_ratios: tuple[float, ...], *, settled: bool
) -> None:
    found = judge_warm_up(hit_ratios)
    assert found.settled is settled
    assert found.rounds == len(hit_ratios)


def test_it_says_by_how_much() -> None:
    assert str(judge_warm_up((0.0, 0.984, 0.99, 0.995))) == (
        "settled after 4 rounds: read hit ratio 0.995, 0.011 apart in the last 3 rounds"
    )
    assert str(judge_warm_up((0.0, 0.5, 0.9))).startswith("not settled after 3 rounds: ")
    assert str(judge_warm_up((0.25,))) == "not settled after 1 round: 3 are needed"

# SPDX-License-Identifier: Apache-2.0
"""The refresh rate of the interface, low enough not to disturb a measurement. Pure."""

TICK_S = 0.5
_READ_EVERY_S = 1.0
_BETWEEN_KEYS_S = 3.0
_SLOWEST_S = 10.0
_SLOWEST_UNATTENDED_S = 30.0
_SHARE_BESIDE_STEP = 0.01
"""Of one processor, what the interface may take while a workload runs."""
_SHARE_UNATTENDED = 0.003
"""The same once no key was pressed for `UNATTENDED_S`."""
UNATTENDED_S = 30.0


def read_every_s(
    *, hurried: bool, typing: bool, beside_step: bool, cost_s: float, unattended: bool = False
) -> float:
    """Seconds from one reading to the next.

    `hurried`: a countdown runs, an answer is awaited, or the start is not over yet. `typing`: keys
    are pressed, and what they lead to would wait for the reading. `unattended`: none is, and none
    was for a while. `cost_s` is the processor time that the reading before took, with all that was
    drawn for it.
    """
    if hurried:
        return TICK_S
    at_least_s = _BETWEEN_KEYS_S if typing else _READ_EVERY_S
    if not beside_step:
        return at_least_s
    if unattended:
        return min(max(cost_s / _SHARE_UNATTENDED, at_least_s), _SLOWEST_UNATTENDED_S)
    return min(max(cost_s / _SHARE_BESIDE_STEP, at_least_s), _SLOWEST_S)

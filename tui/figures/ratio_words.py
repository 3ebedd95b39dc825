# SPDX-License-Identifier: Apache-2.0
"""How many times faster one thing is than another, in words, with the interval. Pure.

As the report says it, in the interface's language.
"""

from math import ceil

from tui.format import show_number
from tui.language import _


def say_ratio(value: float, interval: tuple[float, float] | None) -> str:
    """`1.94 times faster, 1.88 to 2.01`, or how large a difference may be that is not seen."""
    if interval is None:
        return say_times(value)
    low, high = interval
    if low <= 1.0 <= high:
        # Rounded up: it is a bound.
        hidden = ceil((max(high, 1.0 / low) - 1.0) * 1000.0) / 10.0
        share = f"{show_number(hidden, '.1f')} %"
        return _("no difference larger than {share} can be seen").format(share=share)
    if value < 1.0:
        return _("{times} times slower, {low} to {high}").format(
            times=_show(1.0 / value), low=_show(1.0 / high), high=_show(1.0 / low)
        )
    return _("{times} times faster, {low} to {high}").format(
        times=_show(value), low=_show(low), high=_show(high)
    )


def say_times(value: float) -> str:
    """The same without an interval."""
    if value < 1.0:
        return _("{times} times slower").format(times=_show(1.0 / value))
    return _("{times} times faster").format(times=_show(value))


def _show(value: float) -> str:
    """Two decimals below ten; three near 1, where two would say that nothing differs."""
    return show_number(value, ".3f" if value < 1.01 else ".2f" if value < 10 else ".0f")

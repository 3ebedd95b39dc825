# SPDX-License-Identifier: Apache-2.0
"""The drives' activity now and in the last minutes, from the kernel's counters.

Costs a measurement nothing but the reading of a few small files, as seldom as the interface looks
(see `pace`). How they are read is the port's matter.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from tui.activity.meter import Meter
from tui.model.drives import DriveRow
from tui.model.io_history import SPAN_S, Counters, Course
from tui.model.snapshot import Rate

type ReadCounters = Callable[[str], Counters | None]
"""Those of a block device, None where it is gone."""


@dataclass(frozen=True, slots=True)
class Seen:
    """What was seen at one moment."""

    rates: tuple[Rate, ...] = ()
    """Of what the running step is about; none where one of them is gone."""
    course: Course | None = None
    """Of the first of them."""
    drives: tuple[Rate, ...] = ()
    """Of every drive, by its identity and device."""


class Activity:
    """Remembers what was read before, for as long as it is asked for."""

    def __init__(self, read_counters: ReadCounters) -> None:
        self._read_counters = read_counters
        self._meters: dict[tuple[str, str], Meter] = {}

    def look(self, subjects: Sequence[tuple[str, str]], drives: Sequence[DriveRow]) -> Seen:
        """`subjects`: name and block device of what the running step is about.

        `drives`: those to look at beside it.
        """
        named = [(f"{drive.identity or '-'} {drive.device}", drive.device) for drive in drives]
        self._meters = {
            **{key: self._meters.get(key) or Meter(key[0], keep_s=SPAN_S) for key in subjects},
            **{key: self._meters.get(key) or Meter(key[0]) for key in named},
        }
        rates = [self._take(*subject) for subject in subjects]
        beside = [self._take(*pair) for pair in named]
        if any(subject not in self._meters for subject in subjects):  # it went away in this moment
            rates = []
        return Seen(
            rates=tuple(rate for rate in rates if rate is not None),
            course=self._meters[subjects[0]].find_course() if rates else None,
            drives=tuple(rate for rate in beside if rate is not None),
        )

    def _take(self, name: str, device: str) -> Rate | None:
        counters = self._read_counters(device)
        if counters is None:
            del self._meters[name, device]
            return None
        return self._meters[name, device].take(device, counters)

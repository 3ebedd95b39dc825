# SPDX-License-Identifier: Apache-2.0
"""How long-running work reports its progress."""

from collections.abc import Callable

from appliance.phrases import N_, Phrase

_SECONDS, _PERCENT = N_("{what}; seconds"), N_("{what}; percent")

Progress = Callable[[str, int, int], None]
"""What is being done, and how much of how much is done (bytes, or any count; 0, 0 where unknown).

Raises when a person asked for a stop: call it at least four times a second, hold nothing that its
exception would leave behind.
"""


def ignore_progress(_text: str, _done: int, _total: int) -> None:
    """Progress for work that no one watches and no one can stop."""


def in_seconds(what: str) -> Phrase:
    """What is being done, where seconds of it are counted."""
    return Phrase(_SECONDS, what=what)


def in_percent(what: str) -> Phrase:
    """What is being done, where percents of it are counted."""
    return Phrase(_PERCENT, what=what)


def name_work(label: str) -> str:
    """What is being done, without the unit: for where no count is beside it."""
    if isinstance(label, Phrase) and label.words in {_SECONDS, _PERCENT}:
        what = label.fields["what"]
        return what if isinstance(what, str) else label
    return label

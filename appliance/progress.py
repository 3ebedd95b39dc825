# SPDX-License-Identifier: Apache-2.0
"""How long-running work reports its progress."""

from collections.abc import Callable

Progress = Callable[[str, int, int], None]
"""What is being done, and how much of how much is done (bytes, or any count; 0, 0 where unknown).

Raises when a person asked for a stop: call it at least four times a second, hold nothing that its
exception would leave behind.
"""


def ignore_progress(_text: str, _done: int, _total: int) -> None:
    """Progress for work that no one watches and no one can stop."""

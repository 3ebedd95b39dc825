# SPDX-License-Identifier: Apache-2.0
"""Progress for benches: nobody asks for a stop, or somebody does after some calls."""

from appliance.progress import Progress


class StoppedError(Exception):
    """What a stop raises."""


def start_next_boot(what: str, done: int, total: int) -> None:
    """Nobody asks for a stop."""


def stop_after(calls: int) -> Progress:
    """Progress that asks for a stop after it was told so often."""
    left = calls

    def stop(what: str, done: int, total: int) -> None:
        nonlocal left
        left -= 1
        if left < 0:
            raise StoppedError

    return stop

# SPDX-License-Identifier: Apache-2.0
"""Progress for benches: no stop is requested, or one is after some calls."""

from appliance.progress import Progress


class StoppedError(Exception):
    """What a stop raises."""


def start_next_boot(what: str, done: int, total: int) -> None:
    """No stop is requested."""


def stop_after(calls: int) -> Progress:
    """Progress that requests a stop after so many calls."""
    left = calls

    def stop(what: str, done: int, total: int) -> None:
        nonlocal left
        left -= 1
        if left < 0:
            raise StoppedError

    return stop

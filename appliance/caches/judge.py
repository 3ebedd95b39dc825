# SPDX-License-Identifier: Apache-2.0
"""The page-cache state that the I/O met, judged from setup and counters. Pure.

Bytes that the application moved are set against bytes that its device served. A contradiction is
never smoothed over: it makes the state `partial` or `warm`, and unproven, with the reason. Where
the sum could hide one the state stays, unproven.

How the accesses began is a fact of its own: a program that reads again what it read before is
answered by RAM, though no page was there at its first access. `began_cold` has that one.
"""

from typing import Required, TypedDict, Unpack

from appliance.samples.model import BeganCold, CacheState, PageCache

COLD_SHARE = 0.95
"""Of the bytes read, what a cold cache makes the device serve at least; read-ahead adds to it."""
AHEAD_SHARE = 1.5
AHEAD_BYTES = 1 << 20
"""Beyond that share and so many bytes more, read-ahead could make up for what RAM answered: the
sum of bytes then proves nothing, though nothing speaks against a cold cache either."""
BYPASS_SHARE = 0.99
WARM_SHARE = 0.01
"""What the device may serve at most of bytes that RAM is said to have answered."""


class Setup(TypedDict, total=False):
    """What was set up before accesses, and what is known of the drive."""

    requested: Required[PageCache]
    proven_before: Required[bool]
    """Whether it was proven that the cache was so: a drop or warm-up by cachestat, O_DIRECT by
    alignment, a bound by its control group."""
    reason: Required[str]
    """How, or what was missing."""
    ballast_bytes: int
    drive_state: str


def hit_ratio(app_read_bytes: int, device_read_bytes: int) -> float:
    """The share of the bytes read that RAM answered, 0…1; 0 where nothing was read."""
    if app_read_bytes <= 0:
        return 0.0
    return min(max(1 - device_read_bytes / app_read_bytes, 0.0), 1.0)


def may_hide_ram(app_read_bytes: float, device_read_bytes: float) -> bool:
    """Whether the device served so much more than was asked for that RAM's share is not known."""
    return device_read_bytes < 0 or device_read_bytes > app_read_bytes * AHEAD_SHARE + AHEAD_BYTES


def judge_reads(
    *, app_read_bytes: int, device_read_bytes: int, **setup: Unpack[Setup]
) -> CacheState:
    """The state that reads met."""
    requested = met = setup["requested"]
    problem = ""
    served = f"the device served {device_read_bytes} of {app_read_bytes} bytes read"
    if app_read_bytes <= 0:
        problem = "nothing was read"
    elif device_read_bytes < 0:
        problem = "the device's counters went backwards"
    elif requested != "bypass" and device_read_bytes <= app_read_bytes * WARM_SHARE:
        met = "warm"
        if requested != "warm":
            problem = f"{_describe_request(requested)}, but RAM answered: {served}"
    elif requested == "warm":
        met = "partial"
        problem = f"a warm cache was requested, but {served}"
    elif requested == "cold" and device_read_bytes < app_read_bytes * COLD_SHARE:
        met = "partial"
        problem = f"a cold cache was requested, but RAM answered a part: {served}"
    elif requested == "cold" and may_hide_ram(app_read_bytes, device_read_bytes):
        problem = f"read-ahead may hide what RAM answered: {served}"
    elif requested == "bypass" and device_read_bytes < app_read_bytes * BYPASS_SHARE:
        met = "partial"
        problem = f"the cache was to be bypassed, but something else answered: {served}"
    return _state(met, problem=problem, counted=served, **setup)


def judge_writes(
    *,
    app_write_bytes: int,
    device_write_bytes: int,
    lacks_writes: bool = False,
    **setup: Unpack[Setup],
) -> CacheState:
    """The state that writes met; `device_write_bytes` is counted after the final fsync.

    Through the page cache every write meets RAM first; what counts is that by the end of the timed
    part the device had it all. If the device `lacks_writes`, so many are the least: enough of them
    prove as much, too few say nothing.
    """
    requested = met = setup["requested"]
    problem = ""
    transfer = f"the device was given {device_write_bytes} of {app_write_bytes} bytes written"
    if app_write_bytes <= 0:
        problem = "nothing was written"
    elif lacks_writes and device_write_bytes < app_write_bytes * BYPASS_SHARE:
        problem = "Linux does not count what an array writes past its cache"
    elif device_write_bytes < 0:
        problem = "the device's counters went backwards"
    elif device_write_bytes < app_write_bytes * BYPASS_SHARE:
        met = "partial"
        problem = (
            f"the cache was to be bypassed, but {transfer}"
            if requested == "bypass"
            else f"RAM kept or merged a part: {transfer}"
        )
    return _state(met, problem=problem, counted=transfer, **setup)


def _describe_request(requested: PageCache) -> str:
    return (
        "the cache was to be bounded"
        if requested == "bounded"
        else f"a {requested} cache was requested"
    )


def _state(met: PageCache, *, problem: str, counted: str, **setup: Unpack[Setup]) -> CacheState:
    proven_before, reason = setup["proven_before"], setup["reason"]
    # `partial` means that it is unknown which read met what: nothing can prove it.
    proven = proven_before and not problem and met != "partial"
    words = [problem, reason] if problem else [reason, counted]
    began_cold: BeganCold = ""
    if setup["requested"] == "cold":
        began_cold = "proven" if proven_before else "unproven"
    return CacheState(
        page_cache=met,
        proof="proven" if proven else "unproven",
        proof_reason="; ".join(word for word in words if word),
        ballast_bytes=setup.get("ballast_bytes", 0),
        drive_state=setup.get("drive_state", ""),
        began_cold=began_cold,
    )

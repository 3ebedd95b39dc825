# SPDX-License-Identifier: Apache-2.0
"""All limits of a policy: name, direction and unit. Pure data.

The keys of `policy.toml`, the rows of a verdict and the words of its page all come from here. A
limit is on one figure of one drive in one campaign.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Literal

from appliance.units import format_exact_size

_BYTES = re.compile(r"(?<![\d.])(\d{4,}) B\b", re.ASCII)
Direction = Literal["most", "least"]
"""Whether a limit is the most or the least that a figure may be."""

Unit = Literal["", "B", "%", "MB/s", "1/s", "ms", "s", "h", "°C", "check"]
"""check: 0 passed, 1 failed. MB/s are those on the box, 10⁶ bytes."""


@dataclass(frozen=True, slots=True)
class LimitKind:
    """One thing a policy can limit."""

    name: str
    """Its key in `policy.toml`."""
    title: str
    """Its name on the page."""
    unit: Unit
    direction: Direction = "most"
    counter: str = ""
    """The health counter that it is about."""
    is_delta: bool = False
    """Whether it is about what the counter rose by during the campaign."""
    is_compared: bool = False
    """Whether drives of one model are compared by it."""
    is_evidence: bool = True
    """Whether it is about the drive, or only about whether something went wrong."""
    is_timed: bool = False
    """Whether it was timed: then the machine and its load have a part in it."""


def _count(counter: str, title: str, *, delta: bool = True) -> tuple[LimitKind, ...]:
    kinds = (LimitKind(counter, title, "", counter=counter),)
    if not delta:
        return kinds
    new = LimitKind(f"new_{counter}", f"new {title}", "", counter=counter, is_delta=True)
    return (*kinds, new)


def _speed(name: str, title: str) -> LimitKind:
    return LimitKind(f"{name}_mb_s", title, "MB/s", "least", is_compared=True, is_timed=True)


def _latency(name: str, title: str, *, compared: bool = False) -> LimitKind:
    return LimitKind(name, title, "ms", is_compared=compared, is_timed=True)


_ALL: tuple[LimitKind, ...] = (
    LimitKind("given_up", "taken part to the end", "check", is_evidence=False),
    LimitKind("failed_steps", "steps that failed", "", is_evidence=False),
    LimitKind("self_assessment", "the drive's own health assessment", "check"),
    LimitKind("self_test", "the drive's self-test", "check"),
    *_count("critical_warning", "critical warnings", delta=False),
    *_count("reallocated_sectors", "reallocated sectors"),
    *_count("pending_sectors", "pending sectors"),
    *_count("offline_uncorrectable", "offline uncorrectable sectors"),
    *_count("reported_uncorrectable", "reported uncorrectable errors"),
    *_count("end_to_end_errors", "end-to-end errors"),
    *_count("command_timeouts", "commands that timed out"),
    *_count("spin_retries", "retries of spinning up"),
    LimitKind("helium_level", "helium level", "%", "least", counter="helium_level"),
    *_count("failed_attributes", "attributes that failed, now or before", delta=False),
    *_count("overheated", "attributes of temperature that failed, now or before", delta=False),
    *_count("logged_errors", "errors in its log"),
    *_count("failed_self_tests", "failed self-tests in its log"),
    *_count("crc_errors", "CRC errors of the cable"),
    *_count("media_errors", "media errors"),
    *_count("grown_defects", "grown defects"),
    *_count("uncorrected_errors", "uncorrected errors"),
    *_count("non_medium_errors", "errors beside the medium"),
    *_count("scan_unrepaired", "places its background scan could not repair"),
    *_count("heavily_throttled", "times it was slowed down heavily by heat"),
    LimitKind(
        "new_too_hot_minutes",
        "new minutes at its critical temperature",
        "",
        counter="too_hot_minutes",
        is_delta=True,
    ),
    *_count("unsafe_shutdowns", "unsafe shutdowns", delta=False),
    *_count("power_cycles", "power cycles", delta=False),
    LimitKind("percentage_used", "endurance used", "%", counter="percentage_used"),
    LimitKind(
        "available_spare_percent", "spare left", "%", "least", counter="available_spare_percent"
    ),
    LimitKind("power_on_hours", "power-on hours", "h", counter="power_on_hours"),
    LimitKind(
        "hours_set_back", "power-on hours missing from SMART", "h", counter="farm_power_on_hours"
    ),
    LimitKind("host_write_bytes", "written by hosts so far", "B", counter="host_write_bytes"),
    LimitKind("highest_celsius", "highest temperature", "°C"),
    LimitKind("slow_link", "link as fast as drive and port allow", "check", is_evidence=False),
    LimitKind("surface_unreadable_bytes", "surface: unreadable", "B"),
    LimitKind("surface_slow_ranges", "surface: slow ranges", "", is_timed=True),
    LimitKind(
        "surface_slowest_slice_percent",
        "surface: slowest slice ÷ mean",
        "%",
        "least",
        is_timed=True,
    ),
    _speed("surface_mean", "surface: mean speed"),
    _latency("surface_lat_p99_ms", "surface: 99th percentile of latency", compared=True),
    LimitKind("verify_mismatch_bytes", "verify: other bytes than written", "B"),
    LimitKind("verify_alias_bytes", "verify: addresses that alias", "B"),
    LimitKind("verify_lost_bytes", "verify: lost with the power", "B"),
    LimitKind("verify_unreadable_bytes", "verify: neither read nor written", "B"),
    _speed("verify_write", "verify: writing"),
    _speed("verify_read", "verify: reading"),
    _speed("fio_seq_read", "fio: sequential read"),
    _speed("fio_seq_write", "fio: sequential write"),
    *(
        kind
        for test, title in (("rand_read", "random read"), ("rand_write", "random write"))
        for kind in (
            LimitKind(
                f"fio_{test}_iops", f"fio: {title}", "1/s", "least", is_compared=True, is_timed=True
            ),
            _latency(f"fio_{test}_lat_p50_ms", f"fio: {title}, median latency"),
            _latency(f"fio_{test}_lat_p99_ms", f"fio: {title}, 99th percentile"),
        )
    ),
    LimitKind("boot_median_s", "boot: median", "s", is_compared=True, is_timed=True),
    LimitKind("failed_boots", "boots that failed", "", is_evidence=False),
    LimitKind("worse_than_model_percent", "worse than others of its model", "%", is_evidence=False),
)

LIMITS: Mapping[str, LimitKind] = MappingProxyType({kind.name: kind for kind in _ALL})
"""By their names, in the order in which they are judged and shown."""


def title_of(name: str) -> str:
    """How people call the limit `name`; a health counter without a limit by its own name."""
    kind = LIMITS.get(name)
    return name.replace("_", " ") if kind is None else kind.title


def show_sizes(text: str) -> str:
    """`text` of `show_figure`s with its bytes as people read sizes, and as exact as it was."""
    return _BYTES.sub(lambda match: format_exact_size(int(match[1])), text)


def show_figure(value: float, unit: str) -> str:
    """A figure with its unit, never rounded to another side of a limit that has three digits."""
    if unit == "check":
        return "failed" if value else "passed"
    number = f"{value:.0f}" if float(value).is_integer() else f"{value:.3f}".rstrip("0").rstrip(".")
    return f"{number} {unit}" if unit else number

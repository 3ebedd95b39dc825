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

from appliance.phrases import N_, Phrase
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
    new = LimitKind(
        f"new_{counter}", Phrase(N_("new {what}"), what=title), "", counter=counter, is_delta=True
    )
    return (*kinds, new)


def _speed(name: str, title: str) -> LimitKind:
    return LimitKind(f"{name}_mb_s", title, "MB/s", "least", is_compared=True, is_timed=True)


def _latency(name: str, title: str, *, compared: bool = False) -> LimitKind:
    return LimitKind(name, title, "ms", is_compared=compared, is_timed=True)


_ALL: tuple[LimitKind, ...] = (
    LimitKind("given_up", N_("taken part to the end"), "check", is_evidence=False),
    LimitKind("failed_steps", N_("steps that failed"), "", is_evidence=False),
    LimitKind("kernel_errors", N_("error messages of the kernel"), "", is_evidence=False),
    LimitKind("self_assessment", N_("the drive's own health assessment"), "check"),
    LimitKind("self_test", N_("the drive's self-test"), "check"),
    *_count("critical_warning", N_("critical warnings"), delta=False),
    *_count("reallocated_sectors", N_("reallocated sectors")),
    *_count("pending_sectors", N_("pending sectors")),
    *_count("offline_uncorrectable", N_("offline uncorrectable sectors")),
    *_count("reported_uncorrectable", N_("reported uncorrectable errors")),
    *_count("end_to_end_errors", N_("end-to-end errors")),
    *_count("command_timeouts", N_("commands that timed out")),
    *_count("spin_retries", N_("retries of spinning up")),
    LimitKind("helium_level", N_("helium level"), "%", "least", counter="helium_level"),
    *_count("failed_attributes", N_("attributes that failed, now or before"), delta=False),
    *_count("overheated", N_("attributes of temperature that failed, now or before"), delta=False),
    *_count("logged_errors", N_("errors in its log")),
    *_count("failed_self_tests", N_("failed self-tests in its log")),
    *_count("crc_errors", N_("CRC errors of the cable")),
    *_count("media_errors", N_("media errors")),
    *_count("grown_defects", N_("grown defects")),
    *_count("uncorrected_errors", N_("uncorrected errors")),
    *_count("non_medium_errors", N_("errors beside the medium")),
    *_count("scan_unrepaired", N_("places its background scan could not repair")),
    *_count("heavily_throttled", N_("times it was slowed down heavily by heat")),
    LimitKind(
        "new_too_hot_minutes",
        N_("new minutes at its critical temperature"),
        "",
        counter="too_hot_minutes",
        is_delta=True,
    ),
    *_count("unsafe_shutdowns", N_("unsafe shutdowns"), delta=False),
    *_count("power_cycles", N_("power cycles"), delta=False),
    LimitKind("percentage_used", N_("endurance used"), "%", counter="percentage_used"),
    LimitKind(
        "available_spare_percent", N_("spare left"), "%", "least", counter="available_spare_percent"
    ),
    LimitKind("power_on_hours", N_("power-on hours"), "h", counter="power_on_hours"),
    LimitKind(
        "hours_set_back",
        N_("power-on hours missing from SMART"),
        "h",
        counter="farm_power_on_hours",
    ),
    LimitKind("host_write_bytes", N_("written by hosts so far"), "B", counter="host_write_bytes"),
    LimitKind("highest_celsius", N_("highest temperature"), "°C"),
    LimitKind("slow_link", N_("link as fast as drive and port allow"), "check", is_evidence=False),
    LimitKind("surface_unreadable_bytes", N_("surface: unreadable"), "B"),
    LimitKind("surface_slow_ranges", N_("surface: slow ranges"), "", is_timed=True),
    LimitKind(
        "surface_slowest_slice_percent",
        N_("surface: slowest slice ÷ mean"),
        "%",
        "least",
        is_timed=True,
    ),
    _speed("surface_mean", N_("surface: mean speed")),
    _latency("surface_lat_p99_ms", N_("surface: 99th percentile of latency"), compared=True),
    LimitKind("verify_mismatch_bytes", N_("verify: other bytes than written"), "B"),
    LimitKind("verify_alias_bytes", N_("verify: addresses that alias"), "B"),
    LimitKind("verify_lost_bytes", N_("verify: lost with the power"), "B"),
    LimitKind("verify_unreadable_bytes", N_("verify: neither read nor written"), "B"),
    _speed("verify_write", N_("verify: writing")),
    _speed("verify_read", N_("verify: reading")),
    _speed("fio_seq_read", N_("fio: sequential read")),
    _speed("fio_seq_write", N_("fio: sequential write")),
    *(
        kind
        for test, title in (("rand_read", N_("random read")), ("rand_write", N_("random write")))
        for kind in (
            LimitKind(
                f"fio_{test}_iops",
                Phrase(N_("fio: {what}"), what=title),
                "1/s",
                "least",
                is_compared=True,
                is_timed=True,
            ),
            _latency(
                f"fio_{test}_lat_p50_ms", Phrase(N_("fio: {what}, median latency"), what=title)
            ),
            _latency(
                f"fio_{test}_lat_p99_ms", Phrase(N_("fio: {what}, 99th percentile"), what=title)
            ),
        )
    ),
    LimitKind("boot_median_s", N_("boot: median"), "s", is_compared=True, is_timed=True),
    LimitKind("failed_boots", N_("boots that failed"), "", is_evidence=False),
    LimitKind(
        "worse_than_model_percent", N_("worse than others of its model"), "%", is_evidence=False
    ),
)

LIMITS: Mapping[str, LimitKind] = MappingProxyType({kind.name: kind for kind in _ALL})
"""By their names, in the order in which they are judged and shown."""


_OTHER_TITLES = {
    "class": N_("class"),
    "tested_capacity": N_("tested capacity"),
    "evidence": N_("evidence"),
}
"""Of what a verdict has a remark on beside its limits."""


def title_of(name: str) -> str:
    """How people call the limit `name`; a health counter without a limit by its own name."""
    kind = LIMITS.get(name)
    if kind is None:
        return _OTHER_TITLES.get(name, name.replace("_", " "))
    return kind.title


def show_sizes(text: str) -> str:
    """`text` of `show_figure`s with its bytes as people read sizes, and as exact as it was."""
    if isinstance(text, Phrase):
        return text
    return _BYTES.sub(lambda match: format_exact_size(int(match[1])), text)


def show_figure(value: float, unit: str) -> str:
    """A figure with its unit, never rounded to another side of a limit that has three digits."""
    if unit == "check":
        return N_("failed") if value else N_("passed")
    number = f"{value:.0f}" if float(value).is_integer() else f"{value:.3f}".rstrip("0").rstrip(".")
    return f"{number} {unit}" if unit else number

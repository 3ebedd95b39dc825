"""Two drives, two campaigns or two sticks in words: how much faster, or what cannot be seen. Pure.

What was taken under other conditions is refused, with the condition, unless that was asked for.
"""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from math import ceil

from appliance import stats
from appliance.errors import PlanError
from appliance.ratio import Ratio, find_ratio
from appliance.report.blocks import format_number, format_rate, format_share
from appliance.report.findings import Finding
from appliance.report.rows import CampaignRows
from appliance.report.series import KNOWN_TO
from appliance.report.sides import (
    BOOTS,
    COLD_START,
    IMAGE,
    NOT_PROVEN,
    PAGE_CACHE,
    Samples,
    Side,
    read_sides,
)
from appliance.sample_size import count_more
from appliance.units import format_seconds, printable

ALLOWED = ("cache", "seed", "size", "image", "plan")
"""What may be asked to differ. `plan`: any other key of the plan."""

RATIO_RULES = (
    (
        "Two drives or campaigns: the ratio is the median of the quotients of all pairs of their"
        " values (Hodges and Lehmann), its 95 % interval that of the test of Mann and Whitney, by"
        " its exact distribution. It takes 4 values on each side. Rounds and reads of one run"
        " count as independent, and nothing is said of what differs between machines or days. Of"
        " 20 such sentences one is wrong by chance. How many more values would show a difference is"
        " Noether's estimate (1987), for four chances in five to see it."
    ),
    (
        "They are compared only where cache state, seed, size, image and all other keys of the"
        " plan are the same."
    ),
)

_RAM_APART = 0.05
"""RAM answered the same where its shares are no further apart than this."""

_ALIKE = 0.0005
"""Three decimals show no difference that is smaller."""

_WORTH = 100
"""More values than this nobody takes for a comparison."""

_MANY = 4
"""Of more drives only the fastest and the slowest are held against each other."""

_CACHE_KEYS = frozenset(
    {PAGE_CACHE, COLD_START, "power", "page_cache", "free_ram", "memory_max", "RAM answered"}
)


@dataclass(frozen=True, slots=True)
class Difference:
    """A condition in which two series differ."""

    allowance: str
    """Which word of ALLOWED lets it pass."""
    text: str
    """`seed 1 against 2`"""


@dataclass(frozen=True, slots=True)
class Beside:
    """One thing that both measured."""

    subject: str
    text: str
    ratio: Ratio | None
    """Of speeds: above 1 the first one is faster. None where they were not compared."""


def compare_sides(one: Side, other: Side, *, although: Collection[str] = ()) -> tuple[Beside, ...]:
    """All that both measured, in the order of the first."""
    return tuple(_compare(first, second, although) for first, second in _match(one, other))


def _match(one: Side, other: Side) -> Iterator[tuple[Samples, Samples]]:
    """Of several series of one subject the one whose conditions are alike, or most alike."""
    left = list(other.samples)
    for samples in one.samples:
        alike = [
            each for each in left if (each.subject, each.unit) == (samples.subject, samples.unit)
        ]
        if alike:
            found = min(alike, key=lambda each: len(find_differences(samples, each)))
            left.remove(found)
            yield samples, found


def find_differences(one: Samples, other: Samples) -> tuple[Difference, ...]:
    """The conditions in which both were not taken alike."""
    keys = dict.fromkeys((*one.conditions, *other.conditions))
    found = [
        Difference(_find_allowance(key), f"{key} {mine or 'not set'} against {theirs or 'not set'}")
        for key in keys
        if (mine := one.conditions.get(key, "")) != (theirs := other.conditions.get(key, ""))
    ]
    if any(each.conditions.get(PAGE_CACHE, "").endswith(NOT_PROVEN) for each in (one, other)):
        found.append(Difference("cache", "the state of the page cache is not proven"))
    shares = (one.ram_share, other.ram_share)
    if None in shares and shares != (None, None):
        found.append(Difference("cache", "how much RAM answered is known of one of both only"))
    elif None not in shares and abs((shares[0] or 0.0) - (shares[1] or 0.0)) > _RAM_APART:
        told = " against ".join(format_share(share) for share in shares)
        found.append(Difference("cache", f"RAM answered {told}"))
    return tuple(found)


def _find_allowance(key: str) -> str:
    if key == IMAGE:
        return "image"
    if key in _CACHE_KEYS:
        return "cache"
    if key == "seed":
        return "seed"
    return "size" if "size" in key or key == "boot_set" else "plan"


def _compare(one: Samples, other: Samples, although: Collection[str]) -> Beside:
    missing = "; ".join(filter(None, (one.missing, other.missing)))
    if missing:
        return Beside(one.subject, f"not compared: {missing}.", None)
    differences = find_differences(one, other)
    refused = [each for each in differences if each.allowance not in although]
    if refused:
        words = ", ".join(dict.fromkeys(each.allowance for each in refused))
        told = "; ".join(each.text for each in refused)
        return Beside(one.subject, f"not compared for the sake of {words}: {told}.", None)
    ratio = find_ratio(one.values, other.values)
    if ratio is None:
        return Beside(one.subject, "not compared: a value is not positive.", None)
    speed = ratio.inverse if one.unit == "s" else ratio
    details = [
        f"{_say_median(one)} against {_say_median(other)}",
        f"n = {len(one.values)} and {len(other.values)}",
        *_say_state(one, other),
        *(f"although {each.text}" for each in differences),
    ]
    text = f"{say_ratio(speed)} ({'; '.join(details)}).{_say_more(one, other, speed)}"
    return Beside(one.subject, text, speed)


def _say_more(one: Samples, other: Samples, ratio: Ratio) -> str:
    """Where nothing is seen: how many more values would show the smallest difference of use."""
    if ratio.is_seen or (ratio.hidden is not None and ratio.hidden <= KNOWN_TO):
        return ""
    more = count_more(one.values, other.values, ratio=1.0 + KNOWN_TO)
    if not more:
        return ""
    named = "boots" if one.subject == BOOTS else "values"
    share = format_share(KNOWN_TO)
    if more > _WORTH:
        return (
            f" They vary too much for {share} to be seen: it would take about {more} more {named}"
            " of each."
        )
    return f" About {more} more {named} of each would show a difference of {share}."


def say_ratio(ratio: Ratio) -> str:
    """`1.94 times faster, 1.88 to 2.01`, or how large a difference may be that cannot be seen."""
    interval, hidden = ratio.interval, ratio.hidden
    if interval is None or hidden is None:
        return f"{_say_times(ratio.value)}, with too few values for an interval"
    if not ratio.is_seen:
        return f"no difference larger than {_say_hidden(hidden)} can be seen"
    low, high = interval.low, interval.high
    if ratio.value < 1.0:
        low, high = 1.0 / high, 1.0 / low
    return f"{_say_times(ratio.value)}, {_format(low, low)} to {_format(high, low)}"


def _say_times(value: float) -> str:
    if abs(value - 1.0) < _ALIKE:
        return "equally fast"
    if value < 1.0:
        return f"{_format(1.0 / value, 1.0 / value)} times slower"
    return f"{_format(value, value)} times faster"


def _format(value: float, like: float) -> str:
    """Two decimals below ten; three near 1, where two would say that nothing differs."""
    return f"{value:.{3 if like < 1.01 else 2 if like < 10 else 0}f}"


def _say_hidden(hidden: float) -> str:
    """Rounded up: it is a bound."""
    if hidden >= 1.0:
        return f"{ceil(hidden * 10 + 10) / 10:.1f} times"
    percent = hidden * 100.0
    return f"{ceil(percent)} %" if percent >= 1.0 else f"{ceil(percent * 10) / 10:.1f} %"


def _say_median(samples: Samples) -> str:
    value = stats.find_median(samples.values) or 0.0
    if samples.unit == "s":
        return f"{format_seconds(value)} s"
    shown = format_rate(value) if samples.unit == "MB/s" else format_number(value)
    return f"{shown} {samples.unit}"


def _say_state(one: Samples, other: Samples) -> Iterator[str]:
    """The two facts about the caches, of both. Of a boot the power says it."""
    key = COLD_START if COLD_START in one.conditions else PAGE_CACHE
    if (told := one.conditions.get(key)) and told == other.conditions.get(key):
        yield f"{key} {told}"
    shares = [share for share in (one.ram_share, other.ram_share) if share is not None]
    if len(shares) == 2:
        told = " and ".join(dict.fromkeys(format_share(share) for share in shares))
        yield f"RAM answered {told}"


def compare_campaigns(
    one: tuple[CampaignRows, str], other: tuple[CampaignRows, str], *, although: Collection[str]
) -> Iterator[str]:
    """Lines of text: one pair of drives after the other.

    Each campaign with the drive that is meant, or "": then each that is in both, or else the only
    one of each. Raises PlanError where that leaves none.
    """
    for first, second in _pair(_pick(*one), _pick(*other)):
        yield f"{_name(first)} against {_name(second)}:"
        told = compare_sides(first, second, although=although)
        for each in told:
            yield f"  {each.subject}: {each.text}"
        if not told:
            yield "  nothing that both measured."


def _name(side: Side) -> str:
    return f"campaign {side.campaign_id}, {side.label}"


def _pick(rows: CampaignRows, drive: str) -> tuple[Side, ...]:
    sides = read_sides(rows)
    wanted = tuple(each for each in sides if drive in {"", each.identity})
    if not wanted:
        there = ", ".join(printable(each.identity) for each in sides) or "none"
        raise PlanError(
            f"campaign {rows.campaign.id} has no figures"
            + (f" of drive {printable(drive)}" if drive else ""),
            hint=f"it has figures of: {there}",
        )
    return wanted


def _pair(ones: Sequence[Side], others: Sequence[Side]) -> list[tuple[Side, Side]]:
    if len(ones) == len(others) == 1:
        return [(ones[0], others[0])]
    pairs = [(one, other) for one in ones for other in others if one.identity == other.identity]
    if not pairs or any(one == other for one, other in pairs):
        raise PlanError(
            "it is not clear which drives are to be compared",
            hint="name one of each campaign, as CAMPAIGN:DRIVE; there are: "
            + ", ".join(
                f"{each.campaign_id}:{printable(each.identity)}" for each in (*ones, *others)
            ),
        )
    return pairs


def find_ratio_findings(sides: Sequence[Side]) -> tuple[Finding, ...]:
    """Each drive of a campaign against the fastest that was measured alike, by enough values."""
    subjects = dict.fromkeys(each.subject for side in sides for each in side.samples)
    found: list[Finding] = []
    for subject in subjects:
        own = [
            (side, samples)
            for side in sides
            for samples in side.samples
            if samples.subject == subject and samples.values
        ]
        own.sort(key=lambda each: _find_speed(each[1]), reverse=True)
        for side, samples in own[-1:] if len(own) > _MANY else own[1:]:
            best_side, best = next(
                each for each in own if each[1] is samples or not find_differences(each[1], samples)
            )
            beside = _compare(best, samples, ())
            if side is best_side or beside.ratio is None or beside.ratio.interval is None:
                continue
            name = f"{best_side.label} against {side.label}, {subject}"
            found.append(Finding("flat", name, beside.text))
    return tuple(found)


def _find_speed(samples: Samples) -> float:
    median = stats.find_median(samples.values) or 0.0
    return -median if samples.unit == "s" else median


def find_earlier_findings(sides: Sequence[Side], earlier: Sequence[Side]) -> tuple[Finding, ...]:
    """Each drive against itself in an earlier campaign; what could not be compared in one line."""
    found: list[Finding] = []
    for side in sides:
        before = next((each for each in earlier if each.identity == side.identity), None)
        if before is None:
            continue
        name = f"{side.label} against itself in campaign {before.campaign_id}"
        refused: list[str] = []
        for beside in compare_sides(side, before):
            if beside.ratio is None:
                refused.append(f"{beside.subject} {beside.text.removesuffix('.')}")
                continue
            has_changed = beside.ratio.is_seen and abs(beside.ratio.value - 1.0) > stats.TOLERANCE
            kind = "remark" if has_changed else "flat"
            found.append(Finding(kind, f"{name}, {beside.subject}", beside.text))
        if refused:
            found.append(Finding("flat", name, f"{'; '.join(refused)}."))
    return tuple(found)

# SPDX-License-Identifier: Apache-2.0
"""Comparisons of two drives, campaigns or sticks in words. Pure.

What was taken under other conditions is refused, with the condition, unless that was asked for.
"""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from math import ceil

from appliance.errors import PlanError
from appliance.report.blocks import count, format_bytes, format_number, format_rate, format_share
from appliance.report.boots.findings import Finding
from appliance.report.conditions import say_other_conditions
from appliance.report.series import KNOWN_TO
from appliance.report.sides import (
    ALONE,
    BOOTS,
    COLD_START,
    IMAGE,
    NOT_PROVEN,
    PAGE_CACHE,
    TESTED,
    Samples,
    Side,
    read_sides,
)
from appliance.statistics import stats
from appliance.statistics.ratio import (
    MANY,
    Ratio,
    find_confidence,
    find_paired_ratio,
    find_quotients,
    find_ratio,
)
from appliance.statistics.sample_size import count_more
from appliance.store.read.campaign import CampaignRows
from appliance.units import format_seconds, printable

ALLOWED = ("cache", "seed", "size", "image", "plan")
"""What may be asked to differ. `plan`: any other key of the plan."""

RATIO_RULES = (
    (
        "Two drives or campaigns: the ratio is the median of the quotients of all pairs of their"
        " values (Hodges and Lehmann), its 95 % interval that of the test of Mann and Whitney, by"
        " its exact distribution, or wider where one side varies more than the other (Fligner and"
        " Policello). It takes 4 values on each side, or some more then. The two figures in"
        " brackets are the medians of both sides. Rounds and reads of one run count as independent,"
        " and nothing is said of what differs between machines or days."
        " Of 20 such sentences one is wrong by chance, two where the side with few values varies"
        " more than the other. How many more values would show a difference is Noether's estimate"
        " (1987), for four chances in five to see it."
    ),
    (
        f"Of more than {MANY} drives the fastest is compared with the slowest. Chance alone puts"
        " these two apart, so their interval is wider: the 95 % hold for all pairs of the drives at"
        " once (Bonferroni), and it takes more values or pairs."
    ),
    (
        "Values of different places are compared in pairs: the slices of a surface by their"
        " position on the drive, the cells of a matrix by their record size. The ratio is the"
        " median of the quotients of all pairs. Its 95 % interval is that of a median, by ranks,"
        " and takes 6 pairs. Ten neighbouring slices of a surface count as one pair, as what slows"
        " a slice slows its neighbours too. Each place was measured once: the interval says what is"
        " typical of the places, and the range over all of them is given beside it."
    ),
    (
        "They are compared only where cache state, seed, size, image and all other keys of the"
        " plan are the same."
    ),
)

_RAM_APART = 0.05
"""RAM answered the same if its shares differ by no more than this."""

_FILES_APART = 0.1
"""Files whose size follows from the free RAM are alike where they differ by no more than this."""

_ALIKE = 0.0005
"""Three decimals show no difference that is smaller."""

_ONE_VALUE = "one value each: no interval"

_WORTH = 100
"""No one takes more values than this for a comparison."""

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

    one: Samples
    other: Samples
    ratio: Ratio | None = None
    """Of speeds: above 1 the first one is faster. None where they were not compared."""
    quotients: tuple[float, ...] = ()
    """The same of each place, where they were compared in pairs."""
    differences: tuple[Difference, ...] = ()
    """What was let pass, as it was asked for."""
    why_not: str = ""
    """Why they were not compared."""
    picked_from: int = 2
    """Of so many drives that were measured alike they are the fastest and the slowest."""

    @property
    def subject(self) -> str:
        """What both measured."""
        return self.one.subject

    @property
    def has_interval(self) -> bool:
        """Whether the ratio is more than the quotient of two figures."""
        return self.ratio is not None and self.ratio.interval is not None

    @property
    def is_single(self) -> bool:
        """Whether each has one value only."""
        count = len(self.quotients) or max(len(self.one.values), len(self.other.values))
        return count == 1

    @property
    def counted(self) -> str:
        """How many values there are, and whether these are too few for an interval."""
        few = "" if self.has_interval else ", too few for an interval"
        places = self.one.places
        if self.is_single:
            return _ONE_VALUE
        if places is None:
            return f"n = {len(self.one.values)} and {len(self.other.values)}{few}"
        what = places.called
        if places.together > 1:
            what = f"stretches of {places.together} {what}"
        return f"{len(self.quotients)} {what}, {_say_range(self.quotients)}{few}"


def compare_sides(one: Side, other: Side, *, although: Collection[str] = ()) -> tuple[Beside, ...]:
    """All that both measured, in the order of the first."""
    if one.label == other.label and one.campaign_id != other.campaign_id:
        one, other = (_name_campaign(side) for side in (one, other))
    return tuple(_compare(first, second, although) for first, second in _match(one, other))


def _name_campaign(side: Side) -> Side:
    """With the campaign in each reason, where the drive's name stands for both sides."""
    samples = (
        replace(series, missing=f"in campaign {side.campaign_id} {series.missing}")
        if series.missing
        else series
        for series in side.samples
    )
    return replace(side, samples=tuple(samples))


def _match(one: Side, other: Side) -> Iterator[tuple[Samples, Samples]]:
    """Of several series of one subject the one whose conditions are alike, or most alike."""
    remaining = list(other.samples)
    for samples in one.samples:
        alike = [
            candidate
            for candidate in remaining
            if (candidate.subject, candidate.unit) == (samples.subject, samples.unit)
        ]
        if alike:
            match = min(alike, key=lambda each: len(find_differences(samples, each)))
            remaining.remove(match)
            yield samples, match


def find_differences(one: Samples, other: Samples) -> tuple[Difference, ...]:
    """The conditions in which both were not taken alike."""
    keys = dict.fromkeys((*one.conditions, *other.conditions))
    differences = [
        Difference(_find_allowance(key), f"{key} {mine or 'not set'} against {theirs or 'not set'}")
        for key in keys
        if (mine := one.conditions.get(key, "")) != (theirs := other.conditions.get(key, ""))
    ]
    tested = {samples.conditions.get(TESTED, ALONE) for samples in (one, other)} - {ALONE}
    if tested and not any(difference.text.startswith(f"{TESTED} ") for difference in differences):
        # Beside as many, but how much each had of what they share is unknown.
        differences.append(Difference(_find_allowance(TESTED), f"both {TESTED} {tested.pop()}"))
    if any(samples.conditions.get(PAGE_CACHE, "").endswith(NOT_PROVEN) for samples in (one, other)):
        differences.append(Difference("cache", "the state of the page cache is not proven"))
    shares = (one.ram_share, other.ram_share)
    if None in shares and shares != (None, None):
        differences.append(
            Difference("cache", "how much RAM answered is known of one of both only")
        )
    elif None not in shares and abs((shares[0] or 0.0) - (shares[1] or 0.0)) > _RAM_APART:
        text = " against ".join(format_share(share) for share in shares)
        differences.append(Difference("cache", f"RAM answered {text}"))
    sizes = [samples.file_bytes for samples in (one, other) if samples.file_bytes]
    if len(sizes) == 2 and max(sizes) > min(sizes) * (1.0 + _FILES_APART):
        text = " against ".join(format_bytes(size) for size in sizes)
        differences.append(Difference("size", f"a file of {text}"))
    return tuple(differences)


def _find_allowance(key: str) -> str:
    if key == IMAGE:
        return "image"
    if key in _CACHE_KEYS:
        return "cache"
    if key == "seed":
        return "seed"
    return "size" if "size" in key or key == "boot_set" else "plan"


def _compare(
    one: Samples, other: Samples, although: Collection[str], *, picked_from: int = 2
) -> Beside:
    missing = "; ".join(dict.fromkeys(filter(None, (one.missing, other.missing))))
    if missing:
        return Beside(one, other, why_not=f"not compared: {missing}.")
    differences = find_differences(one, other)
    refused = [difference for difference in differences if difference.allowance not in although]
    if refused:
        words = ", ".join(dict.fromkeys(difference.allowance for difference in refused))
        reasons = "; ".join(difference.text for difference in refused)
        return Beside(one, other, why_not=f"not compared for the sake of {words}: {reasons}.")
    confidence = find_confidence(picked_from)
    if one.places is None:
        ratio = find_ratio(one.values, other.values, confidence=confidence)
        if ratio is None:
            return Beside(one, other, why_not="not compared: a value is not positive.")
        speeds = ratio.inverse if one.unit == "s" else ratio
        return Beside(one, other, speeds, differences=differences, picked_from=picked_from)
    quotients = find_quotients(_pair_places(one, other), together=one.places.together)
    if quotients is None:
        return Beside(one, other, why_not="not compared: they have no place in common.")
    ratio = find_paired_ratio(quotients, confidence=confidence)
    return Beside(one, other, ratio, quotients, differences, picked_from=picked_from)


def _pair_places(one: Samples, other: Samples) -> list[tuple[float, float]]:
    """What both have of each place that is in both; of several runs the median."""
    mine, theirs = _sort_by_place(one), _sort_by_place(other)
    return [(value, theirs[place]) for place, value in mine.items() if place in theirs]


def _sort_by_place(samples: Samples) -> dict[str, float]:
    runs: dict[str, list[float]] = {}
    names = samples.places.names if samples.places else ()
    for place, value in zip(names, samples.values, strict=False):
        runs.setdefault(place, []).append(value)
    return {place: stats.find_median(values) or 0.0 for place, values in runs.items()}


def say_beside(beside: Beside) -> str:
    """In words: the ratio with its interval and what it is from, or why there is none."""
    one, other, ratio = beside.one, beside.other, beside.ratio
    if ratio is None:
        return beside.why_not
    details = [
        f"{_say_median(one)} against {_say_median(other)}{_say_apart(beside, ratio)}",
        *([f"the fastest and the slowest of {beside.picked_from}"] * (beside.picked_from > 2)),
        beside.counted,
        *_say_state(one, other),
        *(f"although {difference.text}" for difference in beside.differences),
    ]
    return f"{say_ratio(ratio)} ({'; '.join(details)}).{_say_more(beside, ratio)}"


def _say_apart(beside: Beside, ratio: Ratio) -> str:
    """Where the two medians differ by a factor that the interval excludes: values lie in groups."""
    one, other = (
        stats.find_median(samples.values) or 1.0 for samples in (beside.one, beside.other)
    )
    quotient = other / one if beside.one.unit == "s" else one / other
    if beside.one.places or not ratio.interval or not ratio.is_seen:
        return ""
    if ratio.interval.low <= quotient <= ratio.interval.high:
        return ""
    return ", medians that differ by another factor than most of the values"


def _say_more(beside: Beside, ratio: Ratio) -> str:
    """Where nothing is seen: how many more values would show the smallest difference of use.

    Of pairs there are as many as there are places.
    """
    one, other = beside.one, beside.other
    if one.places or ratio.is_seen or (ratio.hidden is not None and ratio.hidden <= KNOWN_TO):
        return ""
    confidence = find_confidence(beside.picked_from)
    more = count_more(one.values, other.values, ratio=1.0 + KNOWN_TO, confidence=confidence)
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
    """`1.94 times faster, 1.88 to 2.01`, or how large a difference may be that cannot be seen.

    Without an interval the ratio alone.
    """
    interval, hidden = ratio.interval, ratio.hidden
    if interval is None or hidden is None:
        return _say_times(ratio.value)
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


def _say_range(quotients: Sequence[float]) -> str:
    """Between which ratios those of all places lie."""
    low, high = min(quotients), max(quotients)
    if max(high - 1.0, 1.0 - low) < _ALIKE:
        return "all equally fast"
    if low >= 1.0:
        return f"each {_format(low, low)} to {_format(high, low)} times faster"
    if high <= 1.0:
        return f"each {_format(1 / high, 1 / high)} to {_format(1 / low, 1 / high)} times slower"
    return f"from {_say_times(low)} to {_say_times(high)}"


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
    number = format_rate(value) if samples.unit == "MB/s" else format_number(value)
    return f"{number} {samples.unit}"


def _say_state(one: Samples, other: Samples) -> Iterator[str]:
    """The two facts about the caches, of both. Of a boot the power says it."""
    key = COLD_START if COLD_START in one.conditions else PAGE_CACHE
    if (text := one.conditions.get(key)) and text == other.conditions.get(key):
        yield f"{key} {text}"
    shares = [share for share in (one.ram_share, other.ram_share) if share is not None]
    if len(shares) == 2:
        text = " and ".join(dict.fromkeys(format_share(share) for share in shares))
        yield f"RAM answered {text}"


def compare_campaigns(
    one: tuple[CampaignRows, str], other: tuple[CampaignRows, str], *, although: Collection[str]
) -> Iterator[str]:
    """Lines of text: one pair of drives after the other.

    Each campaign with the drive that is meant, or "": then each that is surely in both, or else the
    only one of each. Raises PlanError where that leaves none.
    """
    for first, second in _pair(_pick(*one), _pick(*other)):
        yield f"{_name(first)} against {_name(second)}:"
        besides = compare_sides(first, second, although=although)
        for beside in besides:
            yield f"  {beside.subject}: {say_beside(beside)}"
        if not besides:
            yield "  nothing that both measured."
        elif others := _say_others(first, second):
            yield f"  measured under other conditions: {others}."


def _say_others(one: Side, other: Side) -> str:
    """Under which other conditions they were measured; nothing of two drives of a campaign."""
    is_same = one.campaign_id == other.campaign_id
    return "" if is_same else say_other_conditions(one.settings, other.settings)


def _name(side: Side) -> str:
    return f"campaign {side.campaign_id}, {side.label}"


def _pick(rows: CampaignRows, drive: str) -> tuple[Side, ...]:
    sides = read_sides(rows)
    matches = tuple(side for side in sides if drive in {"", side.identity})
    if not matches:
        there = ", ".join(printable(side.identity) for side in sides) or "none"
        raise PlanError(
            f"campaign {rows.campaign.id} has no figures"
            + (f" of drive {printable(drive)}" if drive else ""),
            hint=f"it has figures of: {there}",
        )
    return matches


def _pair(ones: Sequence[Side], others: Sequence[Side]) -> list[tuple[Side, Side]]:
    if len(ones) == len(others) == 1:
        return [(ones[0], others[0])]
    pairs = [
        (one, other) for one in ones for other in others if one.token and one.token == other.token
    ]
    if not pairs or any(one == other for one, other in pairs):
        raise PlanError(
            "which drives to compare is ambiguous",
            hint="name one drive of each campaign as CAMPAIGN:DRIVE; there are: "
            + ", ".join(
                dict.fromkeys(
                    f"{side.campaign_id}:{printable(side.identity)}" for side in (*ones, *others)
                )
            ),
        )
    return pairs


def find_besides(sides: Sequence[Side]) -> tuple[tuple[Side, Side, Beside], ...]:
    """Each drive of a campaign against the fastest that was measured alike, which comes first.

    Of many only the slowest that was measured as another one was.
    """
    subjects = dict.fromkeys(samples.subject for side in sides for samples in side.samples)
    besides: list[tuple[Side, Side, Beside]] = []
    for subject in subjects:
        entries = [
            (side, samples)
            for side in sides
            for samples in side.samples
            if samples.subject == subject and samples.values
        ]
        entries.sort(key=lambda each: _find_speed(each[1]), reverse=True)
        picked = 1 if len(entries) > MANY else None
        pairs = ((entry, _list_alike(entries, entry)) for entry in reversed(entries))
        apart = islice((pair for pair in pairs if pair[1][0] is not pair[0]), picked)
        for (side, samples), alike in reversed([*apart]):
            best_side, best = alike[0]
            beside = _compare(best, samples, (), picked_from=len(alike) if picked else 2)
            if side is not best_side and beside.ratio is not None:
                besides.append((best_side, side, beside))
    return tuple(besides)


def _list_alike(
    own: Sequence[tuple[Side, Samples]], one: tuple[Side, Samples]
) -> list[tuple[Side, Samples]]:
    """Those of `own` that were measured as `one` was, in their order; `one` is among them."""
    return [pair for pair in own if pair is one or not find_differences(pair[1], one[1])]


def find_ratio_findings(sides: Sequence[Side]) -> tuple[Finding, ...]:
    """What enough values show of the drives side by side; what has too few, in one line."""
    besides = find_besides(sides)
    findings = [
        Finding("flat", f"{best.label} against {side.label}, {beside.subject}", say_beside(beside))
        for best, side, beside in besides
        if beside.has_interval
    ]
    few: dict[bool, dict[str, None]] = {}
    for _, _, beside in besides:
        if not beside.has_interval:
            few.setdefault(beside.is_single, {})[_name_few(beside)] = None
    for is_single, subjects in few.items():
        why = "one value each, so no interval" if is_single else "too few values for an interval"
        text = f"{why}: {'; '.join(subjects)}. Their tables have the figures."
        findings.append(Finding("flat", "Drives side by side", text, is_aside=True))
    return tuple(findings)


def _name_few(beside: Beside) -> str:
    """What was compared without an interval; a sweep's many points are one."""
    return "each point of the sweep" if _is_point(beside) else beside.subject


def _is_point(beside: Beside) -> bool:
    return beside.subject.startswith("sweep, ")


def _find_speed(samples: Samples) -> float:
    median = stats.find_median(samples.values) or 0.0
    return -median if samples.unit == "s" else median


def pair_earlier(sides: Sequence[Side], earlier: Sequence[Side]) -> tuple[tuple[Side, Side], ...]:
    """Each drive with itself in an earlier campaign, where it is surely there."""
    known = {side.token: side for side in reversed(earlier)}
    return tuple((side, known[side.token]) for side in sides if side.token and side.token in known)


def find_earlier_findings(sides: Sequence[Side], earlier: Sequence[Side]) -> tuple[Finding, ...]:
    """Each drive against itself in an earlier campaign; what could not be compared in one line."""
    findings: list[Finding] = []
    for side, before in pair_earlier(sides, earlier):
        name = f"{side.label} against itself in campaign {before.campaign_id}"
        refused: list[str] = []
        points: list[float] = []
        worst = "flat"
        for beside in compare_sides(side, before):
            if beside.ratio is None:
                refused.append(f"{beside.subject} {beside.why_not.removesuffix('.')}")
                continue
            if _is_point(beside) and not beside.has_interval:
                points.append(beside.ratio.value)
                continue
            has_changed = beside.ratio.is_seen and abs(beside.ratio.value - 1.0) > stats.TOLERANCE
            kind = "remark" if has_changed else "flat"
            worst = "remark" if has_changed else worst
            findings.append(Finding(kind, f"{name}, {beside.subject}", say_beside(beside)))
        if points:
            text = f"{count(len(points), 'point')}, {_say_range(points)}; {_ONE_VALUE}."
            findings.append(Finding("flat", f"{name}, sweep", text))
        if refused:
            findings.append(Finding("flat", name, f"{'; '.join(refused)}."))
        if others := _say_others(side, before):
            # Beside what it may explain.
            findings.append(Finding(worst, name, f"measured under other conditions: {others}."))
    return tuple(findings)

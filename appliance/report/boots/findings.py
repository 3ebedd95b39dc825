# SPDX-License-Identifier: Apache-2.0
"""Conclusions from a campaign's figures, in plain sentences, each by a stated rule. Pure.

A sentence is derived from data and from nothing else. What is not proven is called so.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import floor, sqrt

from appliance.report.series import Series, find_controls
from appliance.statistics import stats
from appliance.statistics.ratio import find_ratio

_TOLERANCE = f"{stats.TOLERANCE * 100:.0f} %"
_GAIN = 1.0 + stats.TOLERANCE
_EXCLUDED = 1.15
"""No gain is reported if the interval excludes this: with less, ten boots of a disk would hardly
ever show that it has none."""
_CHANCE = 0.05
_DRIFT = 0.01
_LEAST = stats.LEAST_SETTLED

RULES = (
    (
        f"Settled: at least {_LEAST} boots up to the last one, each within ±{_TOLERANCE} of where"
        " the boots end up, whose trend is shown not to add up to"
        f" {_TOLERANCE} (Theil-Sen slope, 95 % confidence each way). Median and interval are of"
        " the settled boots only."
    ),
    (
        "Gain: first boot divided by the median of the settled boots. Its 95 % interval is"
        " Student's t on logarithms: there is one first boot only, so how far chance moves it is"
        " taken from the settled boots of the drive, or of a control drive if those vary more. It"
        f" is called faster or slower from a factor of {_GAIN:.1f} on, if its interval does not"
        f" hold 1, and no gain where the interval lies below {_EXCLUDED:.2f}; and it is the drive's"
        " own only if it is shown to be larger than the largest distance of any boot of a control"
        " drive from that drive's median. It is not told where boots between faster ones are slow"
        " too (nearer to the first boot than to the settled ones), unless they are so few that"
        f" chance alone begins like this in {_CHANCE * 100:.0f} % of all series at most (Barnard's"
        " test). Slow boots of the campaign's other drives count as well: with any of so many"
        f" drives, chance begins like this in {_CHANCE * 100:.0f} % of all campaigns at most."
        " That there is none is not said of a drive that may have learned before its first timed"
        " boot."
    ),
    (
        "Drift: Theil-Sen slope of the settled boots but the first of all, which the gain is about;"
        " mentioned if its 95 % interval (Sen, by Kendall's exact distribution) does not hold 0 and"
        f" it adds up to more than {_DRIFT * 100:.0f} % of the median. The interval assumes"
        " that boots vary independently: a room that slowly warms and cools causes a drift, too."
    ),
    "Cold is called proven only where the drive's own power-cycle count rose between two boots.",
    "Failed, doubtful, charted and untimed boots are in none of these figures.",
)


@dataclass(frozen=True, slots=True)
class Finding:
    """One sentence. `kind` is gain | flat | remark | proof."""

    kind: str
    subject: str
    text: str
    is_aside: bool = False
    """Whether it is true but not about a drive."""


def find_findings(all_series: Sequence[Series], *, timed: bool = True) -> tuple[Finding, ...]:
    """What each drive showed, gains first; then how cold the boots were; then what is missing.

    Where no boots were `timed`, their absence is not worth a sentence.
    """
    findings = [judge_learning(series, all_series) for series in all_series if timed]
    # What the stick was made to find comes first.
    findings.sort(key=lambda finding: finding.kind != "gain")
    findings += [finding for series in all_series for finding in _judge_drift(series, all_series)]
    findings += _compare_powers(all_series)
    findings += _judge_coldness(all_series)
    findings += [_judge_cooling(series) for series in all_series if series.is_cooled]
    findings += [
        Finding(
            "remark",
            series.drive_label or series.label,
            f"the campaign went on without it: {series.given_up}.",
        )
        for series in all_series
        if series.given_up
    ]
    findings += [
        Finding(
            "flat",
            series.drive_label or series.label,
            f"{_say_first(series.trained)} not timed: a drive that learns may have learned from"
            f" {'it' if series.trained == 1 else 'them'} before the timed ones.",
            is_aside=True,
        )
        for series in all_series
        if series.trained
    ]
    findings += [
        Finding(
            "remark",
            series.label,
            f"{_count(series.failed, 'boot')} failed and"
            f" {'is' if series.failed == 1 else 'are'} left out of every figure.",
        )
        for series in all_series
        if series.failed
    ]
    findings += [
        Finding(
            "remark",
            series.label,
            f"{_count(series.skipped, 'boot')} of {series.planned} skipped by a person: not"
            " measured.",
        )
        for series in all_series
        if series.skipped
    ]
    # What concerns the drive is reported once, not for its cold and again for its warm boots.
    return tuple(dict.fromkeys(findings))


def _judge_cooling(series: Series) -> Finding:
    """Whether the drive knew nothing of the boot before each, be it that it never learned."""
    unproven = sum(proof != "proven" for proof in series.coolings)
    if not unproven:
        text = (
            f"before each of {_count(len(series.coolings), 'boot')} other blocks were read, and a"
            " probe showed that it did not know what a boot reads (cooling proven)."
        )
        return Finding("flat", series.label, text, is_aside=True)
    text = (
        f"before {unproven} of {_count(len(series.coolings), 'boot')} it is not proven that it had"
        " forgotten what a boot reads (cooling unproven); the event log has the reason."
    )
    return Finding("proof", series.label, text)


def _compare_powers(all_series: Sequence[Series]) -> list[Finding]:
    """Of a drive that was booted both ways the warm boots beside the cold ones."""
    told_apart = [series for series in all_series if series.is_told_apart]
    cold = {series.drive_label: series for series in told_apart if series.power == "cold"}
    return [
        _compare_power(cold[warm.drive_label], warm)
        for warm in told_apart
        if warm.power == "warm" and warm.drive_label in cold
    ]


def _compare_power(cold: Series, warm: Series) -> Finding:
    label = cold.drive_label
    proofs = ({proof for proof, _ in cold.proofs}, {proof for proof, _ in warm.proofs})
    if proofs != ({"proven"}, {"warm"}):
        why = "not of all is it proven that the drive lost its power, or kept it."
        return Finding("proof", label, f"cold and warm boots are not compared: {why}")
    ratio = find_ratio(cold.settled_boot_s, warm.settled_boot_s)
    if ratio is None or ratio.interval is None:
        why = f"both must have settled in {_LEAST} boots or more."
        return Finding("remark", label, f"cold and warm boots are not compared: {why}")
    counts = f"{len(warm.settled_boot_s)} and {len(cold.settled_boot_s)} settled boots"
    times = f"{say_boot_s(warm.settled_s)} s against {say_boot_s(cold.settled_s)} s, {counts}"
    if not ratio.is_seen:
        text = f"no difference larger than {_percent(ratio.hidden or 0.0)} between warm and cold"
        return Finding("flat", label, f"{text} boots ({times}): its RAM adds nothing that is seen.")
    factor = ratio if ratio.value > 1.0 else ratio.inverse
    low, high = (factor.interval.low, factor.interval.high) if factor.interval else (0.0, 0.0)
    return Finding(
        "flat",
        label,
        f"warm boots take {times}: {factor.value:.2f} times ({low:.2f} to {high:.2f})"
        f" {'less' if factor is ratio else 'more'}. A power-off empties the drive's RAM and a"
        " restart does not: what the cold boots gain is not from its RAM.",
    )


def judge_learning(series: Series, all_series: Sequence[Series]) -> Finding:
    """What a drive's boots show; `all_series` has those of the control drives too."""
    label, count = series.label, len(series.boot_s)
    if not count:
        return Finding("remark", label, "no valid timed boot.")
    if count < _LEAST:
        return Finding(
            "remark",
            label,
            f"{_count(count, 'valid boot')} ({say_range(series.boot_s)}) cannot show whether the"
            f" drive still learns: it takes at least {_LEAST}.{_say_so_far(series)}",
        )
    if series.settled_from is None:
        return Finding("remark", label, _say_unsettled(series) + _say_so_far(series))
    gain = series.find_gain(all_series)
    if gain is None:
        why = "was not timed" if series.trained else "is missing"
        is_later = series.is_told_apart and series.power == "warm" and not series.trained
        no_gain = f"its first boot {why}, so no gain over it can be stated"
        if is_later:
            no_gain = "each follows a cold boot, so no gain over a first one can be stated"
        if series.is_cooled:
            no_gain = "before each it was to forget, so no gain over a first one can be stated"
        return Finding(
            "flat" if series.trained or is_later or series.is_cooled else "remark",
            label,
            f"settled from boot {series.settled_from} on at {say_boot_s(series.settled_s)} s;"
            f" {no_gain}.",
        )
    finding = _judge_gain(series, all_series, gain=gain)
    if finding.kind == "flat" and series.learned_before:
        text = (
            f"settled from boot {series.settled_from} on at {say_boot_s(series.settled_s)} s;"
            f" {series.learned_before}, so that it gains nothing by repeating is not shown."
        )
        return Finding("flat", label, text)
    return finding


def _say_unsettled(series: Series) -> str:
    """Why the boots do not count as settled, and what would show it."""
    course = series.course
    near, from_boot = series.boot_s[course.near_from :], series.cycles[-_LEAST]
    if len(near) < _LEAST:
        return _say_far(series, from_boot)
    from_boot, trend = series.cycles[course.near_from], course.trend
    if trend is not None and (trend.high < 0.0 or trend.low > 0.0):
        moves = "still learning" if trend.high < 0.0 else "not settled"
        return (
            f"{moves}: from boot {from_boot} on the time changes by {_say_trend(trend, series)}"
            f" per boot ({say_range(near)}). More boots are needed."
        )
    deviation = stats.find_deviation(near) or 0.0
    total = stats.count_to_settle(deviation)
    text = (
        f"not settled: its boots vary by {_percent(deviation)}, so {len(near)} of them do not show"
        f" whether it still learns ({say_range(near)})."
    )
    if total is None:
        return f"{text} More boots would hardly show it."
    return f"{text} About {_count(max(1, total - len(near)), 'more boot')} would."


def _say_so_far(series: Series) -> str:
    """What was seen all the same, where each later boot is faster than the first one."""
    if not (series.from_first_boot and series.boot_s[1:]):
        return ""
    first_s, *later_s = series.boot_s
    least = first_s / max(later_s)
    if least < _GAIN:
        return ""
    return (
        f" So far each later boot was at least {floor(least * 100) / 100:.2f} times as fast as the"
        f" first one ({say_boot_s(first_s)} s)."
    )


def _say_far(series: Series, from_boot: int) -> str:
    """Of boots that are too few where they end up."""
    alike = stats.count_alike(series.boot_s)
    is_falling = _is_falling(series.boot_s, alike=alike)
    if 1 < alike < _LEAST and not is_falling:
        return (
            f"not settled yet: only the last {alike} boots, from boot {series.cycles[-alike]} on,"
            f" stay within ±{_TOLERANCE} of each other ({say_range(series.boot_s[-alike:])}). It"
            f" takes {_LEAST} to show whether the drive still learns."
        )
    return (
        f"{'still learning' if is_falling else 'not settled'}: the boots from boot {from_boot} on"
        f" do not stay within ±{_TOLERANCE} of each other ({say_range(series.boot_s[-_LEAST:])})."
        " More boots are needed."
    )


def _is_falling(boot_s: Sequence[float], *, alike: int) -> bool:
    """Whether the boots get faster, the last ones that are `alike` too.

    A drive that has learned all before these is faster than at first, and learns no more.
    """
    trend = stats.find_trend([(float(number), value) for number, value in enumerate(boot_s)])
    at_last = boot_s[-1] < boot_s[-max(2, alike)] * (1.0 - stats.TOLERANCE)
    return trend is not None and trend.high < 0.0 and at_last


def _judge_gain(series: Series, all_series: Sequence[Series], *, gain: stats.Gain) -> Finding:
    label, settled_from, settled_s = series.label, series.settled_from, series.settled_s or 0.0
    first = f"its first boot ({say_boot_s(series.boot_s[0])} s)"
    against = f"{first} took {gain.ratio:.2f} times as long ({gain.low:.2f} to {gain.high:.2f})"
    is_seen = not gain.low <= 1.0 <= gain.high
    is_small = 1.0 / _GAIN < gain.ratio < _GAIN
    if is_small and is_seen:
        return _judge_small(label, gain, against)
    is_unseen = settled_from == 1 or is_small or not is_seen
    slow = "" if is_unseen or gain.ratio < 1.0 else _say_slow_later(series, all_series)
    if is_unseen or slow:
        return _judge_unseen(series, gain, against, slow=slow)
    weighed, is_drives_own = _weigh(series, gain, all_series)
    return Finding(
        "gain" if gain.ratio > 1.0 and is_drives_own else "remark",
        label,
        f"from boot {settled_from} on {say_gain(gain)} at its first boot"
        f" ({say_boot_s(series.boot_s[0])} s, then {say_boot_s(settled_s)} s). {weighed}",
    )


def _judge_small(label: str, gain: stats.Gain, against: str) -> Finding:
    """What is seen, and is not called a gain: it may still be as large as one."""
    if gain.high < _GAIN:
        text = f"no gain as large as {_TOLERANCE}: {against} as the later ones."
        return Finding("flat", label, text)
    text = f"faster later, and whether by {_TOLERANCE} is not decided: {against} as the later ones."
    return Finding("remark", label, text)


def _judge_unseen(series: Series, gain: stats.Gain, against: str, *, slow: str) -> Finding:
    """Where the first boot is no other than the later ones, or is not seen to be."""
    is_none = gain.high < _EXCLUDED and not slow
    if series.settled_from == 1:
        answer = "no gain from repeating" if is_none else "neither a gain nor none is shown"
        text = (
            f"{answer}: all {len(series.boot_s)} boots within ±{_percent(series.spread or 0.0)} of"
            f" the median {say_boot_s(series.settled_s)} s; {against} as the later ones."
        )
    else:
        phrase = (
            "is no proof of a gain" if is_none else "shows neither a gain nor that there is none"
        )
        text = (
            f"uneven at first, settled from boot {series.settled_from} on at"
            f" {say_boot_s(series.settled_s)} s: {against}, which {phrase}."
        )
    return Finding("flat" if is_none else "remark", series.label, text + slow)


def _say_slow_later(series: Series, all_series: Sequence[Series]) -> str:
    """Which boots behind a faster one are slow again, if chance does as much; else nothing.

    Slow is what is nearer to the first boot than to the settled ones. A drive that learns is slow
    at the beginning, and only there. Of several drives one may begin like this by chance where the
    others do not: their slow boots count too.
    """
    factor = sqrt(series.boot_s[0] / (series.settled_s or 0.0))
    first, later = _split_slow(series, factor)
    chance = stats.find_chance_to_begin(first, later=len(later), others=len(series.boot_s) - first)
    if later and chance > _CHANCE:
        was = "was" if len(later) == 1 else "were"
        slow = _count(len(later), "later boot")
        return f" {slow} between faster ones {was} slow too ({say_range(later)})."
    alike = [
        one
        for one in all_series
        if one.role != "control" and one.power == series.power and one.from_first_boot
    ]
    split = [(one, *_split_slow(one, factor)) for one in alike]
    count = sum(len(slow) for one, _, slow in split)
    chance = stats.find_chance_to_begin(
        first,
        later=count,
        others=sum(max(0, len(one.boot_s) - max(first, begun)) for one, begun, _ in split),
        begun=sum(begun >= first for _, begun, _ in split),
        series=len(alike),
    )
    if count == 0 or chance <= _CHANCE:
        return ""
    return (
        f" {_count(count, 'later boot')} of the {len(alike)} drives"
        f" {'was' if count == 1 else 'were'} as slow between faster ones: one of so many drives may"
        " begin like this by chance."
    )


def _split_slow(series: Series, factor: float) -> tuple[int, list[float]]:
    """How many boots are slow at first, by that factor, and which are behind a faster one.

    Those that are not settled count too: some are not because of a slow boot at last.
    """
    limit_s = factor * (series.settled_s or stats.find_median(series.boot_s) or 0.0)
    is_slow = [boot_s > limit_s for boot_s in series.boot_s]
    first = is_slow.index(False)
    behind = zip(series.boot_s[first:], is_slow[first:], strict=True)
    return first, [boot_s for boot_s, slow in behind if slow]


def say_boot_s(boot_s: float | None) -> str:
    """Seconds with one decimal; below a second with three, as a replay may take milliseconds."""
    boot_s = boot_s or 0.0
    return f"{boot_s:.1f}" if boot_s >= 1.0 else f"{boot_s:.3f}"


def say_gain(gain: stats.Gain) -> str:
    """`1.7 times (1.6 to 1.8) as fast as`, the interval with 95 % confidence."""
    how, ratio, low, high = "fast", gain.ratio, gain.low, gain.high
    if ratio < 1.0:
        how, ratio, low, high = "slow", 1.0 / ratio, 1.0 / high, 1.0 / low
    # Where a tenth would hide how wide the interval is, or that it does not hold 1.
    digits = 1 if high - low >= 0.1 and low >= 1.1 else 2
    return f"{ratio:.{digits}f} times ({low:.{digits}f} to {high:.{digits}f}) as {how} as"


def _weigh(series: Series, gain: stats.Gain, all_series: Sequence[Series]) -> tuple[str, bool]:
    """Whether the control drives rule out that the machine, not the drive, changed: words, answer.

    All their boots count, not only the settled ones: a machine that was slow at first was slow in
    their first boots too. Without a control drive nothing speaks against the drive.
    """
    if series.role == "control":
        return "It is a control drive, so this may be the machine and not the drive.", False
    controls = [
        (other, other.spread)
        for other in find_controls(all_series, series.power)
        if len(other.boot_s) > 1 and other.spread is not None
    ]
    if not controls:
        text = "No control drive has two boots, so a change of the machine itself is not ruled out."
        return text, True
    name = "The control drive" if len(controls) == 1 else "The control drives"
    most = _percent(max(spread for _, spread in controls))
    if all(
        stats.lies_beyond(gain, spread, control=other.find_gain([other]))
        for other, spread in controls
    ):
        return f"{name} stayed within ±{most}.", True
    return (f"{name} moved by up to ±{most}, so this may be the machine and not the drive."), False


def _judge_drift(series: Series, all_series: Sequence[Series]) -> tuple[Finding, ...]:
    drift_s = _find_drift(series)
    if drift_s is None:
        return ()
    total_s = drift_s.slope * (series.cycles[-1] - series.cycles[-len(series.later_boot_s)])
    digits = 1 if series.boot_s[-1] >= 1.0 else 3
    control_drifts = [_find_drift(other) for other in find_controls(all_series, series.power)]
    weighed = ""
    if series.role == "control":
        weighed = " It is a control drive, so this may be the machine."
    elif any(drift is not None and drift.slope * total_s > 0.0 for drift in control_drifts):
        weighed = " A control drive does too, so this may be the machine."
    return (
        Finding(
            "remark",
            series.label,
            f"still drifts after settling: {_say_trend(drift_s, series)} per boot,"
            f" {total_s:+.{digits}f} s in all.{weighed}",
        ),
    )


def _find_drift(series: Series) -> stats.Trend | None:
    """One that is no chance and adds up."""
    drift_s, settled_s = series.drift_s, series.settled_s
    if drift_s is None or settled_s is None or drift_s.low <= 0.0 <= drift_s.high:
        return None
    total_s = drift_s.slope * (series.cycles[-1] - series.cycles[-len(series.later_boot_s)])
    return drift_s if abs(total_s) > _DRIFT * settled_s else None


def _say_trend(trend: stats.Trend, series: Series) -> str:
    """`+0.200 s (+0.150 to +0.250)`, the interval with 95 % confidence."""
    slope, low, high = format_trend(trend, series)
    return f"{slope} s ({low} to {high})"


def format_trend(trend: stats.Trend, series: Series) -> tuple[str, str, str]:
    """Slope and both ends; two digits more below a second, as a replay may take milliseconds."""
    digits = 3 if series.boot_s[-1] >= 1.0 else 5
    slope, low, high = (f"{value:+.{digits}f}" for value in (trend.slope, trend.low, trend.high))
    return slope, low, high


def say_range(boot_s: Sequence[float]) -> str:
    """`40.0 to 41.0 s`; one figure where both would read alike."""
    if not boot_s:
        return "no valid boot"
    low, high = (say_boot_s(find(boot_s)) for find in (min, max))
    return f"{low} s" if low == high else f"{low} to {high} s"


def _judge_coldness(all_series: Sequence[Series]) -> list[Finding]:
    """One sentence per proof and reason; drives that share it are named together."""
    drives: dict[tuple[str, str, str], list[str]] = {}
    boots: dict[tuple[str, str, str], int] = {}
    for series in all_series:
        for (power, proof, reason), count in sorted(series.count_proofs().items()):
            # Of a proven boot only the fact is reported: its counts differ from boot to boot.
            key = (power, proof, reason if proof == "unproven" else "")
            if series.label not in drives.setdefault(key, []):
                drives[key].append(series.label)
            boots[key] = boots.get(key, 0) + count
    return [
        Finding(
            # What is proven is no doubt.
            "flat" if key[1] == "proven" else "proof",
            ", ".join(names),
            _say_proof(*key, count=boots[key]),
        )
        for key, names in sorted(drives.items())
    ]


def _say_proof(power: str, proof: str, reason: str, *, count: int) -> str:
    boots = _count(count, "boot")
    if proof == "proven":
        return f"cold: proven ({boots}); the drive's power-cycle count rose."
    if proof == "warm":
        return (
            f"warm ({boots}): the machine restarted without a power-off, so the drive's own memory"
            " stayed filled. These are no cold boots."
        )
    if power == "warm":
        return f"warm: unproven ({boots}): {reason or 'no reason was recorded'}."
    return f"cold: unproven ({boots}), because {reason or 'no reason was recorded'}."


def _say_first(number: int) -> str:
    return "the first boot was" if number == 1 else f"the first {number} boots were"


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def _percent(share: float) -> str:
    return f"{share * 100:.1f} %"

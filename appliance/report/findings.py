"""What the figures of a campaign say, in plain sentences, each by a stated rule. Pure.

A sentence is derived from data and from nothing else. What is not proven is called so.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from appliance import stats
from appliance.report.series import Series

_TOLERANCE = f"{stats.TOLERANCE * 100:.0f} %"
_GAIN = 1.0 + stats.TOLERANCE
_DRIFT = 0.05

RULES = (
    (
        f"Settled: from that cycle on, every boot lies within ±{_TOLERANCE} of the median of the"
        " last half of the boots, and at least two boots do."
    ),
    (
        "Gain: first boot divided by the median of the settled boots. It is called faster or slower"
        f" from a factor of {_GAIN:.1f} on, and set against the control drives: the largest"
        " distance of any of their boots from their drive's median."
    ),
    (
        "Drift: Theil-Sen slope over the settled boots, at least three; mentioned where it adds up"
        f" to more than {_DRIFT * 100:.0f} % of the median."
    ),
    "Cold is called proven only where the drive's own power-cycle count rose between two boots.",
    "Failed, doubtful and charted boots are in none of these figures.",
)


@dataclass(frozen=True, slots=True)
class Finding:
    """One sentence. `kind` is gain | flat | remark | proof."""

    kind: str
    subject: str
    text: str


def find_findings(all_series: Sequence[Series], *, timed: bool = True) -> tuple[Finding, ...]:
    """What each drive showed, gains first; then how cold the boots were; then what is missing.

    Where no boots were `timed`, their absence is not worth a sentence.
    """
    found = [_judge_learning(series, all_series) for series in all_series if timed]
    # What the stick was made to find comes first.
    found.sort(key=lambda finding: finding.kind != "gain")
    found += [finding for series in all_series for finding in _judge_drift(series)]
    found += _judge_coldness(all_series)
    found += [
        Finding("remark", series.label, f"the campaign went on without it: {series.given_up}.")
        for series in all_series
        if series.given_up
    ]
    found += [
        Finding(
            "remark",
            series.label,
            f"{_count(series.failed, 'boot')} failed and left out of every figure.",
        )
        for series in all_series
        if series.failed
    ]
    found += [
        Finding(
            "remark",
            series.label,
            f"{_count(series.skipped, 'boot')} of {series.planned} skipped by a person: not"
            " measured.",
        )
        for series in all_series
        if series.skipped
    ]
    return tuple(found)


def _judge_learning(series: Series, all_series: Sequence[Series]) -> Finding:
    label, median_s = series.label, series.median_s
    if median_s is None:
        return Finding("remark", label, "no valid timed boot.")
    if len(series.boot_s) == 1:
        return Finding(
            "remark", label, f"one valid boot ({median_s:.1f} s) shows nothing about learning."
        )
    if series.settled_from is None:
        return Finding(
            "remark",
            label,
            f"not settled: the last boots do not stay within ±{_TOLERANCE} of each other"
            f" ({min(series.boot_s):.1f} to {max(series.boot_s):.1f} s). More cycles are needed.",
        )
    if series.gain is None:
        return Finding(
            "remark", label, "its first boot is missing, so no gain over it can be stated."
        )
    return _judge_gain(series, all_series, gain=series.gain)


def _judge_gain(series: Series, all_series: Sequence[Series], *, gain: float) -> Finding:
    label, settled_from, settled_s = series.label, series.settled_from, series.settled_s or 0.0
    first_s = series.boot_s[0]
    if settled_from == 1:
        return Finding(
            "flat",
            label,
            f"no gain from repeating: all {len(series.boot_s)} boots within"
            f" ±{_percent(series.spread or 0.0)} of the median {settled_s:.1f} s.",
        )
    if 1.0 / _GAIN < gain < _GAIN:
        return Finding(
            "flat",
            label,
            f"uneven at first, settled from cycle {settled_from} on at {settled_s:.1f} s: about as"
            f" fast as its first boot ({first_s:.1f} s).",
        )
    faster = gain > 1.0
    how = f"{gain:.1f} times as fast as" if faster else f"{1.0 / gain:.1f} times as slow as"
    return Finding(
        "gain" if faster else "remark",
        label,
        f"from cycle {settled_from} on {how} at its first boot ({first_s:.1f} s, then"
        f" {settled_s:.1f} s). {_weigh(series, abs(1.0 - 1.0 / gain), all_series)}",
    )


def _weigh(series: Series, change: float, all_series: Sequence[Series]) -> str:
    """Whether the control drives rule out that the machine, not the drive, changed."""
    controls = [other for other in all_series if other.role == "control" and other is not series]
    spreads = [
        other.spread for other in controls if len(other.boot_s) > 1 and other.spread is not None
    ]
    if not spreads:
        return "No control drive has two boots, so a change of the machine itself is not ruled out."
    name = "The control drive" if len(spreads) == 1 else "The control drives"
    if max(spreads) < change:
        return f"{name} stayed within ±{_percent(max(spreads))}."
    return (
        f"{name} moved by up to ±{_percent(max(spreads))} as well, so this may be the machine and"
        " not the drive."
    )


def _judge_drift(series: Series) -> tuple[Finding, ...]:
    drift_s, settled_from, settled_s = series.drift_s, series.settled_from, series.settled_s
    if drift_s is None or settled_from is None or settled_s is None:
        return ()
    total_s = drift_s * (series.cycles[-1] - settled_from)
    if abs(total_s) <= _DRIFT * settled_s:
        return ()
    return (
        Finding(
            "remark",
            series.label,
            f"still drifts after settling: {drift_s:+.3f} s per cycle, {total_s:+.1f} s in all.",
        ),
    )


def _judge_coldness(all_series: Sequence[Series]) -> list[Finding]:
    """One sentence per proof and reason; drives that share it are named together."""
    drives: dict[tuple[str, str], list[str]] = {}
    boots: dict[tuple[str, str], int] = {}
    for series in all_series:
        for (proof, reason), count in sorted(series.count_proofs().items()):
            # Of a proven boot only the fact is told: its counts differ from boot to boot.
            key = (proof, reason if proof == "unproven" else "")
            if series.label not in drives.setdefault(key, []):
                drives[key].append(series.label)
            boots[key] = boots.get(key, 0) + count
    return [
        Finding("proof", ", ".join(names), _say_proof(*key, count=boots[key]))
        for key, names in sorted(drives.items())
    ]


def _say_proof(proof: str, reason: str, *, count: int) -> str:
    boots = _count(count, "boot")
    if proof == "proven":
        return f"cold: proven ({boots}); the drive's power-cycle count rose."
    if proof == "warm":
        return (
            f"warm ({boots}): the machine restarted without a power-off, so the drive's own memory"
            " stayed filled. These are no cold boots."
        )
    return f"cold: unproven ({boots}), because {reason or 'no reason was recorded'}."


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def _percent(share: float) -> str:
    return f"{share * 100:.1f} %"

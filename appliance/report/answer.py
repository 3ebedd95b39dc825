# SPDX-License-Identifier: Apache-2.0
"""The campaign's answer: the sentence and the chart at the top of a page. Pure.

The sentence is the most telling of the findings, shortened; the full one is among them.
"""

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace

from appliance.plan.model import JUDGING_KINDS
from appliance.report.blocks import ChartView, SectionView, count
from appliance.report.boots.findings import (
    Finding,
    judge_learning,
    say_boot_s,
    say_gain,
    say_range,
)
from appliance.report.figures import Workload
from appliance.report.series import Series
from appliance.report.verdicts import VerdictsView
from appliance.report.workload_findings import find_workload_findings
from appliance.statistics import stats

MOST_RESULTS = 6
"""Findings of the open tier; more are folded."""

_MOST_NAMES = 4
"""Drives that a sentence names; of more it says how many."""

_KINDS = ("sql", "fio", "matrix", "sweep", "surface", "lottery")
"""Whose sentence answers first where nothing is gained; a lottery without a gain says little."""


@dataclass(frozen=True, slots=True)
class AnswerView:
    """What a page says first."""

    text: str
    proof: str
    """How much of it was cold, or what it rests on; may be empty."""
    is_gain: bool
    chart: ChartView | None = None
    workload: int | None = None
    """Whose section the chart was taken from."""


def make_answer(
    all_series: Sequence[Series],
    workloads: Sequence[Workload],
    sections: Sequence[SectionView],
    verdicts: VerdictsView | None,
    *,
    is_judged: bool,
    boots: ChartView | None,
) -> AnswerView | None:
    """The answer; None where nothing was measured.

    `is_judged`: whether the campaign was there to judge the drives; `boots` is their chart.
    """
    if is_judged and verdicts is not None:
        judging = [workload for workload in workloads if workload.kind in JUDGING_KINDS]
        answer = _answer_by_verdicts(verdicts)
        for workload in judging:
            answer = answer if answer.chart else _with_chart(answer, sections, workload.index)
        return answer if answer.chart or boots is None else replace(answer, chart=boots)
    if any(series.boot_s for series in all_series):
        return _answer_by_boots(all_series, boots)
    pair = _find_workload_answer(workloads)
    if pair is None:
        return None
    finding, workload = pair
    text, rest = _shorten(finding)
    is_gain = finding.kind == "gain"
    others = _find_also_gained(finding, workload) if is_gain else []
    also = f" Also faster: {_list(others)}." if others else ""
    answer = AnswerView(text=f"{finding.subject}: {text}{also}", proof=rest, is_gain=is_gain)
    return _with_chart(answer, sections, workload.index)


def split_findings(
    findings: Sequence[Finding],
) -> tuple[tuple[Finding, ...], tuple[Finding, ...], tuple[Finding, ...]]:
    """Results, more results, doubts: what was found out, and what speaks against it."""
    facts = [one for one in findings if one.kind in {"gain", "flat"}]
    results = [one for one in facts if not one.is_aside]
    asides = [one for one in facts if one.is_aside]
    # What failed or drifts, then what is not proven.
    doubts = tuple(sorted((one for one in findings if one not in facts), key=_is_of_proof))
    return tuple(results[:MOST_RESULTS]), (*results[MOST_RESULTS:], *asides), doubts


def _is_of_proof(finding: Finding) -> bool:
    return finding.kind == "proof"


def without_chart(sections: Sequence[SectionView], answer: AnswerView) -> tuple[SectionView, ...]:
    """The sections without the chart that is at the top."""
    return tuple(
        replace(
            section,
            blocks=tuple(
                replace(block, charts=tuple(c for c in block.charts if c is not answer.chart))
                if block.index == answer.workload
                else block
                for block in section.blocks
            ),
        )
        for section in sections
    )


def _answer_by_boots(all_series: Sequence[Series], chart: ChartView | None) -> AnswerView:
    gains: list[tuple[Series, stats.Gain]] = []
    flat: list[Series] = []
    trained: list[Series] = []
    open_: list[Series] = []
    for series in all_series:
        if not series.planned:
            continue
        finding = judge_learning(series, all_series)
        gain = series.find_gain(all_series)
        if finding.kind == "gain" and gain is not None:
            gains.append((series, gain))
        elif finding.kind == "flat":
            is_compared = gain is not None and not series.learned_before
            (flat if is_compared else trained).append(series)
        else:
            open_.append(series)
    sentences = _say_gains(gains)
    # A drive may have gained a little, and been shown to.
    seen = any(gain.low > 1.0 for one in flat if (gain := one.find_gain(all_series)) is not None)
    large = f" as large as {stats.TOLERANCE * 100:.0f} %" if seen else ""
    if flat and gains:
        names = _list([one.label for one in flat])
        sentences.append(f"{names}: no gain{large}.")
    elif flat:
        sentences.append(f"No gain{large} from repeating: {_list_times(flat)}.")
    if trained:
        after = "After boots that were not timed" if trained[0].trained else "Settled"
        sentences.append(f"{after}: {_list_times(trained)}.")
    if open_:
        sentences.append(f"Not decided{'' if sentences else ' yet'}: {_list_times(open_)}.")
    proof = _say_proofs(all_series)
    if gains and not any(one.role == "control" and len(one.boot_s) > 1 for one in all_series):
        proof = f"{proof} There is no control drive, so the machine itself may have changed."
    return AnswerView(text=" ".join(sentences), proof=proof, is_gain=bool(gains), chart=chart)


def _say_gains(gains: Sequence[tuple[Series, stats.Gain]]) -> list[str]:
    """A sentence for each drive; of many one, with the least and the most of them."""
    if len(gains) > _MOST_NAMES:
        times = say_range([series.settled_s or 0.0 for series, _ in gains])
        low, *_, high = sorted(gain.ratio for _, gain in gains)
        text = (
            f"{len(gains)} drives start faster after their first boots: in {times}, {low:.2f} to"
            f" {high:.2f} times as fast."
        )
        return [text]
    return [
        (
            f"{series.label} starts in {say_boot_s(series.settled_s)} s from boot"
            f" {series.settled_from} on, {say_gain(gain)} at its first boot."
        )
        for series, gain in gains
    ]


def _list_times(some: Sequence[Series]) -> str:
    """Each drive with its times; of many only how many they are, and the times of all."""
    if len(some) > _MOST_NAMES:
        times = [boot_s for series in some for boot_s in series.settled_boot_s or series.boot_s]
        return f"{len(some)} drives, {say_range(times)}"
    return _list(
        [
            f"{one.label} ({say_range(one.boot_s)})"
            if one.settled_s is None
            else f"{one.label} ({say_boot_s(one.settled_s)} s)"
            for one in some
        ]
    )


def _say_proofs(all_series: Sequence[Series]) -> str:
    counts = Counter[tuple[str, str]]()
    for series in all_series:
        for (power, proof, _), number in series.count_proofs().items():
            counts[power, proof] += number
        if series.is_cooled:
            counts.update(("cooled", proof) for proof in series.coolings)
    sentences = [
        f"{name}: {', '.join(parts)}."
        for name, kind in (("Cold boots", "cold"), ("Coolings", "cooled"))
        if (
            parts := [
                f"{counts[kind, proof]} {proof}"
                for proof in ("proven", "unproven")
                if counts[kind, proof]
            ]
        )
    ]
    if warm := counts["warm", "warm"]:
        sentences.append(f"{count(warm, 'warm boot')}.")
    if doubtful := counts["warm", "unproven"]:
        sentences.append(f"{count(doubtful, 'boot')} asked for warm, unproven.")
    return " ".join(sentences)


def _answer_by_verdicts(verdicts: VerdictsView) -> AnswerView:
    words = [sheet.word for sheet in verdicts.sheets]
    counts = [
        f"{words.count(word)} {word}{_add_notes(verdicts, word)}"
        for word in ("accept", "accept with remarks", "reject", "no verdict")
        if word in words
    ]
    return AnswerView(
        text=f"{count(len(words), 'drive')} judged: {', '.join(counts)}.", proof="", is_gain=False
    )


def _add_notes(verdicts: VerdictsView, word: str) -> str:
    """How many of those with this verdict were not looked at as a whole; who is rejected."""
    sheets = [sheet for sheet in verdicts.sheets if sheet.word == word]
    quick = sum(sheet.is_quick for sheet in sheets)
    notes = []
    if quick:
        notes.append(
            "after a quick look" if quick == len(sheets) else f"{quick} after a quick look"
        )
    if word == "reject" and len(sheets) <= _MOST_NAMES:
        notes.append(_list([sheet.name for sheet in sheets]))
    return f" ({'; '.join(notes)})" if notes else ""


def _find_workload_answer(workloads: Sequence[Workload]) -> tuple[Finding, Workload] | None:
    """The first gain, or else the first plain comparison, and what it is about."""
    pairs = [(workload, find_workload_findings((workload,))) for workload in workloads]
    candidates = [
        (finding, workload)
        for workload, findings in pairs
        for finding in findings
        if finding.kind in {"gain", "flat"} and not finding.is_aside
    ]
    return min(candidates, key=lambda pair: _rank(*pair), default=None)


def _find_also_gained(finding: Finding, workload: Workload) -> list[str]:
    """The other drives with a gain in the same workload."""
    gains = (one for one in find_workload_findings((workload,)) if one.kind == "gain")
    return [name for name in dict.fromkeys(one.subject for one in gains) if name != finding.subject]


def _rank(finding: Finding, workload: Workload) -> tuple[bool, int, bool]:
    """What is said of drives comes before what is said of the workload as a whole."""
    known = workload.kind in _KINDS
    place = _KINDS.index(workload.kind) if known else len(_KINDS)
    return finding.kind != "gain", place, finding.subject == workload.kind


def _with_chart(answer: AnswerView, sections: Sequence[SectionView], workload: int) -> AnswerView:
    for section in sections:
        for block in section.blocks:
            if block.index == workload and block.charts:
                return replace(answer, chart=block.charts[0], workload=workload)
    return answer


def _shorten(finding: Finding) -> tuple[str, str]:
    """A gain without its figures in brackets, and what it rests on; anything else as it is."""
    if finding.kind != "gain":
        return finding.text, ""
    text, _, rest = re.sub(r" \([^()]*\)", "", finding.text).partition("; ")
    return f"{text.rstrip('.')}.", f"{rest[:1].upper()}{rest[1:]}"


def _list(names: Sequence[str]) -> str:
    if len(names) > _MOST_NAMES:
        return f"{len(names)} others"
    *some, last = names
    return f"{', '.join(some)} and {last}" if some else str(last)

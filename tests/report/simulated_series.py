# SPDX-License-Identifier: Apache-2.0
"""What a page tells of simulated boots, and what of it is false by their true times. Pure."""

import random
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from math import exp

from appliance.report.answer import make_answer
from appliance.report.boots.findings import find_findings
from appliance.report.series import Series
from appliance.statistics import stats
from tests.lab.claims import BOOTS, Claim, read_claims
from tests.lab.report_page import Finding, Page

_NO_COUNT = ("unproven", "the drive has no power-cycle count")
_NOTHING = 0.01
"""Less than this share is no change."""
_LARGE = 1.149
"""A gain that must not be called none: half as much again as what counts as one."""


@dataclass(frozen=True, slots=True)
class Drive:
    """Boots as they would be without noise, also those that come after what is measured."""

    label: str
    true_s: tuple[float, ...]
    role: str = "target"
    learned_before: str = ""
    """As a series has it."""


def make_page(
    drives: Sequence[Drive], *, boots: int, noise: float, seed: int, machine: float = 0.0
) -> Page:
    """The words about so many boots, each time changed by chance.

    `noise` is the standard deviation of the logarithms of each boot's time, `machine` that of what
    all drives of a round have in common.
    """
    chance = random.Random(f"{seed}/{boots}/{noise}/{'/'.join(drive.label for drive in drives)}")
    common = [chance.gauss(0, machine) for _ in range(boots)]
    all_series = [
        make_series(drive, [exp(chance.gauss(0, noise) + each) for each in common])
        for drive in drives
    ]
    answer = make_answer(all_series, (), (), None, is_judged=False, boots=None)
    findings = find_findings(all_series)
    return Page(
        answer.text if answer else "No valid boot yet.",
        tuple(Finding(each.kind, each.subject, each.text) for each in findings),
    )


def make_series(drive: Drive, factors: Sequence[float]) -> Series:
    """The measured boots of a drive: each true time times its factor."""
    boot_s = tuple(true_s * factor for true_s, factor in zip(drive.true_s, factors, strict=False))
    return Series(
        label=drive.label,
        role=drive.role,
        cycles=tuple(range(1, len(boot_s) + 1)),
        boot_s=boot_s,
        powers=("cold",) * len(boot_s),
        planned=max(1, len(boot_s)),
        failed=0,
        skipped=0,
        given_up="",
        proofs=(_NO_COUNT,) * len(boot_s),
        page_caches=("cold",) * len(boot_s),
        learned_before=drive.learned_before,
    )


def judge_claim(claim: Claim, true_s: Sequence[float], *, boots: int) -> str:
    """What is false about it; empty where nothing is.

    `gain`: the first boot was no slower than the later ones. `no gain`: the boots end up faster
    than at first by 15 %. `settled`: they end up elsewhere than where they were
    called settled. `still learning`: the last five boots were alike, and all that come after.
    `drift`: all were that lie near where they end up. `loss`: none was slower than the first.
    """
    if claim.objection:
        return claim.objection
    measured, end_s = true_s[:boots], true_s[-1]
    if claim.answer.startswith("gain"):
        since_s = measured[int(claim.numbers[0]) - 1]
        if measured[0] <= since_s * (1 + _NOTHING):
            return "gain"
        return "settled" if _differs(since_s, end_s) else ""
    last = measured[-stats.LEAST_SETTLED :]
    near = [true_s for true_s in measured if true_s <= measured[-1] * (1 + stats.TOLERANCE)]
    is_false = {
        "no gain": measured[0] > end_s * _LARGE,
        "still learning": _is_level((*last, *true_s[boots:])),
        "drift": _is_level(near),
        "loss": measured[0] * (1 + _NOTHING) >= max(measured),
    }
    return claim.answer if is_false.get(claim.answer) else ""


def _differs(one_s: float, other_s: float) -> bool:
    """By more than both ends of the tolerance: a value at one, the settled median at the other."""
    return max(one_s, other_s) > min(one_s, other_s) * (1 + 2 * stats.TOLERANCE)


def _is_level(times_s: Sequence[float]) -> bool:
    return max(times_s) <= min(times_s) * (1 + _NOTHING)


def count_findings(
    drives: Sequence[Drive], *, boots: int, noise: float, seeds: int, machine: float = 0.0
) -> tuple[Counter[str], Counter[str]]:
    """Of the first drive: how often each thing is reported, and how often it is false."""
    told: Counter[str] = Counter()
    false: Counter[str] = Counter()
    for seed in range(seeds):
        page = make_page(drives, boots=boots, noise=noise, seed=seed, machine=machine)
        claims = list(read_claims(page, drives[0].label, BOOTS))
        if len(claims) != 1:
            false[f"{len(claims)} sentences"] += 1
            continue
        told[claims[0].answer] += 1
        wrong = judge_claim(claims[0], drives[0].true_s, boots=boots)
        if wrong:
            false[wrong] += 1
    return told, false

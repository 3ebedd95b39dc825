# SPDX-License-Identifier: Apache-2.0
"""Comparing drives of the same model within a campaign. Pure.

What is not alike is not compared: other steps, another bus, another speed of the link. A drive that
is worse than chance would have it stands out; whether that is enough for a remark is the policy's.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import exp, log

from appliance.phrases import N_, Phrase, join_phrases
from appliance.statistics import stats
from appliance.units import printable
from appliance.verdict.evidence import Bound, Evidence, Figure
from appliance.verdict.limits import LIMITS, LimitKind, show_figure

USUAL_DEVIATION = 0.10
"""By how much healthy drives of one model vary in a figure, at most. An assumption, needed where
few drives tell nothing of their spread: drives of one batch differ "significantly" in bandwidth
(Krevat, Tucek and Ganger, "Disks Are Like Snowflakes: No Two Are Alike", HotOS XIII, 2011)."""

FALSE_SHARE = 0.05
"""The share of campaigns without a bad drive in which one stands out nevertheless."""

_MOST_DISTANCE = log(10.0)
"""A limit of ten times as slow is none."""
_LEAST_RATIO = 1e-6
"""A rate of 0 has no logarithm."""
_LONE = N_("no other drive of its model")
_APART = N_("no two drives of its model were measured with the same steps, bus and link")


@dataclass(frozen=True, slots=True)
class _Group:
    """One figure of drives that are alike."""

    kind: LimitKind
    values: Mapping[int, float]
    """By the drive's id."""
    names: Mapping[int, str]
    is_link_known: bool

    @property
    def middle(self) -> float:
        """What a drive is compared with: the median; of two, the better one."""
        values = list(self.values.values())
        if len(values) == 2:
            return min(values) if self.kind.direction == "most" else max(values)
        return stats.find_median(values) or 0.0


def compare_models(drives: Sequence[Evidence]) -> dict[int, tuple[Figure, ...]]:
    """By the drive's id, by how many percent each of its figures is worse than those of its model.

    Each is one figure for `worse_than_model_percent`, its bound what chance makes of as many drives
    and figures as are compared in the campaign. Where nothing is, one without a value says why.
    """
    groups = _find_groups(drives)
    compared = sum(len(group.values) for group in groups)
    distances = [_find_distance(group, compared=compared) for group in groups]
    models = [drive.model for drive in drives]
    by_drive = {}
    for drive in drives:
        is_lone = not drive.model.strip() or models.count(drive.model) < 2
        figures = tuple(
            _compare(drive.drive_id, group, distance, compared=compared)
            for group, distance in zip(groups, distances, strict=True)
            if drive.drive_id in group.values
        )
        by_drive[drive.drive_id] = figures or (Figure(None, _LONE if is_lone else _APART),)
    return by_drive


def _find_groups(drives: Sequence[Evidence]) -> list[_Group]:
    alike: dict[tuple[object, ...], list[tuple[Evidence, float]]] = defaultdict(list)
    for kind in LIMITS.values():
        for drive in drives:
            figure = drive.figures.get(kind.name, Figure(None))
            if kind.is_compared and drive.model.strip() and figure.value is not None:
                key = (kind.name, drive.model, drive.transport, drive.link, figure.origin)
                alike[key].append((drive, figure.value))
    groups = [
        _Group(
            LIMITS[str(key[0])],
            values={drive.drive_id: value for drive, value in members},
            names={drive.drive_id: drive.name for drive, _ in members},
            is_link_known=all(drive.link for drive, _ in members),
        )
        for key, members in alike.items()
        if len(members) > 1
    ]
    return [group for group in groups if group.middle > 0]


def _find_distance(group: _Group, *, compared: int) -> float:
    """How far from the middle, in logarithms, one lies by chance."""
    middle = group.middle
    return stats.find_chance_distance(
        [log(max(value / middle, _LEAST_RATIO)) for value in group.values.values()],
        compared=compared,
        usual=USUAL_DEVIATION,
        share=FALSE_SHARE,
    )


def _compare(drive_id: int, group: _Group, distance: float, *, compared: int) -> Figure:
    kind, middle = group.kind, group.middle
    behind = _find_behind(kind, group.values[drive_id], middle)
    detail = _describe(drive_id, group, is_behind=behind > 0)
    if distance > _MOST_DISTANCE:
        count = len(group.values)
        differ = N_("{count} that differ so much do not tell which is unusual")
        return Figure(None, join_phrases((detail, Phrase(differ, count=count))))
    chance = round(100 * (exp(distance) - 1 if kind.direction == "most" else 1 - exp(-distance)), 1)
    reason = Phrase(
        N_(
            "chance alone reaches this in one of {campaigns} campaigns that compare {count} such "
            "figures"
        ),
        campaigns=round(1 / FALSE_SHARE),
        count=compared,
    )
    return Figure(round(behind, 1), detail, bound=Bound(chance, chance, reason))


def _find_behind(kind: LimitKind, value: float, middle: float) -> float:
    """Percent by which `value` is worse than `middle`; 0 where it is not."""
    change = 100 * (value - middle) / middle
    return max(0.0, change if kind.direction == "most" else -change)


def _describe(drive_id: int, group: _Group, *, is_behind: bool) -> str:
    kind, values = group.kind, group.values

    def show(value: float) -> str:
        return show_figure(round(value, 1), kind.unit)

    its = Phrase("{title}: {measured}", title=kind.title, measured=show(values[drive_id]))
    parts: list[str] = []
    if len(values) > 2:
        median = N_("{what}, the median of {count} of its model is {measured}")
        parts.append(Phrase(median, what=its, count=len(values), measured=show(group.middle)))
    else:
        other, value = next(item for item in values.items() if item[0] != drive_id)
        words = N_("{what}, no slower than {drive} of its model with {measured}")
        if is_behind:
            words = N_("{what}, slower than {drive} of its model with {measured}")
        drive = printable(group.names[other])
        parts.append(Phrase(words, what=its, drive=drive, measured=show(value)))
        if is_behind:
            parts.append(N_("of two, either may be the unusual one"))
    if not group.is_link_known:
        parts.append(N_("the speed of their links is not known"))
    return join_phrases(parts)

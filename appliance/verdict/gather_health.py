# SPDX-License-Identifier: Apache-2.0
"""The drives' health data as figures for the verdict. Pure."""

from collections.abc import Sequence
from dataclasses import replace

from appliance.drives.facts.farm import describe_hours
from appliance.drives.facts.health import describe_warnings
from appliance.phrases import N_, Phrase, join_phrases
from appliance.samples.health import Delta, compare
from appliance.store.tables.health import HealthRow
from appliance.verdict.evidence import HEALTH_UNREAD, Doubt, Figure
from appliance.verdict.limits import LIMITS, LimitKind


def read_health(rows: Sequence[HealthRow]) -> tuple[dict[str, Figure], tuple[Doubt, ...]]:
    """What the drive says of itself, by the limits' names, and what of it is in doubt."""
    before = next((row for row in rows if row.moment == "before"), None)
    after = next((row for row in rows if row.moment == "after"), None)
    last = after or before
    if last is None:
        missing = Figure(None, N_("its health was not read"))
        return {kind.name: missing for kind in _health_limits()}, ()
    deltas = {
        delta.name: delta
        for delta in compare(before.counters if before else {}, after.counters if after else {})
    }
    doubts = tuple(
        Doubt(delta.name, value, "" if delta.unit == "1" else delta.unit, delta.doubt)
        for delta in deltas.values()
        if delta.doubt
        and (value := delta.before if delta.after is None else delta.after) is not None
    )
    why = last.reason or N_("the drive does not say")
    figures = {
        kind.name: _read_counter(kind, deltas.get(kind.counter), why=why)
        for kind in _health_limits()
        if kind.counter
    }
    if "farm_power_on_hours" in deltas:
        figures["hours_set_back"] = _read_set_back(after, before)
    warnings = figures["critical_warning"]
    if warnings.value:
        detail = join_phrases((describe_warnings(warnings.value), warnings.detail))
        figures["critical_warning"] = replace(warnings, detail=detail)
    figures["self_assessment"] = _read_assessment(before, after, why=why)
    return figures, doubts


def find_unread_health(rows: Sequence[HealthRow]) -> str:
    """For Evidence.health_unread: empty where the drive has said anything of its health."""
    has_health = any(row.passed is not None or row.counters for row in rows)
    return "" if has_health else HEALTH_UNREAD


def _read_assessment(before: HealthRow | None, after: HealthRow | None, *, why: str) -> Figure:
    """The latest that has a result: it still holds if the drive stops responding later."""
    if after is not None and after.passed is not None:
        return Figure(float(not after.passed), after.reason)
    if before is not None and before.passed is not None:
        missing = N_("not read after it")
        if after:
            missing = Phrase(N_("not read after it: {what}"), what=why)
        return Figure(float(not before.passed), join_phrases((N_("before the campaign"), missing)))
    return Figure(None, why)


def _read_set_back(*readings: HealthRow | None) -> Figure:
    """Of the first that has both counts, be SMART's in doubt or not: each reset is such a doubt."""
    for row in readings:
        farm = row.counters.get("farm_power_on_hours") if row else None
        smart = row.counters.get("power_on_hours") if row else None
        if farm is not None and smart is not None:
            detail = describe_hours(farm.value, smart.value)
            return Figure(max(0.0, farm.value - smart.value), detail)
    return Figure(None, N_("the drive does not say both counts"))


def _health_limits() -> list[LimitKind]:
    return [kind for kind in LIMITS.values() if kind.counter or kind.name == "self_assessment"]


def _read_counter(kind: LimitKind, delta: Delta | None, *, why: str) -> Figure:
    if delta is None:
        return Figure(None, why)
    if kind.is_delta:
        if delta.change is None:
            return Figure(None, N_("it was not read both before and after the campaign"))
        return Figure(
            max(0.0, delta.change),
            Phrase(
                N_("{low} before, {high} after the campaign"),
                low=f"{delta.before:.0f}",
                high=f"{delta.after:.0f}",
            ),
        )
    if delta.after is None:
        return Figure(delta.before, N_("before the campaign; it was not read after it"))
    return Figure(delta.after)

# SPDX-License-Identifier: Apache-2.0
"""Reading a plan's tables one by one, and all mistakes in single keys. Pure.

The keys are declared in `plan/model` and `plan/workloads`; what takes several is `rules'`.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from appliance.phrases import N_, Phrase, join_phrases
from appliance.plan.model import TABLES, WORKLOADS, Boot, Plan, PlannedDrive
from appliance.plan.workloads import WorkloadPlan
from appliance.problem import KeyPath, Problem
from appliance.toml.fields import Reading, Table, Walk, read_table, table_of
from appliance.toml.values import KNOWN, suggest, suggest_close

_BELONGS = N_("{what}; it belongs under {place}")
_CALLED = {kind: table.called for kind, table in WORKLOADS.items()}


@dataclass(frozen=True, slots=True)
class Shape:
    """What single keys say of a plan; broken ones have their defaults."""

    plan: Reading[Plan]
    problems: tuple[Problem, ...]
    drives: Mapping[int, Reading[PlannedDrive]]
    """By their place in the plan, as far as they are tables."""
    workloads: Mapping[int, Reading[WorkloadPlan]]
    """Those whose kind is known."""
    has_unknown_workloads: bool
    boot: Reading[Boot] | None


def read_shape(data: Mapping[str, Any]) -> Shape:
    """Of what TOML made of the text."""
    walk = Walk(_explain_unknown)
    plan = read_table(table_of(Plan), data, walk=walk)
    workloads, value = _list_tables(walk.readings, "workload"), data.get("workload")
    return Shape(
        plan=plan,
        problems=tuple(walk.problems),
        drives=_list_tables(walk.readings, "drive"),
        workloads=workloads,
        has_unknown_workloads=isinstance(value, list) and len(workloads) < len(value),
        boot=walk.readings.get(("boot",)),
    )


def _list_tables(readings: Mapping[KeyPath, Reading[Any]], name: str) -> dict[int, Reading[Any]]:
    return {
        path[1]: reading
        for path, reading in readings.items()
        if path[:1] == (name,) and len(path) > 1 and isinstance(path[1], int)
    }


def _is_part(key: str, other: str) -> bool:
    """Whether a key that is more than two letters is in the other one."""
    return len(key) > 2 and key in other


def _explain_unknown(table: Table[Any], key: str) -> str:
    kind = next((kind for kind, other in WORKLOADS.items() if other is table), "")
    owners = [kind for kind, other in WORKLOADS.items() if key in other.keys]
    here: str = N_("is not a known key here")
    if kind:
        here = Phrase(N_("is not a key of {what}"), what=_CALLED[kind])
    similar = [name for name in table.keys if _is_part(name, key) or _is_part(key, name)]
    if kind and similar:
        return suggest(here, similar)
    if kind and owners:
        called = join_phrases((_CALLED[owner] for owner in owners), N_("{first} and {rest}"))
        return Phrase(N_("{what} but of {name}"), what=here, name=called)
    if close := suggest_close(here, key, table.keys):
        return close
    for name, other in TABLES.items():
        if key in other.keys:
            place = "[[drive]]" if name == "drive" else f"[{name}]"
            return Phrase(_BELONGS, what=here, place=place)
    if owners:
        return Phrase(_BELONGS, what=here, place="[[workload]]")
    return Phrase(KNOWN, what=here, keys=", ".join(table.keys))

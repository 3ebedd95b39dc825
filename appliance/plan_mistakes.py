"""What single keys of a plan have against it, in words a technician reads.

Says where pydantic found a mistake and what would be allowed there; the tables are `plan_schema`'s.
Import it only where a plan is parsed: pydantic takes its time on a small machine.
"""

import difflib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from pydantic import ValidationError

from appliance.plan_array import ArrayTable
from appliance.plan_keys import (
    OWN_WORDS,
    Allowed,
    AllowedEach,
    AllowedNames,
    Table,
    join_words,
    value_at,
)
from appliance.plan_lines import Path
from appliance.plan_places import ShapedWorkload
from appliance.plan_schema import MAX_WORKLOADS, BootTable, CampaignTable, DriveTable, PlanFile
from appliance.plan_text import NOT_YET
from appliance.plan_values import show_value
from appliance.workload_keys import WorkloadTable
from appliance.workload_schema import WORKLOAD_TABLES, AnyTable

_LATER_VALUES = {("mode", "replay")}
_NAMES = {
    "fio": "a fio step",
    "lottery": "a lottery",
    "matrix": "a matrix",
    "sweep": "a sweep",
    "sql": "an sql step",
    "surface": "a surface scan",
    "verify": "a verify step",
    "selftest": "a self-test",
}
_TABLES: dict[str | int, type[Table]] = {
    "campaign": CampaignTable,
    "drive": DriveTable,
    "boot": BootTable,
    "array": ArrayTable,
}


@dataclass(frozen=True, slots=True)
class Shape:
    """What single keys say of a plan. `file` is None where there are mistakes."""

    file: PlanFile | None
    mistakes: list[tuple[Path, str]]
    workloads: list[ShapedWorkload]
    """Those whose kind is known, for what takes several keys."""


@dataclass(frozen=True, slots=True)
class _Place:
    """Where a mistake is: the key path, and the table whose key it is."""

    path: Path
    table: type[Table]
    key: str
    """The table's key."""
    is_element: bool = False
    """Whether it is an element of the key's array, or a value of its table."""
    is_name: bool = False
    """Whether it is the name of that value."""


def check_shape(data: Mapping[str, Any], *, at_most: int) -> Shape:
    """The checked plan, or (up to `at_most`) mistakes as key path and words."""
    mistakes: list[tuple[Path, str]] = []
    plan = None
    broken: set[Path] = set()
    try:
        plan = PlanFile.model_validate(data)
    except ValidationError as error:
        for each in error.errors(include_url=False, include_context=False, include_input=False):
            place = _locate(each["loc"], each["type"], data)
            if place.path in broken:
                continue  # another alternative of the same key
            broken.add(place.path)
            is_own = each["type"] == OWN_WORDS
            words = each["msg"] if is_own else _explain(place, each["type"], data)
            mistakes.append((place.path, words))
            if len(mistakes) >= at_most:
                break
    workloads = list(_shape_workloads(data.get("workload"), broken))
    return Shape(file=plan, mistakes=mistakes, workloads=workloads)


def _shape_workloads(tables: object, broken: set[Path]) -> Iterator[ShapedWorkload]:
    """The workloads as far as they are to be understood: broken keys are taken for absent."""
    if not isinstance(tables, list):
        return
    for index, table in enumerate(tables[:MAX_WORKLOADS]):
        model = _model_of(table)
        if model is None:
            continue
        bad = {str(path[2]) for path in broken if path[:2] == ("workload", index) and path[2:]}
        try:
            shaped = model.model_validate({key: table[key] for key in table if key not in bad})
        except ValidationError:
            continue  # more mistakes than are read
        yield ShapedWorkload(
            index=index, plan=shaped.build(), given=frozenset(table), broken=frozenset(bad)
        )


def _model_of(table: object) -> type[AnyTable] | None:
    kind = table.get("kind") if isinstance(table, dict) else None
    return WORKLOAD_TABLES.get(kind) if isinstance(kind, str) else None


def _locate(loc: Path, kind: str, data: Mapping[str, Any]) -> _Place:
    """Where pydantic's `loc` is in the plan: without its names for kinds and alternatives."""
    if kind.startswith("union_tag_"):
        return _Place(path=(*loc, "kind"), table=WorkloadTable, key="kind")
    table: type[Table] = PlanFile
    start = 0
    if loc[0] == "workload" and len(loc) > 2:
        table, start = WORKLOAD_TABLES[str(loc[2])], 2
        loc = loc[:2] + loc[3:]
    elif loc[0] in _TABLES and len(loc) > (1 + (loc[0] == "drive")):
        table, start = _TABLES[loc[0]], 1 + (loc[0] == "drive")
    path, rest = loc[: start + 1], loc[start + 1 :]
    value = value_at(path, data)
    is_element = bool(rest) and (
        isinstance(value, list) or (isinstance(value, dict) and rest[0] in value)
    )
    return _Place(
        path=path + rest[:1] if is_element else path,
        table=table,
        key=str(path[-1]),
        is_element=is_element,
        is_name=loc[-1] == "[key]",
    )


def _explain(place: _Place, kind: str, data: Mapping[str, Any]) -> str:
    if kind == "extra_forbidden":
        return _explain_unknown(place)
    allowed = _allowed(place)
    if kind in {"missing", "union_tag_not_found"}:
        return f"is missing; must be {allowed}"
    value = value_at(place.path, data)
    if isinstance(value, str) and (place.key, value) in _LATER_VALUES:
        return f'"{value}": {NOT_YET}; must be {allowed}'
    if place.is_name:
        return f"must be {allowed}"
    return f"must be {allowed}, not {show_value(value)}"


def _allowed(place: _Place) -> str:
    wanted: type[Allowed | AllowedEach | AllowedNames] = Allowed
    if place.is_element:
        wanted = AllowedNames if place.is_name else AllowedEach
    metadata = place.table.model_fields[place.key].metadata
    texts = [each.text for each in metadata if isinstance(each, wanted)]
    return texts[0] if texts else _allowed(replace(place, is_element=False))


def _explain_unknown(place: _Place) -> str:
    key, keys = place.key, list(place.table.model_fields)
    kind = next((kind for kind, table in WORKLOAD_TABLES.items() if table is place.table), "")
    owners = [name for name, table in WORKLOAD_TABLES.items() if key in table.model_fields]
    here = f"is not a key of {_NAMES[kind]}" if kind else "is not a known key here"
    if kind and (similar := [each for each in keys if each in key or key in each]):
        return f"{here}; did you mean {join_words(similar)}?"
    if kind and owners:
        return f"{here} but of {' and '.join(_NAMES[each] for each in owners)}"
    if close := difflib.get_close_matches(key.lower(), keys, n=1):
        return f'{here}; did you mean "{close[0]}"?'
    for name, table in _TABLES.items():
        if key in table.model_fields:
            return f"{here}; it belongs under {'[[drive]]' if name == 'drive' else f'[{name}]'}"
    if owners:
        return f"{here}; it belongs under [[workload]]"
    return f"{here}; known are {', '.join(keys)}"

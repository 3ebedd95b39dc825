"""The shape of `plan.toml`: every key, its type, its range and its default.

Owns what can be said about one key at a time, in words a technician reads; the `[[workload]]`
tables are `workload_schema`'s, what concerns several keys is in `plan_checks`. The committed
`plan.schema.json` is generated from here:

    python3 -m appliance.plan_schema > appliance/plan.schema.json

Import it only where a plan is parsed: pydantic takes its time on a small machine.
"""

import difflib
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Annotated, Any, Literal, override

from pydantic import ConfigDict, Field, ValidationError
from pydantic.json_schema import GenerateJsonSchema
from pydantic.json_schema import JsonSchemaMode as Mode

from appliance.plan_array import ArrayTable
from appliance.plan_keys import (
    OWN_WORDS,
    Allowed,
    AllowedEach,
    AllowedNames,
    Size,
    Table,
    drop_default,
    join_words,
    one_of,
)
from appliance.plan_lines import Path
from appliance.plan_places import ShapedWorkload
from appliance.plan_text import NOT_YET, show_value
from appliance.workload_keys import MAX_DRIVES, WorkloadTable
from appliance.workload_schema import WORKLOAD_TABLES, AnyTable

MAX_WORKLOADS = 64

_LATER_VALUES = {("mode", "replay")}
_MIN_SET_BYTES = 1 << 20
_MAX_SET_BYTES = 16 << 30
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


class CampaignTable(Table):
    """What the campaign is called and how it starts and ends."""

    name: Annotated[
        str,
        Field(
            min_length=1, max_length=80, pattern=r"\S", description="Free text, shown in reports."
        ),
        Allowed("a text of 1 to 80 characters"),
    ] = "campaign"
    autostart: Annotated[
        bool,
        Field(
            description="true: start after a 10 s countdown that any key stops; "
            "false: offered on the screen."
        ),
        Allowed("true or false"),
    ] = False
    on_finish: Annotated[
        Literal["poweroff", "reboot", "tui"],
        Field(description="What the machine does when the campaign is done."),
        one_of("poweroff", "reboot", "tui"),
    ] = "tui"
    max_temperature: Annotated[
        int,
        Field(
            ge=30,
            le=100,
            description="A workload ends where one of its drives becomes as hot, in °C. "
            "Absent: the drive's own limit.",
            json_schema_extra=drop_default,
        ),
        Allowed("a whole number of degrees Celsius from 30 to 100"),
    ] = 0


class DriveTable(Table):
    """One drive the campaign may touch, named by its serial number or its WWN."""

    model_config = ConfigDict(
        json_schema_extra={"anyOf": [{"required": ["serial"]}, {"required": ["wwn"]}]}
    )

    serial: Annotated[
        str,
        Field(
            min_length=1,
            max_length=256,
            description="The serial number, exactly.",
            json_schema_extra=drop_default,
        ),
        Allowed("the drive's serial number as a text in quotes"),
    ] = ""
    wwn: Annotated[
        str,
        Field(
            min_length=1,
            max_length=256,
            description="The World Wide Name, exactly.",
            json_schema_extra=drop_default,
        ),
        Allowed("the drive's WWN as a text in quotes"),
    ] = ""
    role: Annotated[
        Literal["target", "control", "cache", "backing"],
        Field(
            description="A target is what the campaign is about; a control is to compare with. "
            "The array is made of a cache and a backing drive."
        ),
        one_of("target", "control", "cache", "backing"),
    ] = "target"
    erase: Annotated[
        str,
        Field(
            description="Releases the drive for writing: repeats its serial number, or its WWN "
            "where no serial is given. Absent: read-only tests only.",
            json_schema_extra=drop_default,
        ),
        Allowed("the drive's serial number once more, as a text in quotes"),
    ] = ""


class BootTable(Table):
    """The boot test: how often, how, and what a boot reads."""

    cycles: Annotated[
        int,
        Field(ge=1, le=1000, description="Timed boots per drive."),
        Allowed("a whole number from 1 to 1000"),
    ] = 3
    power: Annotated[
        Literal["cold", "warm"],
        Field(description="cold: the machine powers off between boots; warm: it reboots."),
        one_of("cold", "warm"),
    ] = "cold"
    mode: Annotated[
        Literal["install"],
        Field(description="install: a reference system is written to the drive, erasing it."),
        one_of("install"),
    ] = "install"
    boot_set: Annotated[
        Size,
        Field(
            ge=_MIN_SET_BYTES,
            le=_MAX_SET_BYTES,
            description="Session files read at start-up: bytes, or a text such as 4K, 1M, 2G.",
            json_schema_extra={"default": "256M"},
        ),
        Allowed('a size from "1M" to "16G" such as "256M", or a number of bytes'),
    ] = 256 << 20
    charts: Annotated[
        Literal["none", "first-last", "all"],
        Field(description="Which cycles are repeated with a boot chart; those are not timed."),
        one_of("none", "first-last", "all"),
    ] = "first-last"
    wake_margin: Annotated[
        Literal["auto"] | Annotated[float, Field(ge=10, le=3600)],
        Field(description="Seconds from power-off to the alarm, or auto: learned in a rehearsal."),
        Allowed('"auto" or a number of seconds from 10 to 3600'),
    ] = "auto"


def _never_null(schema: dict[str, Any]) -> None:
    """Python's None for an absent table: TOML has no null."""
    reference = schema.pop("anyOf")[0]
    drop_default(schema)
    schema |= reference


class PlanFile(Table):
    """A plan for a Kaltstart campaign: `plan.toml` on the partition KALTSTART."""

    model_config = ConfigDict(
        json_schema_extra={"anyOf": [{"required": ["boot"]}, {"required": ["workload"]}]}
    )

    version: Annotated[
        int,
        Field(ge=1, le=1, description="The version of this format."),
        Allowed("1, the only version this program knows"),
    ]
    campaign: Annotated[
        CampaignTable, Field(json_schema_extra={"default": {}}), Allowed("one [campaign] table")
    ] = CampaignTable()
    drive: Annotated[
        list[DriveTable],
        Field(
            min_length=1, max_length=MAX_DRIVES, description="Every drive the campaign may touch."
        ),
        Allowed(f"1 to {MAX_DRIVES} [[drive]] tables (two brackets), one per drive"),
    ]
    boot: Annotated[
        BootTable | None,
        Field(json_schema_extra=_never_null),
        Allowed("one [boot] table"),
    ] = None
    array: Annotated[
        ArrayTable | None,
        Field(json_schema_extra=_never_null),
        Allowed("one [array] table"),
    ] = None
    workload: Annotated[
        list[Annotated[AnyTable, Field(discriminator="kind")]],
        Field(
            min_length=1,
            max_length=MAX_WORKLOADS,
            description="What to measure on the drives, in this order.",
            json_schema_extra=drop_default,
        ),
        Allowed(f"1 to {MAX_WORKLOADS} [[workload]] tables (two brackets)"),
        AllowedEach("a [[workload]] table"),
    ] = []  # noqa: RUF012 - pydantic copies it


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
    value = _value_at(path, data)
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


def _value_at(path: Path, data: Any) -> Any:  # noqa: ANN401 - TOML has every type
    """What stands at `path`; None where nothing does."""
    for part in path:
        try:
            data = data[part]
        except (KeyError, IndexError, TypeError):
            return None
    return data


def _explain(place: _Place, kind: str, data: Mapping[str, Any]) -> str:
    if kind == "extra_forbidden":
        return _explain_unknown(place)
    allowed = _allowed(place)
    if kind in {"missing", "union_tag_not_found"}:
        return f"is missing; must be {allowed}"
    value = _value_at(place.path, data)
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


class _Generator(GenerateJsonSchema):
    """Titles derived from key names say nothing."""

    schema_dialect = "https://json-schema.org/draft/2020-12/schema"

    @override
    def field_title_should_be_set(self, schema: Any) -> bool:
        return False

    @override
    def generate(self, schema: Any, mode: Mode = "validation") -> dict[str, Any]:
        return {"$schema": self.schema_dialect} | super().generate(schema, mode=mode)


def plan_schema() -> str:
    """The text of `plan.schema.json`."""
    schema = PlanFile.model_json_schema(schema_generator=_Generator)
    schema["title"] = "Kaltstart plan, version 1"
    return json.dumps(schema, indent=2, ensure_ascii=False) + "\n"


if __name__ == "__main__":
    print(plan_schema(), end="")

"""The shape of `plan.toml`: every key, its type, its range and its default.

Owns what can be said about one key at a time, in words a technician reads; what concerns several
keys is in `plan`. The committed `plan.schema.json` is generated from here:

    python3 -m appliance.plan_schema > appliance/plan.schema.json

Import it only where a plan is parsed: pydantic takes its time on a small machine.
"""

import difflib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Literal, override

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    ValidationError,
    WithJsonSchema,
)
from pydantic.json_schema import GenerateJsonSchema
from pydantic.json_schema import JsonSchemaMode as Mode

from appliance import VERSION
from appliance.plan_lines import Path
from appliance.plan_text import show_value
from appliance.units import parse_size

MAX_DRIVES = 16
NOT_YET = f"this version ({VERSION}) does not have it yet"

_LATER_TABLES = ("workload", "array")
_LATER_VALUES = {("role", "cache"), ("role", "backing"), ("mode", "replay")}
_MIN_SET_BYTES = 1 << 20
_MAX_SET_BYTES = 16 << 30


@dataclass(frozen=True, slots=True)
class Allowed:
    """What a key accepts, to follow "must be"."""

    text: str


class _Table(BaseModel):
    """Unknown keys are errors, and a type is what it is: no "10" for 10, no true for 1."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


def _drop_default(schema: dict[str, Any]) -> None:
    """An absent key that has no default stays out of the schema; here it is an empty text."""
    del schema["default"]


def _one_of(*words: str) -> Allowed:
    return Allowed(" or ".join(f'"{word}"' for word in words))


class CampaignTable(_Table):
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
        _one_of("poweroff", "reboot", "tui"),
    ] = "tui"


class DriveTable(_Table):
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
            json_schema_extra=_drop_default,
        ),
        Allowed("the drive's serial number as a text in quotes"),
    ] = ""
    wwn: Annotated[
        str,
        Field(
            min_length=1,
            max_length=256,
            description="The World Wide Name, exactly.",
            json_schema_extra=_drop_default,
        ),
        Allowed("the drive's WWN as a text in quotes"),
    ] = ""
    role: Annotated[
        Literal["target", "control"],
        Field(description="A target is what the campaign is about; a control is to compare with."),
        _one_of("target", "control"),
    ] = "target"
    erase: Annotated[
        str,
        Field(
            description="Releases the drive for writing: repeats its serial number, or its WWN "
            "where no serial is given. Absent: read-only tests only.",
            json_schema_extra=_drop_default,
        ),
        Allowed("the drive's serial number once more, as a text in quotes"),
    ] = ""


def _parse_set_size(value: object) -> int:
    if not isinstance(value, str | int):
        raise ValueError("neither a text nor a number")
    return parse_size(value)


class BootTable(_Table):
    """The boot test: how often, how, and what a boot reads."""

    cycles: Annotated[
        int,
        Field(ge=1, le=1000, description="Timed boots per drive."),
        Allowed("a whole number from 1 to 1000"),
    ] = 3
    power: Annotated[
        Literal["cold", "warm"],
        Field(description="cold: the machine powers off between boots; warm: it reboots."),
        _one_of("cold", "warm"),
    ] = "cold"
    mode: Annotated[
        Literal["install"],
        Field(description="install: a reference system is written to the drive, erasing it."),
        _one_of("install"),
    ] = "install"
    boot_set: Annotated[
        int,
        BeforeValidator(_parse_set_size),
        Field(
            ge=_MIN_SET_BYTES,
            le=_MAX_SET_BYTES,
            description="Session files read at start-up: bytes, or a text such as 4K, 1M, 2G.",
            json_schema_extra={"default": "256M"},
        ),
        Allowed('a size from "1M" to "16G" such as "256M", or a number of bytes'),
        WithJsonSchema(
            {
                "anyOf": [
                    {"type": "string", "pattern": r"^\s*[0-9]+\s*[KMGT]?\s*$"},
                    {"type": "integer", "minimum": _MIN_SET_BYTES, "maximum": _MAX_SET_BYTES},
                ]
            }
        ),
    ] = 256 << 20
    charts: Annotated[
        Literal["none", "first-last", "all"],
        Field(description="Which cycles are repeated with a boot chart; those are not timed."),
        _one_of("none", "first-last", "all"),
    ] = "first-last"
    wake_margin: Annotated[
        Literal["auto"] | Annotated[float, Field(ge=10, le=3600)],
        Field(description="Seconds from power-off to the alarm, or auto: learned in a rehearsal."),
        Allowed('"auto" or a number of seconds from 10 to 3600'),
    ] = "auto"


class PlanFile(_Table):
    """A plan for a Kaltstart campaign: `plan.toml` on the partition KALTSTART."""

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
    boot: Annotated[BootTable, Allowed("one [boot] table")]


_TABLES: dict[str | int, type[_Table]] = {
    "campaign": CampaignTable,
    "drive": DriveTable,
    "boot": BootTable,
}


def check_shape(
    data: Mapping[str, Any], *, at_most: int
) -> tuple[PlanFile | None, list[tuple[Path, str]]]:
    """The checked plan, or None and (up to `at_most`) mistakes as key path and words."""
    later = [key for key in _LATER_TABLES if key in data]
    mistakes: list[tuple[Path, str]] = [((key,), NOT_YET) for key in later]
    try:
        plan = PlanFile.model_validate({key: data[key] for key in data if key not in later})
    except ValidationError as error:
        seen: set[Path] = set()
        for each in error.errors(include_url=False, include_context=False, include_input=False):
            path, model = _locate(each["loc"])
            if path in seen or (path == ("boot",) and each["type"] == "missing" and later):
                continue  # another alternative of the same key; or: there is something to do, later
            seen.add(path)
            mistakes.append((path, _explain(path, model, each["type"], data)))
            if len(mistakes) >= at_most:
                break
        return None, mistakes
    return (None if later else plan), mistakes


def _locate(loc: Path) -> tuple[Path, type[_Table]]:
    """The key path without pydantic's names for alternatives, and the table the key is in."""
    model = _TABLES.get(loc[0]) if loc else None
    keys_start = 2 if loc[:1] == ("drive",) else 1
    if model is None or len(loc) <= keys_start:
        return loc[:keys_start], PlanFile
    return loc[: keys_start + 1], model


def _explain(path: Path, model: type[_Table], kind: str, data: Mapping[str, Any]) -> str:
    key = str(next(part for part in reversed(path) if isinstance(part, str)))
    if kind == "extra_forbidden":
        return f"is not a known key here; {_suggest(key, model)}"
    allowed = "".join(
        each.text for each in model.model_fields[key].metadata if isinstance(each, Allowed)
    )
    if kind == "missing" and path == ("boot",):
        return "there is nothing to do; add a [boot] table"
    if kind == "missing":
        return f"is missing; must be {allowed}"
    value: Any = data
    for part in path:
        value = value[part]
    if isinstance(value, str) and (key, value) in _LATER_VALUES:
        return f'"{value}": {NOT_YET}; must be {allowed}'
    return f"must be {allowed}, not {show_value(value)}"


def _suggest(key: str, model: type[_Table]) -> str:
    keys = list(model.model_fields)
    close = difflib.get_close_matches(key.lower(), keys, n=1)
    if close:
        return f'did you mean "{close[0]}"?'
    for table, other in _TABLES.items():
        if key in other.model_fields:
            return f"it belongs under {'[[drive]]' if table == 'drive' else f'[{table}]'}"
    return f"known are {', '.join(keys)}"


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

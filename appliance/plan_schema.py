"""The shape of `plan.toml`: every key, its type, its range and its default.

The `[[workload]]` tables are `workload_schema`'s, what concerns several keys is in `plan_checks`,
what is said of a mistake in `plan_mistakes`. The committed `plan.schema.json` is generated from
here:

    python3 -m appliance.plan_schema > appliance/plan.schema.json

Import it only where a plan is parsed: pydantic takes its time on a small machine.
"""

import json
from typing import Annotated, Any, Literal, override

from pydantic import ConfigDict, Field
from pydantic.json_schema import GenerateJsonSchema
from pydantic.json_schema import JsonSchemaMode as Mode

from appliance.plan_array import ArrayTable
from appliance.plan_keys import Allowed, AllowedEach, Size, Table, drop_default, one_of
from appliance.workload_keys import MAX_DRIVES
from appliance.workload_schema import AnyTable

MAX_WORKLOADS = 64

_MIN_SET_BYTES = 1 << 20
_MAX_SET_BYTES = 16 << 30


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
    model: Annotated[
        str,
        Field(
            min_length=1,
            max_length=256,
            description="The model, exactly. Needed beside erase where the serial number is not "
            "the drive's own: behind USB bridges and docks.",
            json_schema_extra=drop_default,
        ),
        Allowed("the drive's model as a text in quotes"),
    ] = ""
    size: Annotated[
        Size,
        Field(
            ge=1,
            description="The size, exactly. Needed where model is.",
            json_schema_extra=drop_default,
        ),
        Allowed("the drive's size in bytes, a whole number"),
    ] = 0


class BootTable(Table):
    """The boot test: how often, how, and what a boot reads."""

    cycles: Annotated[
        int,
        Field(ge=1, le=1000, description="Timed boots per drive."),
        Allowed("a whole number from 1 to 1000"),
    ] = 10
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
        Field(
            description="How many boots with a boot chart follow the last timed one: none, two, "
            "or as many as were timed. They are not timed."
        ),
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

"""What a plan means where it is silent, read from its committed schema, which loads at once.

`plan_schema`, which the schema is generated from, takes seconds to load on a small machine.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

_SCHEMA = Path(__file__).parent / "plan.schema.json"


@dataclass(frozen=True, slots=True)
class PlanDefaults:
    """The defaults, and how many drives a plan takes."""

    tables: Mapping[str, Mapping[str, Any]]
    """Key → default, by the kind of workload; `boot` and `array` for the tables of those names."""
    keys: Mapping[str, Mapping[str, Mapping[str, Any]]]
    """Key → what the JSON schema says of it, by the same names."""
    max_drives: int


@cache
def read_defaults() -> PlanDefaults:
    """All of them; keys without a default are left out."""
    schema = json.loads(_SCHEMA.read_text(encoding="utf-8"))
    keys = {
        name.removesuffix("Table").lower(): table["properties"]
        for name, table in schema["$defs"].items()
    }
    return PlanDefaults(
        tables={
            name: {key: each["default"] for key, each in table.items() if "default" in each}
            for name, table in keys.items()
        },
        keys=keys,
        max_drives=schema["properties"]["drive"]["maxItems"],
    )

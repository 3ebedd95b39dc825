"""What a campaign's plan asked of each workload, in a form in which two can be compared. Pure.

Where it ran (`on`) is left out: the same keys on two drives, in two tables or in two campaigns are
the same test.
"""

import json
import tomllib
from collections.abc import Mapping
from dataclasses import asdict
from functools import lru_cache

from appliance.errors import PlanError
from appliance.plan import PlanRefusal, parse_plan
from appliance.units import parse_size, printable

type Keys = Mapping[str, object]


def read_tables(plan_toml: str) -> list[dict[str, object]]:
    """Each [[workload]] as written; none where the plan cannot be read any more."""
    try:
        tables = tomllib.loads(plan_toml.removeprefix("\ufeff")).get("workload", [])
    except tomllib.TOMLDecodeError:
        return []
    if not isinstance(tables, list):
        return []
    return [table if isinstance(table, dict) else {} for table in tables]


def describe_keys(table: Keys) -> str:
    """A table's keys as written, without its kind: `size = "1G", seed = 2`."""
    return ", ".join(
        f"{printable(str(key))} = {printable(json.dumps(value, default=str))}"
        for key, value in table.items()
        if key != "kind"
    )


@lru_cache(maxsize=32)
def read_keys(plan_toml: str) -> tuple[Keys, ...]:
    """The keys of each [[workload]], defaults among them, without `on`.

    Of a plan that this version would refuse they are those that were written.
    """
    try:
        found: list[dict[str, object]] = [
            {key.removesuffix("_bytes"): value for key, value in asdict(each).items()}
            for each in parse_plan(plan_toml).workloads
        ]
    except (PlanError, PlanRefusal):
        found = [
            {key: _as_size(value) for key, value in table.items()}
            for table in read_tables(plan_toml)
        ]
    return tuple({key: value for key, value in keys.items() if key != "on"} for keys in found)


def _as_size(value: object) -> object:
    try:
        return parse_size(value) if isinstance(value, str) else value
    except ValueError:
        return value

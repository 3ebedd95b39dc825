# SPDX-License-Identifier: Apache-2.0
"""A plan's workloads in a form in which two campaigns can be compared. Pure.

Where it ran (`on`) is left out: the same keys on two drives, in two tables or in two campaigns are
the same test.
"""

import json
import tomllib
from collections.abc import Mapping
from dataclasses import asdict
from functools import lru_cache

from appliance.plan.model import WORKLOADS
from appliance.toml.fields import read_alone

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
        f"{key} = {json.dumps(value, default=str)}" for key, value in table.items() if key != "kind"
    )


@lru_cache(maxsize=32)
def read_keys(plan_toml: str) -> tuple[Keys, ...]:
    """The keys of each [[workload]], defaults among them, without `on`.

    Of a table that this version would refuse they are those that were written.
    """
    return tuple(
        {key: value for key, value in _complete(table).items() if key != "on"}
        for table in read_tables(plan_toml)
    )


def _complete(table: Keys) -> Keys:
    declared = WORKLOADS.get(str(table.get("kind")))
    reading = None if declared is None else read_alone(declared, table)
    if reading is None:
        return table
    return {key.removesuffix("_bytes"): value for key, value in asdict(reading.value).items()}

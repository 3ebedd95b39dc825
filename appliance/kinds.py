# SPDX-License-Identifier: Apache-2.0
"""The kinds of workload, and how what a kind's folder holds is found. Pure.

`appliance/workloads/KIND/` has `keys.py` (`PLAN`: its keys in a plan and the names of its results),
`workload.py` (`make_workload`: how it runs) and `report.py` (`SECTION`: how its results are shown).
Each is loaded where it is needed and not before, and by name: those who ask are below the folders.
"""

from functools import cache
from importlib import import_module
from typing import Any, Literal

type Part = Literal["keys", "workload", "report"]

KINDS = (
    "lottery",
    "fio",
    "matrix",
    "sweep",
    "sql",
    "surface",
    "verify",
    "selftest",
    "flush",
    "contention",
)
"""In the order of the form and of the report."""

_DECLARES = {"keys": "PLAN", "workload": "make_workload", "report": "SECTION"}


@cache
def load(kind: str, part: Part) -> Any:  # noqa: ANN401 - by name
    """What that module of a kind declares; raises KeyError for what is no kind."""
    if kind not in KINDS:
        raise KeyError(kind)
    module = import_module(f"appliance.workloads.{kind}.{part}")
    return getattr(module, _DECLARES[part])


def load_all(part: Part) -> None:
    """That module of every kind: once the stick is pulled out, none can be read any more."""
    for kind in KINDS:
        load(kind, part)

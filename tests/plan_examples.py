# SPDX-License-Identifier: Apache-2.0
"""Plans of every shape for tests of properties, each with the drives it is known to write to.

What writes is known here by construction, without the engine's rule.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.configuration import set_hypothesis_home_dir

from appliance.plan.workloads import ARRAY

type Table = dict[str, Any]

# The same examples in each run, nothing kept between runs, and no clock.
STEADY = settings(
    derandomize=True,
    database=None,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
    max_examples=150,
)
# What it notes of the source's constants is no part of the source.
set_hypothesis_home_dir(Path(__file__).parents[1] / "build/hypothesis")
MEMBERS = ("cache", "backing")
VALID = sorted((Path(__file__).parent / "fixtures/plans/valid").glob("*.toml"))
"""Plans without mistakes."""


@dataclass(frozen=True, slots=True)
class PlanExample:
    """A plan as TOML has it, which releases no drive."""

    drives: tuple[Table, ...]
    boot: Table | None
    array: Table | None
    workloads: tuple[tuple[Table, bool], ...]
    """With whether it writes to what it runs on."""

    @property
    def identities(self) -> tuple[str, ...]:
        """What its drives are called."""
        return tuple(map(identity_of, self.drives))

    @property
    def written(self) -> frozenset[str]:
        """The identities of the drives that it writes to."""
        return frozenset(identity_of(each) for each in self.drives if self._is_written(each))

    def _is_written(self, drive: Table) -> bool:
        is_member = drive["role"] in MEMBERS
        if is_member or self.boot is not None:
            return True
        return any(
            writes and ("on" not in table or {*table["on"]} & {*names_of(drive)})
            for table, writes in self.workloads
        )

    def show(self, released: frozenset[str]) -> str:
        """Its text, with the release of those drives."""
        drives = [
            each | ({"erase": identity_of(each)} if identity_of(each) in released else {})
            for each in self.drives
        ]
        tables = {"boot": self.boot, "array": self.array}
        plan = {"version": 1, "drive": drives}
        plan |= {name: table for name, table in tables.items() if table is not None}
        if self.workloads:
            plan["workload"] = [table for table, _ in self.workloads]
        return show_toml(plan)


def identity_of(drive: Table) -> str:
    """What a plan calls it."""
    return str(drive.get("serial") or drive["wwn"])


def names_of(drive: Table) -> list[str]:
    """All that `on` may call it."""
    return [drive[key] for key in ("serial", "wwn") if key in drive]


def show_toml(plan: Mapping[str, Any]) -> str:
    """A plan's text: one line for each of its tables."""
    return "".join(f"{key} = {_show(value)}\n" for key, value in plan.items())


def _show(value: object) -> str:
    match value:
        case dict():
            pairs = ", ".join(f"{json.dumps(key)} = {_show(each)}" for key, each in value.items())
            return f"{{ {pairs} }}" if pairs else "{}"
        case list() | tuple():
            return f"[{', '.join(map(_show, value))}]"
        case _:
            return json.dumps(value)


@st.composite
def plan_examples(draw: st.DrawFn, *, by_wwn: bool = True) -> PlanExample:
    """Any plan without mistakes; `by_wwn`: `on` may name a drive by its WWN beside a serial."""
    has_array = draw(st.booleans())
    roles = draw(
        st.lists(st.sampled_from(("target", "control")), min_size=not has_array, max_size=3)
    )
    roles = draw(st.permutations([*roles, *(MEMBERS if has_array else ())]))
    keys = [("serial",), ("wwn",), *([("serial", "wwn")] if by_wwn else [])]
    drives = [
        {key: f"{key}-{number}" for key in draw(st.sampled_from(keys))} | {"role": role}
        for number, role in enumerate(roles)
    ]
    names = [name for each in drives for name in [draw(st.sampled_from(names_of(each)))]]
    names += [ARRAY] if has_array else []
    has_tested = {*roles} - {*MEMBERS}
    workloads = [
        _placed(draw, pair, names, may_be_absent=bool(has_tested))
        for pair in draw(st.lists(WORKLOADS, max_size=3))
    ]
    is_used = any(ARRAY in table.get("on", ()) for table, _ in workloads)
    must_boot = not workloads or (has_array and not is_used)
    boot: Table | None = {"cycles": 2} if must_boot or draw(st.booleans()) else None
    return PlanExample(tuple(drives), boot, {} if has_array else None, tuple(workloads))


def _placed(
    draw: st.DrawFn, pair: tuple[Table, bool], names: list[str], *, may_be_absent: bool
) -> tuple[Table, bool]:
    table, writes = pair
    if may_be_absent and draw(st.booleans()):
        return table, writes
    if table["kind"] == "selftest":
        names = [name for name in names if name != ARRAY]  # only drives test themselves
    on = draw(st.lists(st.sampled_from(names), min_size=1, unique=True))
    return {**table, "on": on}, writes


_FILE_SYSTEMS = st.sampled_from(("none", "none", "ext4", "xfs"))
_READING_TESTS = (["seq-read"], ["rand-read", "seq-read"])
_WRITING_TESTS = (["rand-write"], ["seq-read", "seq-write"], None)  # a table without tests
_READING_JOBS = ("read", "randread", "randread:8", None)  # fio reads
_WRITING_JOBS = ("write", "randwrite", "rw", "readwrite", "randrw", "rw:2", "write:4k")


@st.composite
def _with_tests(draw: st.DrawFn, table: Table) -> tuple[Table, bool]:
    """Tests of fio."""
    filesystem, tests = draw(_FILE_SYSTEMS), draw(st.sampled_from(_READING_TESTS + _WRITING_TESTS))
    given = {"filesystem": filesystem} | ({} if tests is None else {"tests": tests})
    return table | given, tests in _WRITING_TESTS or filesystem != "none"


@st.composite
def _with_job(draw: st.DrawFn) -> tuple[Table, bool]:
    """Options of fio's own."""
    filesystem, job = draw(_FILE_SYSTEMS), draw(st.sampled_from(_READING_JOBS + _WRITING_JOBS))
    options = {"bs": "8k"} | ({} if job is None else {"rw": job})
    table = {"kind": "fio", "filesystem": filesystem, "options": options}
    return table, job in _WRITING_JOBS or filesystem != "none"


@st.composite
def _preconditioned(draw: st.DrawFn) -> tuple[Table, bool]:
    table, writes = draw(_with_job() | _with_tests({"kind": "fio"}))
    rounds = draw(st.sampled_from((0, 2)))
    return table | {"precondition": rounds}, writes or rounds > 0


WORKLOADS = st.one_of(
    st.sampled_from(
        (
            ({"kind": "surface", "sample": 0.5}, False),
            ({"kind": "selftest", "test": "long"}, False),
            ({"kind": "verify", "size": "1G"}, True),
            ({"kind": "sql"}, True),
            ({"kind": "flush"}, True),
            ({"kind": "matrix", "operations": ["read"]}, True),
            ({"kind": "lottery"}, True),
            ({"kind": "lottery", "filesystem": "none"}, False),
            ({"kind": "lottery", "filesystem": "btrfs"}, True),
        )
    ),
    _with_tests({"kind": "fio"}),
    _with_job(),
    _preconditioned(),
    _with_tests({"kind": "sweep", "cache_size": "64M"}),
)
"""The inside of a `[[workload]]`, and whether it writes to what it runs on."""

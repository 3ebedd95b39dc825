# SPDX-License-Identifier: Apache-2.0
"""The tables of `policy.toml`: every key, its type and its range, from the list of limits. Pure."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any, Literal

from appliance.phrases import N_, Phrase
from appliance.problem import Problem
from appliance.toml.fields import (
    Key,
    Table,
    Walk,
    key,
    number,
    one_of,
    one_table,
    read_table,
    several,
    size,
    table_of,
    text,
    whole,
)
from appliance.toml.values import KNOWN, show_value, suggest_close
from appliance.verdict.limits import LIMITS, LimitKind

DriveClass = Literal["hdd", "sata-ssd", "nvme", "hybrid", "usb"]
CLASSES: tuple[DriveClass, ...] = ("hdd", "sata-ssd", "nvme", "hybrid", "usb")
_ALL = "all"
_MAX_PATTERNS = 64
_MANY = 10

Consequence = Literal["", "remark", "reject"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Limit:
    """What follows from one figure. A limit that is None has no consequence."""

    remark: float | None = None
    reject: float | None = None
    unmeasured: Consequence = ""
    """What follows from its not having been measured."""


@dataclass(frozen=True, slots=True)
class PolicyTables:
    """What one file says."""

    name: str
    hybrid_models: tuple[str, ...] | None
    """None: it does not say."""
    tables: Mapping[str, Mapping[str, Limit]]
    """By `all` and the classes' names, then by the limits' names."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Head:
    """What the policy is called and which models are hybrids."""

    name: str = key(text(N_("a text of 1 to 80 characters"), most=80, pattern=r"\S"), absent="")
    hybrid_models: tuple[str, ...] | None = key(
        several(
            text(N_('a pattern of 1 to 80 characters such as "*SSHD*"'), most=80),
            Phrase(N_('up to {most} patterns of models such as "*SSHD*"'), most=_MAX_PATTERNS),
            least=0,
            most=_MAX_PATTERNS,
        ),
        absent=None,
    )


_CONSEQUENCE = one_of("remark", "reject")
_AMOUNTS = {
    "B": size(0, None, words=N_('a number of bytes from 0, or a text such as "64K"')),
    "%": number(0, 1000, of=N_("percent")),
}
_AMOUNT = number(0, 1e18, words=N_("a number from 0"))


def _table(name: str, *keys: Key, build: Any) -> Table[Any]:  # noqa: ANN401 - a function
    return Table(name=name, keys={key.name: key for key in keys}, build=build)


def _make_check(values: Mapping[str, Any]) -> Limit:
    # A check counts its failures: none is the most there may be.
    failed = values["failed"]
    return Limit(
        remark=0 if failed == "remark" else None,
        reject=0 if failed == "reject" else None,
        unmeasured=values["unmeasured"],
    )


@cache
def _limit_table(unit: str) -> Table[Limit]:
    unmeasured = Key(name="unmeasured", allowed=_CONSEQUENCE, held="")
    if unit == "check":
        return _table(unit, Key(name="failed", allowed=_CONSEQUENCE), unmeasured, build=_make_check)
    amounts = [Key(name=name, allowed=_AMOUNTS.get(unit, _AMOUNT)) for name in ("remark", "reject")]
    return _table(unit, *amounts, unmeasured, build=lambda values: Limit(**values))


def _limit_key(kind: LimitKind) -> Key:
    example = "{ remark = 1, reject = 10 }" if kind.direction == "most" else "{ reject = 10 }"
    if kind.unit == "check":
        example = '{ failed = "reject", unmeasured = "remark" }'
    allowed = one_table(
        _limit_table(kind.unit), Phrase(N_("a table such as {example}"), example=example)
    )
    return Key(name=kind.name, allowed=allowed)


_LIMITS = _table(
    _ALL,
    *map(_limit_key, LIMITS.values()),
    build=lambda values: {name: limit for name, limit in values.items() if limit is not None},
)
_POLICY = _table(
    "",
    Key(
        name="version",
        allowed=whole(1, 1, words=N_("1, the only version this program knows")),
        is_required=True,
    ),
    Key(name="policy", allowed=one_table(table_of(_Head), N_("one [policy] table")), held=_Head()),
    *(
        Key(
            name=table,
            allowed=one_table(_LIMITS, Phrase(N_("one [{table}] table"), table=table)),
            held={},
        )
        for table in (_ALL, *CLASSES)
    ),
    build=lambda values: PolicyTables(
        name=values["policy"].name,
        hybrid_models=values["policy"].hybrid_models,
        tables={table: values[table] for table in (_ALL, *CLASSES)},
    ),
)


def read_tables(data: Mapping[str, Any]) -> tuple[PolicyTables, list[Problem]]:
    """What the policy says, and every mistake."""
    walk = Walk(_explain_unknown)
    policy = read_table(_POLICY, data, walk=walk)
    return policy.value, [*walk.problems, *_find_contradictions(data, walk)]


def _find_contradictions(data: Mapping[str, Any], walk: Walk) -> Iterator[Problem]:
    """A figure bad enough to be rejected must be bad enough for a remark."""
    for path, reading in walk.readings.items():
        if not isinstance(reading.value, Limit) or reading.broken & {"remark", "reject", "failed"}:
            continue
        table, name = map(str, path)
        kind, remark, reject = LIMITS[name], reading.value.remark, reading.value.reject
        if remark is None or reject is None:
            continue
        if (remark > reject) if kind.direction == "most" else (remark < reject):
            words = N_("remark = {remark} is never reached: must be at least reject = {reject}")
            if kind.direction == "most":
                words = N_("remark = {remark} is never reached: must be at most reject = {reject}")
            entry = data[table][name]
            yield Problem(
                path,
                Phrase(
                    words,
                    remark=show_value(entry["remark"]),
                    reject=show_value(entry["reject"]),
                ),
            )


def _explain_unknown(table: Table[Any], name: str) -> str:
    here = N_("is not a known key here")
    if close := suggest_close(here, name, table.keys):
        return close
    if table is _POLICY and name in LIMITS:
        text = N_("{what}; it belongs under {place} or a class such as [hdd]")
        return Phrase(text, what=here, place=f"[{_ALL}]")
    if len(table.keys) > _MANY:
        return Phrase(N_("{what}; known are those in policy.example.toml"), what=here)
    return Phrase(KNOWN, what=here, keys=", ".join(table.keys))

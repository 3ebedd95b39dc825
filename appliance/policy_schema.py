"""The shape of `policy.toml`: every key, its type and its range, from the list of limits.

Import it only where a policy is parsed: pydantic takes its time on a small machine.
"""

import difflib
from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import BaseModel, Field, ValidationError, create_model

from appliance.plan_keys import Allowed, Size, Table, one_of, value_at
from appliance.plan_lines import Path
from appliance.plan_values import show_value
from appliance.policy import CLASSES, Consequence, Limit, PolicyTables
from appliance.policy_limits import LIMITS, LimitKind

_ALL = "all"
_MAX_PATTERNS = 64

_Number = Annotated[float, Field(ge=0, le=1e18, allow_inf_nan=False)]
_Percent = Annotated[float, Field(ge=0, le=1000, allow_inf_nan=False)]
_Consequence = Literal["remark", "reject"]
_NUMBER = Allowed("a number from 0")
_PERCENT = Allowed("a number of percent from 0 to 1000")
_SIZE = Allowed('a number of bytes from 0, or a text such as "64K"')
_CONSEQUENCE = one_of("remark", "reject")


class CheckTable(Table):
    """What follows from a check that failed, and from one that was not made."""

    failed: Annotated[_Consequence | None, _CONSEQUENCE] = None
    unmeasured: Annotated[_Consequence | None, _CONSEQUENCE] = None


class LimitTable(Table):
    """Where a remark and a rejection begin."""

    remark: Annotated[_Number | None, _NUMBER] = None
    reject: Annotated[_Number | None, _NUMBER] = None
    unmeasured: Annotated[_Consequence | None, _CONSEQUENCE] = None


class PercentTable(Table):
    """The same in percent."""

    remark: Annotated[_Percent | None, _PERCENT] = None
    reject: Annotated[_Percent | None, _PERCENT] = None
    unmeasured: Annotated[_Consequence | None, _CONSEQUENCE] = None


class BytesTable(Table):
    """The same in bytes."""

    remark: Annotated[Size | None, _SIZE] = None
    reject: Annotated[Size | None, _SIZE] = None
    unmeasured: Annotated[_Consequence | None, _CONSEQUENCE] = None


class HeadTable(Table):
    """What the policy is called and which models are hybrids."""

    name: Annotated[
        str,
        Field(min_length=1, max_length=80, pattern=r"\S"),
        Allowed("a text of 1 to 80 characters"),
    ] = ""
    hybrid_models: Annotated[
        list[Annotated[str, Field(min_length=1, max_length=80)]] | None,
        Field(max_length=_MAX_PATTERNS),
        Allowed(f'up to {_MAX_PATTERNS} patterns of models such as "*SSHD*"'),
    ] = None


_AnyLimit = CheckTable | LimitTable | PercentTable | BytesTable


def _table_of(kind: LimitKind) -> type[_AnyLimit]:
    match kind.unit:
        case "check":
            return CheckTable
        case "B":
            return BytesTable
        case "%":
            return PercentTable
        case _:
            return LimitTable


_LIMIT_FIELDS: Mapping[str, Any] = {
    each.name: (_table_of(each) | None, None) for each in LIMITS.values()
}
ClassTable: type[BaseModel] = create_model("ClassTable", __base__=Table, **_LIMIT_FIELDS)


class PolicyFile(Table):
    """A policy: `policy.toml` on the partition KALTSTART."""

    version: Annotated[int, Field(ge=1, le=1), Allowed("1, the only version this program knows")]
    policy: Annotated[HeadTable, Allowed("one [policy] table")] = HeadTable()


_CLASS_FIELDS: Mapping[str, Any] = {
    each: (ClassTable | None, Field(default=None, alias=each)) for each in (_ALL, *CLASSES)
}
_Policy: type[BaseModel] = create_model("_Policy", __base__=PolicyFile, **_CLASS_FIELDS)


def check_policy_shape(
    data: Mapping[str, Any], *, at_most: int
) -> tuple[PolicyTables | None, list[tuple[Path, str]]]:
    """What the policy says, or up to `at_most` mistakes as key path and words."""
    mistakes: dict[Path, str] = {}
    file: dict[str, Any] = {}
    try:
        file = _Policy.model_validate(data).model_dump()
    except ValidationError as error:
        for each in error.errors(include_url=False, include_context=False, include_input=False):
            path = _shorten(each["loc"], data)
            mistakes.setdefault(path, _explain(path, each["type"], data))
    for path, words in _find_contradictions(data):
        if not any(path == known[: len(path)] for known in mistakes):
            mistakes[path] = words
    if mistakes:
        return None, list(mistakes.items())[:at_most]
    return _build(file), []


def _build(file: Mapping[str, Any]) -> PolicyTables:
    head = file["policy"]
    models = head["hybrid_models"]
    return PolicyTables(
        name=head["name"],
        hybrid_models=None if models is None else tuple(models),
        tables={
            table: {
                name: _build_limit(limit)
                for name, limit in (file[table] or {}).items()
                if limit is not None
            }
            for table in (_ALL, *CLASSES)
        },
    )


def _build_limit(table: Mapping[str, Any]) -> Limit:
    unmeasured: Consequence = table["unmeasured"] or ""
    if "failed" not in table:
        return Limit(remark=table["remark"], reject=table["reject"], unmeasured=unmeasured)
    # A check counts its failures: none is the most there may be.
    return Limit(
        remark=0 if table["failed"] == "remark" else None,
        reject=0 if table["failed"] == "reject" else None,
        unmeasured=unmeasured,
    )


def _find_contradictions(data: Mapping[str, Any]) -> list[tuple[Path, str]]:
    """A figure bad enough to be rejected has to be bad enough for a remark."""
    found: list[tuple[Path, str]] = []
    for table in (_ALL, *CLASSES):
        limits = data.get(table)
        for name, limit in limits.items() if isinstance(limits, dict) else ():
            kind = LIMITS.get(name)
            if kind is None or not isinstance(limit, dict) or kind.unit == "check":
                continue
            try:
                checked = _table_of(kind).model_validate(limit).model_dump()
            except ValidationError:
                continue  # said already
            remark, reject = checked["remark"], checked["reject"]
            if remark is None or reject is None:
                continue
            if (remark > reject) if kind.direction == "most" else (remark < reject):
                side = "at most" if kind.direction == "most" else "at least"
                words = (
                    f"remark = {show_value(limit['remark'])} is never reached: must be {side} "
                    f"reject = {show_value(limit['reject'])}"
                )
                found.append(((table, name), words))
    return found


def _shorten(loc: Path, data: Any) -> Path:  # noqa: ANN401 - TOML has every type
    """`loc` without pydantic's names for alternatives: as far as the keys are the file's."""
    path: Path = ()
    for part in loc:
        path = (*path, part)
        if not isinstance(data, dict | list):
            return path[:-1]
        data = value_at((part,), data)
        if data is None:
            return path
    return path


def _explain(path: Path, kind: str, data: Mapping[str, Any]) -> str:
    if kind == "extra_forbidden":
        return _explain_unknown(path)
    allowed = _allowed(path)
    if kind == "missing":
        return f"is missing; must be {allowed}"
    return f"must be {allowed}, not {show_value(value_at(path, data))}"


def _allowed(path: Path) -> str:
    words = "something else"
    match path:
        case [str(table)] if table in {_ALL, *CLASSES}:
            words = f"one [{table}] table"
        case [str(table), str(name)] if table in {_ALL, *CLASSES}:
            words = f"a table such as {_example(LIMITS[name])}"
        case [str(table), str(name), str(key)] if table in {_ALL, *CLASSES}:
            words = _words(_table_of(LIMITS[name]), key)
        case ["policy", "hybrid_models", int()]:
            words = 'a pattern of 1 to 80 characters such as "*SSHD*"'
        case ["policy", str(key), *_]:
            words = _words(HeadTable, key)
        case [str(key)]:
            words = _words(PolicyFile, key)
    return words


def _example(kind: LimitKind) -> str:
    if kind.unit == "check":
        return '{ failed = "reject", unmeasured = "remark" }'
    return "{ remark = 1, reject = 10 }" if kind.direction == "most" else "{ reject = 10 }"


def _words(table: type[Table], key: str) -> str:
    metadata = table.model_fields[key].metadata
    return next((each.text for each in metadata if isinstance(each, Allowed)), "something else")


def _explain_unknown(path: Path) -> str:
    key = str(path[-1])
    known = _keys_at(path)
    if close := difflib.get_close_matches(key.lower(), known, n=1):
        return f'is not a known key here; did you mean "{close[0]}"?'
    if len(path) == 1 and key in LIMITS:
        return f"is not a known key here; it belongs under [{_ALL}] or a class such as [hdd]"
    shown = ", ".join(known) if len(known) <= 10 else "those in policy.example.toml"
    return f"is not a known key here; known are {shown}"


def _keys_at(path: Path) -> list[str]:
    match path:
        case [_]:
            return ["version", "policy", _ALL, *CLASSES]
        case ["policy", _]:
            return list(HeadTable.model_fields)
        case [_, _]:
            return list(LIMITS)
        case [_, str(name), _]:
            return list(_table_of(LIMITS[name]).model_fields)
        case _:
            return []

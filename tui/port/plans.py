# SPDX-License-Identifier: Apache-2.0
"""Plans: saved ones listed, read with every mistake and released; and how long one takes."""

import re
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from appliance.errors import KaltstartError
from appliance.phrases import list_phrases
from appliance.plan.compose import quote
from appliance.plan.model import DEFAULTS
from appliance.plan.read import describe_work, parse_plan, read_plan
from appliance.problem import Problem
from appliance.store.read.durations import select_work
from appliance.units import parse_size
from tui.charset import one_line
from tui.language import _
from tui.model.drives import DriveRow
from tui.port.databases import find_files
from tui.port.stored import opened
from tui.port.watch import learn_phrases, tell
from tui.times.durations import make_durations
from tui.times.step_times import Basis, StepTime, find_step_times

_HEADER = re.compile(r"\s*\[\[\s*drive\s*\]\]\s*(?:#.*)?")


@dataclass(frozen=True, slots=True)
class SavedPlan:
    """One of them, as far as it can be read."""

    name: str
    """The file's, drawable."""
    toml: str = ""
    summary: str = ""
    problems: tuple[str, ...] = ()
    """What is wrong and where; empty where nothing is."""
    raw_released: tuple[str, ...] = ()
    """The drives it writes to or releases itself, by identity: the user must release each."""
    starts: bool = False
    """Whether their own systems are started, and nothing is erased."""


def list_plans(folder: Path) -> tuple[str, ...]:
    """The names of all plans in `folder`; none where there is no such folder."""
    try:
        return tuple(sorted(path.name for path in find_files(folder, ".toml")))
    except OSError:
        return ()


def read_saved_plan(folder: Path, name: str) -> SavedPlan:
    """The plan in that file. Whatever is wrong with it is among its problems."""
    label = one_line(name)
    try:
        text = read_plan(folder / name)
    except KaltstartError as error:
        return SavedPlan(label, problems=_reasons(error))
    problems: tuple[Problem, ...] = ()
    try:
        parse_plan(text, name=name)
    except KaltstartError as error:
        problems = error.problems
    try:
        own_releases = _find_identities(text, key=_release_key(tomllib.loads(text)))
        plan = parse_plan(release_in(text, _find_identities(text)), name=name)
    except ValueError as error:
        return SavedPlan(label, text, problems=_show(problems) or _reasons(error))
    except KaltstartError as error:
        # Those that only a release is missing for are asked for; lines are those of the file.
        real = {(problem.path, problem.text) for problem in error.problems}
        remaining = [problem for problem in problems if (problem.path, problem.text) in real]
        return SavedPlan(label, text, problems=_show(remaining) or _reasons(error))
    work = describe_work(plan)
    learn_phrases(list_phrases(work))
    starts = plan.boot is not None and plan.boot.starts_installed
    identities = {drive.identity for drive in (plan.drives if starts else plan.written_drives)}
    return SavedPlan(
        label,
        text,
        summary=one_line(work),
        starts=starts,
        raw_released=tuple(
            drive.identity
            for drive in plan.drives
            if drive.identity in {*identities, *own_releases}
        ),
    )


def release_in(toml: str, identities: tuple[str, ...]) -> str:
    """The plan with these drives released, which the user has just done one by one.

    Raises ValueError where its drives are not written as tables of their own.
    """
    if not identities:
        return toml
    plan = tomllib.loads(toml)
    key = _release_key(plan)
    tables: list[dict[str, Any]] = [table for table in plan["drive"] if isinstance(table, dict)]
    headers = -1
    lines: list[str] = []
    for line in toml.splitlines():
        lines.append(line)
        if not _HEADER.fullmatch(line):
            continue
        headers += 1
        table = tables[headers] if headers < len(tables) else {}
        identity = table.get("serial") or table.get("wwn")
        if identity in identities and key not in table:
            lines.append(f"{key} = {quote(str(identity))}")
    for table in tables:
        identity = table.get("serial") or table.get("wwn")
        if identity in identities:
            table.setdefault(key, identity)
    released = "\n".join(lines) + "\n"
    if tomllib.loads(released) != plan:
        raise ValueError(_("its drives must each have a table of their own: [[drive]]"))
    return released


def _release_key(plan: Mapping[str, Any]) -> str:
    """What a drive of this plan is released with."""
    boot = plan.get("boot")
    starts = isinstance(boot, dict) and boot.get("path") == "installed"
    return "start" if starts else "erase"


def _find_identities(toml: str, *, key: str = "") -> tuple[str, ...]:
    """Of all drives, or of those with `key`; none where there is no list of them.

    Raises ValueError where the text is no TOML.
    """
    tables = tomllib.loads(toml).get("drive", [])
    if not isinstance(tables, list):
        return ()
    identities = (
        table.get("serial") or table.get("wwn")
        for table in tables
        if isinstance(table, dict) and (not key or key in table)
    )
    return tuple(identity for identity in identities if isinstance(identity, str))


def _reasons(error: Exception) -> tuple[str, ...]:
    return _show(getattr(error, "problems", ())) or (tell(str(error)),)


def _show(problems: Iterable[Problem]) -> tuple[str, ...]:
    return tuple(tell(str(problem)) for problem in problems)


def estimate_plan(database: Path, toml: str, drives: Sequence[DriveRow]) -> tuple[StepTime, ...]:
    """Each step of a plan without mistakes. Raises KaltstartError."""
    with opened(database, _("past steps cannot be read: {reason}")) as connection:
        past = make_durations(select_work(connection)).past
    basis = Basis(past, DEFAULTS, parse_size)
    return find_step_times(tomllib.loads(toml), drives, basis)

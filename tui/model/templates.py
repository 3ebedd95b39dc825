# SPDX-License-Identifier: Apache-2.0
"""What the form of a campaign begins with: a template for the drives here, or a saved plan. Pure.

They only fill in the form: what they write to is released like everything else.
"""

import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from operator import attrgetter

from tui.language import N_, _
from tui.model.draft import PlanTable, PlanValue
from tui.model.drives import DriveRow
from tui.model.inspection import SHARE_READ
from tui.model.more_settings import MoreSettings
from tui.model.roles import Role

type Settings = Mapping[str, PlanValue]
"""Keys of a test's table that differ from what the form offers first."""

TIED = chr(0xA0)
"""A space that no line is broken at; it is never drawn."""
_ON_FILES: Settings = {"filesystem": "ext4"}
_LONG_SELFTEST: Settings = {"test": "long"}
_SPEED_CHECK: Settings = {
    "tests": ("seq1m-q8t1", "seq1m-q1t1", "rnd4k-q32t1", "rnd4k-q1t1"),
    "page_cache": "bypass",
    "runtime": 15,
}
"""A minute for each drive."""


@dataclass(frozen=True, slots=True)
class Template:
    """One of them."""

    id: str
    label: str
    does: str
    roles: Mapping[str, Role] = field(default_factory=dict)
    """Of the drives that take part, by raw identity."""
    tests: Mapping[str, Settings] = field(default_factory=dict)
    """The chosen tests, by kind; `boot` is one. In the order in which they run."""
    obstacle: str = ""
    """What it lacks here; empty where it can be made."""


def find_templates(drives: Sequence[DriveRow]) -> tuple[Template, ...]:
    """All of them, those with an obstacle too."""
    usable = [drive for drive in drives if drive.releasable and not drive.holds_a_system]
    nothing = "" if usable else N_("no drive here can be released")
    targets: dict[str, Role] = {drive.raw_identity: "target" for drive in usable}
    on_all = partial(Template, roles=targets, obstacle=nothing)
    return (
        on_all(
            "boots",
            N_("Boot comparison"),
            N_("ten cold boots of a small system per drive; erases it"),
            tests={"boot": {}},
        ),
        on_all(
            "quick-look",
            N_("Quick look"),
            N_("health, short self-test, a surface sample; writes nothing"),
            tests={"surface": {"sample": SHARE_READ}, "selftest": {}},
        ),
        on_all(
            "acceptance",
            N_("Acceptance"),
            N_("health, long self-test, the whole surface; writes nothing"),
            tests={"surface": {}, "selftest": _LONG_SELFTEST},
        ),
        on_all(
            "burn-in",
            N_("Burn-in"),
            N_("self-tests, verify over a power-off, surface; erases it"),
            tests={
                "selftest": {**_LONG_SELFTEST, "again": True},
                "verify": {"power_cycle": True},
                "surface": {},
            },
        ),
        on_all(
            "speed-check",
            N_("Speed check"),
            N_("SEQ1M Q8T1 and Q1T1, RND4K Q32T1 and Q1T1; writes nothing"),
            tests={"fio": _SPEED_CHECK},
        ),
        _make_hybrid(usable),
        _make_array(usable),
        on_all(
            "everything",
            N_("Everything"),
            N_("boots, workloads, surface, verify, self-test; erases all"),
            tests={
                "boot": {},
                **dict.fromkeys(("lottery", "fio", "matrix", "sweep", "sql"), _ON_FILES),
                "surface": {},
                "verify": {},
                "selftest": {},
                "flush": _ON_FILES,
            },
        ),
    )


def describe_templates(drives: Sequence[DriveRow], width: int) -> tuple[str, str]:
    """Those that can be made here, below a title: with what each does, and their names alone.

    Both are empty where there are none.
    """
    templates = [template for template in find_templates(drives) if not template.obstacle]
    if not templates:
        return "", ""
    label = max(len(_(template.label)) for template in templates)
    lines = []
    for template in templates:
        lines += textwrap.wrap(
            f"{_(template.label):{label}}  {_(template.does)}",
            width,
            subsequent_indent=" " * (label + 2),
        )
    # No name is broken: a line that begins with its "+" would look like one with a sign.
    names = ", ".join(_(template.label).replace(" ", TIED) for template in templates)
    listed = "\n".join(textwrap.wrap(names, width, break_on_hyphens=False)).replace(TIED, " ")
    title = _("Templates for these drives (2, then t)")
    return "\n".join([title, *lines]), f"{title}\n{listed}"


def _make_hybrid(usable: Sequence[DriveRow]) -> Template:
    """Those that say they are hybrids; where none does, each disk may be one."""
    disks = [drive for drive in usable if drive.rotational]
    known = [drive for drive in disks if drive.details and drive.details.hybrid]
    targets = {drive.raw_identity for drive in known or disks}
    roles: dict[str, Role] = {
        drive.raw_identity: "target" if drive.raw_identity in targets else "control"
        for drive in usable
    }
    return Template(
        "hybrid",
        N_("Hybrid drive"),
        N_("what its cache learns: boots, lottery, sweep; erases all"),
        roles,
        {"boot": {}, "lottery": _ON_FILES, "sweep": _ON_FILES},
        "" if disks else N_("no disk here can be released"),
    )


def _make_array(usable: Sequence[DriveRow]) -> Template:
    """The largest disk behind the largest flash drive; of those alike the first in the list."""
    disks = [drive for drive in usable if drive.rotational]
    flash = [drive for drive in usable if not drive.rotational]
    roles: dict[str, Role] = {}
    if disks and flash:
        backing, cache = (max(drives, key=attrgetter("size_bytes")) for drives in (disks, flash))
        roles = {backing.raw_identity: "backing", cache.raw_identity: "cache"}
    return Template(
        "array",
        N_("SSD + disk array"),
        N_("array and its drives alone: lottery, fio, SQL; erases both"),
        roles,
        {"lottery": _ON_FILES, "fio": _ON_FILES, "sql": _ON_FILES},
        "" if roles else N_("it needs a disk and a flash drive that can be released"),
    )


@dataclass(frozen=True, slots=True)
class FormState:
    """What the form is filled in with."""

    template: Template
    name: str
    array: PlanTable | None
    on_finish: str
    more_settings: MoreSettings
    drives: tuple[DriveRow, ...]
    """All that are here: those of the plan first, in its order."""
    obstacles: tuple[str, ...] = ()
    """Why it cannot be shown in the form at all; empty where nothing is known to be in the way."""
    labels: Mapping[str, str] = field(default_factory=dict)
    """Of the plan's drives, by raw identity."""

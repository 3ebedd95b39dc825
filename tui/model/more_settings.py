# SPDX-License-Identifier: Apache-2.0
"""Plan settings without a row in the form, and how they differ from the defaults. Pure.

Owns which they are and the words for them; defaults and checks are the plan's own.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from tui.language import N_, _
from tui.model.draft import FurtherTables, Mistake, PlanTable, PlanValue

_FRACTION = re.compile(r"[0-9]{1,18}[.,][0-9]{1,18}")


@dataclass(frozen=True, slots=True)
class FurtherSetting:
    """One key of a table of the plan."""

    table: str
    key: str
    does: str
    absent: str = ""
    """What holds where the plan is silent, for a key that has no default."""

    def is_blamed_by(self, mistake: Mistake) -> bool:
        """Whether that is a mistake in this one."""
        return (mistake.table, mistake.key) == (self.table, self.key)


SETTINGS = (
    FurtherSetting(
        "campaign",
        "autostart",
        N_("Saved and copied to plan.toml. It starts automatically after a countdown."),
    ),
    FurtherSetting(
        "campaign",
        "max_temperature",
        N_("A workload fails when one of its drives gets this hot, in °C."),
        absent=N_("empty, the drive's own limit"),
    ),
    FurtherSetting(
        "campaign",
        "at_once",
        N_("How many drives surface and verify test at once; auto: as many as the machine can."),
    ),
    FurtherSetting(
        "boot",
        "wake_margin",
        N_("Seconds from power-off to the alarm; auto: learned in a rehearsal."),
    ),
    FurtherSetting(
        "boot",
        "settle",
        N_("Idle seconds before each power-off, for the drive's own background work."),
    ),
    FurtherSetting(
        "boot",
        "temperature_band",
        N_(
            "Before each boot, wait until the drive is as warm as at its first, within so many K; "
            "0: no."
        ),
    ),
    FurtherSetting(
        "boot",
        "train",
        N_("Untimed boots before the timed ones: a drive that learns has learned."),
    ),
    FurtherSetting(
        "boot",
        "trace",
        N_("A file on KALTSTART with the reads to replay."),
        absent=N_("empty, the built-in list"),
    ),
    FurtherSetting(
        "boot",
        "path",
        N_("drive: its own copy of loader and kernel; installed: its own system (UEFI)."),
    ),
    FurtherSetting(
        "boot",
        "cool",
        N_("With replay: evict makes the drive forget before each boot."),
    ),
    FurtherSetting(
        "array",
        "clean_timeout",
        N_("Seconds to wait for a clean array before each reading test."),
    ),
)
UNUSED = {"boot": N_("no boot timing chosen"), "array": N_("no array composed")}
"""Tables that a plan may lack: their settings are not written then."""


@dataclass(frozen=True, slots=True)
class MoreSettings:
    """What they are set to, beside their defaults."""

    defaults: Mapping[str, Mapping[str, Any]]
    """Key → default, by table; of other keys too."""
    tables: FurtherTables
    """Key → value, by table: only where it is not the default."""

    @classmethod
    def from_plan(
        cls, defaults: Mapping[str, Mapping[str, Any]], plan: Mapping[str, Any]
    ) -> "MoreSettings":
        """Those of a plan; its other keys are left out."""
        set_there = {
            each: plan[each.table][each.key]
            for each in SETTINGS
            if each.key in plan.get(each.table, {})
        }
        return cls(defaults, {}).take(set_there)

    def take(self, values: Mapping[FurtherSetting, PlanValue]) -> "MoreSettings":
        """With these values and no others; an empty one is the default."""
        tables: dict[str, dict[str, PlanValue]] = {}
        for setting, value in values.items():
            if value not in ("", self.default_of(setting)):
                tables.setdefault(setting.table, {})[setting.key] = value
        return MoreSettings(self.defaults, tables)

    def default_of(self, setting: FurtherSetting) -> PlanValue:
        """As a plan has it; empty where its absence has a meaning of its own."""
        value: PlanValue = self.defaults[setting.table].get(setting.key, "")
        return value

    def value_of(self, setting: FurtherSetting) -> PlanValue:
        """What it is set to, or its default."""
        return self.tables.get(setting.table, {}).get(setting.key, self.default_of(setting))

    def of_table(self, table: str) -> PlanTable:
        """What is to be added to that table of the plan."""
        return self.tables.get(table, {})

    def list_set(self) -> Iterator[str]:
        """Each that is not at its default, with its value."""
        for setting in SETTINGS:
            if setting.key in self.of_table(setting.table):
                yield f"{setting.key} {show_value(self.value_of(setting))}"

    def show_default(self, setting: FurtherSetting) -> str:
        """For people."""
        return _(setting.absent) if setting.absent else show_value(self.default_of(setting))


def parse_typed(text: str) -> PlanValue:
    """A number where it is written as one; all else is the plan's to refuse."""
    typed = text.strip()
    if typed.isascii() and typed.isdecimal():
        return int(typed)
    # A comma as a person's own language may have it.
    return float(typed.replace(",", ".")) if _FRACTION.fullmatch(typed) else typed


def show_value(value: PlanValue) -> str:
    """As it is typed, or chosen."""
    if isinstance(value, bool):
        return _("yes") if value else _("no")
    return str(value)

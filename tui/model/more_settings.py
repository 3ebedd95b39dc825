# SPDX-License-Identifier: Apache-2.0
"""Plan settings without a row in the form, and how they differ from the defaults. Pure.

Which they are, with words, defaults and checks, is declared where the plan declares its keys.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from tui.language import N_, _
from tui.model.draft import Mistake, PlanTable, PlanValue, SettingTables

_FRACTION = re.compile(r"[0-9]{1,18}[.,][0-9]{1,18}")


@dataclass(frozen=True, slots=True)
class PlanSetting:
    """One key of a table of the plan."""

    table: str
    key: str
    does: str
    """A line about it, in English."""
    default: PlanValue
    """As a plan has it; empty where its absence has a meaning of its own."""
    absent: str = ""
    """That meaning, in English."""

    def show_default(self) -> str:
        """For people."""
        return _(self.absent) if self.absent else show_value(self.default)

    def is_blamed_by(self, mistake: Mistake) -> bool:
        """Whether that is a mistake in this one."""
        return (mistake.table, mistake.key) == (self.table, self.key)


UNUSED = {"boot": N_("no boot timing chosen"), "array": N_("no array composed")}
"""Tables that a plan may lack: their settings are not written then."""


@dataclass(frozen=True, slots=True)
class MoreSettings:
    """What they are set to, beside their defaults."""

    settings: tuple[PlanSetting, ...]
    """All of them, in the order of the plan."""
    tables: SettingTables
    """Key → value, by table: only where it is not the default."""

    @classmethod
    def from_plan(
        cls, settings: tuple[PlanSetting, ...], plan: Mapping[str, Any]
    ) -> "MoreSettings":
        """Those of a plan; its other keys are left out."""
        set_there = {
            setting: plan[setting.table][setting.key]
            for setting in settings
            if setting.key in plan.get(setting.table, {})
        }
        return cls(settings, {}).take(set_there)

    def take(self, values: Mapping[PlanSetting, PlanValue]) -> "MoreSettings":
        """With these values and no others; an empty one is the default."""
        tables: dict[str, dict[str, PlanValue]] = {}
        for setting, value in values.items():
            if value not in ("", setting.default):
                tables.setdefault(setting.table, {})[setting.key] = value
        return MoreSettings(self.settings, tables)

    def value_of(self, setting: PlanSetting) -> PlanValue:
        """What it is set to, or its default."""
        return self.tables.get(setting.table, {}).get(setting.key, setting.default)

    def of_table(self, table: str) -> PlanTable:
        """What is to be added to that table of the plan."""
        return self.tables.get(table, {})

    def list_set(self) -> Iterator[str]:
        """Each that is not at its default, with its value."""
        for setting in self.settings:
            if setting.key in self.of_table(setting.table):
                yield f"{setting.key} {show_value(self.value_of(setting))}"


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

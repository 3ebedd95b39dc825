# SPDX-License-Identifier: Apache-2.0
"""A campaign as drafted on the screen, and the result of the plan's checks. Pure data."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from tui.model.drives import DriveRow
from tui.model.roles import Role

type PlanElement = str | float | bool
type PlanValue = PlanElement | tuple[PlanElement, ...] | Mapping[str, PlanElement]
type PlanTable = Mapping[str, PlanValue]
"""One `[[workload]]` of a plan, its `[boot]` or `[array]`: the keys, as people would write them."""
type SettingTables = Mapping[str, PlanTable]
"""By table (`campaign`, `boot`, `array`): keys that no row of the form sets."""


BOOT_KEYS = ("cycles", "power", "mode", "boot_set", "charts")
"""Of `[boot]`: what the form's row of it sets."""


@dataclass(frozen=True, slots=True)
class DraftCampaign:
    """What the form holds."""

    name: str
    drives: tuple[DriveRow, ...]
    roles: Mapping[str, Role]
    """Of each drive, by its raw identity."""
    boot: PlanTable | None
    workloads: tuple[PlanTable, ...]
    array: PlanTable | None = None
    on_finish: str = "tui"
    """What is done at the end, as a plan has it."""
    more_settings: SettingTables = field(default_factory=dict)
    """Where they differ from the defaults; a table that the plan lacks is left out of it."""
    labels: Mapping[str, str] = field(default_factory=dict)
    """What people call a drive, by its raw identity."""


@dataclass(frozen=True, slots=True)
class Mistake:
    """Something the plan's own checks refuse, and where it belongs in the form."""

    table: str
    """campaign | boot | array | drive | workload; empty where it concerns more than one."""
    index: int
    """Which of the drives or workloads, from 0."""
    key: str
    """Empty where no single key is to blame."""
    text: str

    @property
    def without_key(self) -> str:
        """Its text where the key's name is beside it."""
        return self.text.removeprefix(f"{self.key}: ")

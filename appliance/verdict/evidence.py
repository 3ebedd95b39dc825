# SPDX-License-Identifier: Apache-2.0
"""The evidence on a drive for its verdict: figures, doubts and coverage. Pure.

Made from a campaign's rows by `campaign.gathering`, held against a policy by `verdict`.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

from appliance.phrases import N_
from appliance.store.tables.verdicts import Depth

SURFACE_UNREAD = N_("surface not read")
HEALTH_UNREAD = N_("health not read")


@dataclass(frozen=True, slots=True)
class Bound:
    """How strict a limit on a figure may be: one that is stricter counts only up to here.

    For what a drive cannot help: how fast its link is, or how much drives differ by chance. In the
    unit of the figure's limit.
    """

    remark: float
    reject: float
    reason: str
    """Where the bound comes from, after a colon."""


@dataclass(frozen=True, slots=True)
class Figure:
    """What was measured for one limit. `value` None: it was not, and `detail` says why."""

    value: float | None
    detail: str = ""
    origin: frozenset[int | str] = frozenset()
    """The plan's workloads behind it, from 0, or how the boots were begun: only figures of the same
    ones are compared."""
    set_aside: str = ""
    """Why it is held against no limit, though it was measured: only drives of one model are
    compared by it."""
    excuse: str = ""
    """What went wrong and is not shown to be the drive's fault: a remark, whatever the value."""
    in_part: str = ""
    """How little of the drive it speaks of: a remark, however good the value."""
    bound: Bound | None = None

    @property
    def is_held(self) -> bool:
        """Whether it was measured and is held against limits."""
        return self.value is not None and not self.set_aside


@dataclass(frozen=True, slots=True)
class Doubt:
    """A health counter that is known nonsense."""

    counter: str
    value: float
    unit: str
    sentence: str


@dataclass(frozen=True, slots=True)
class Evidence:
    """One drive of a campaign and all that is known of it."""

    drive_id: int
    name: str
    """What it is called in its campaign (`store.rows.DRIVE_NAME`)."""
    model: str
    transport: str
    rotational: bool
    figures: Mapping[str, Figure] = field(default_factory=dict)
    """By the names of `verdict/limits`; what is absent was not measured."""
    doubts: tuple[Doubt, ...] = ()
    hybrid: bool = False
    """Whether it says itself that it is one."""
    hidden_capacity: str = ""
    """What it has and does not offer, in a sentence; empty where nothing is known of such."""
    link: str = ""
    """How it was connected, in words; empty where that is not known. Drives of one model are
    compared where it is equal."""
    surface_unread: str = SURFACE_UNREAD
    """How much of its surface was not looked at; empty: all of it was read, or written and read
    back."""
    depth: Depth = "quick look"
    read_percent: float = 0.0
    """How much of its surface was read, or written and read back, without doubt."""
    health_unread: str = HEALTH_UNREAD
    """Empty: it was asked how it is, and answered."""
    damaged: tuple[str, ...] = ()
    """Stored rows about it that are not what was stored: then nothing is concluded from any."""

"""A campaign as it is composed on the screen, and what the plan's checks say of it. Pure data."""

from collections.abc import Mapping
from dataclasses import dataclass

from tui.state import DriveRow

type WorkloadTable = Mapping[str, str | tuple[str, ...]]
"""One `[[workload]]` of a plan: its keys, as people would write them."""


@dataclass(frozen=True, slots=True)
class BootChoice:
    """The boot timing of a composed campaign."""

    cycles: int
    power: str
    boot_set: str
    charts: str


@dataclass(frozen=True, slots=True)
class ComposedCampaign:
    """What was composed."""

    name: str
    drives: tuple[DriveRow, ...]
    controls: frozenset[str]
    """The raw identities of the drives to compare with."""
    boot: BootChoice | None
    workloads: tuple[WorkloadTable, ...]
    writes: bool
    """Whether each drive must be released: without it the plan releases none."""


@dataclass(frozen=True, slots=True)
class Mistake:
    """Something the plan's own checks refuse, and where it belongs in the form."""

    table: str
    """campaign | boot | drive | workload; empty where it concerns more than one."""
    index: int
    """Which of the drives or workloads, from 0."""
    key: str
    """Empty where no single key is to blame."""
    text: str

# SPDX-License-Identifier: Apache-2.0
"""The interface of a workload: what it receives and what it returns.

A workload is a list of parts. Each finished part is committed on the stick before the next begins;
a step that was interrupted goes on with the first part that is not stored.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from appliance.kinds import load
from appliance.plan.workloads import WorkloadPlan
from appliance.progress import Progress
from appliance.samples.diskstats import DiskStats
from appliance.samples.model import LbaRange, Result, SliceSample, Ticket
from appliance.samples.variants import CacheMode


class ArrayControl(Protocol):
    """What a workload may do with the array it runs on, mounted or not."""

    @property
    def clean_timeout_s(self) -> float:
        """How long `come_to_rest` may wait."""
        ...

    def come_to_rest(self) -> str:
        """Wait until nothing is dirty in the cache; say what was not reached, nothing if it was.

        Call it before each part that reads: writing back falsifies it. Writes back what RAM still
        holds first.
        """
        ...

    def set_cache_mode(self, mode: CacheMode) -> None:
        """From now on. Raises StepFailedError."""
        ...

    def empty_cache(self) -> None:
        """Write back what is dirty, take the cache away and give an empty one.

        No block of the array is in it afterwards; what is stored on the array stays. Raises
        StepFailedError.
        """
        ...

    def read_members(self) -> "MemberCounters":
        """What the array's drives have served until now."""
        ...


@dataclass(frozen=True, slots=True)
class MemberCounters:
    """The counters of an array's two drives."""

    backing: DiskStats
    cache: DiskStats


@dataclass(frozen=True, slots=True)
class Bench:
    """Where a step runs, and what it may use there."""

    device: str
    """The whole drive or array as it can be reached now: /dev/sdb."""
    folder: Path | None
    """The mounted file system made on it; None on the bare drive."""
    writable: bool
    """Whether the drive was released: without it a workload may only read."""
    raw: Path
    """A folder on the stick that keeps what the tools said."""
    size_bytes: int
    """What can be used: the drive's size, or what is free on its file system."""
    progress: Progress
    read_counters: Callable[[], DiskStats]
    """What the device has served until now; the device's own, not its partitions'."""
    drive_state: str
    """What is known of the drive's own cache when the step begins."""
    served_before: Mapping[str, int] = field(default_factory=dict)
    """By file: the bytes that the device has served for it in the step's stored parts."""
    array: ArrayControl | None = None
    """None: the bench is a single drive."""
    others: tuple[str, ...] = ()
    """For a workload that reads the other drives as well: where they are reached."""
    check_identity: Callable[[], None] | None = None
    """Asks the drive again who it is, if it is time to; raises ExchangedError. To be called within
    a part that writes for long, where nothing is under way, and never while a program measures.
    None: the kernel would notice if the drive was exchanged."""


@dataclass(frozen=True, slots=True)
class PartResult:
    """What one part gave. The device's bytes in it are among `results`, so that all add up."""

    results: tuple[Result, ...]
    tickets: tuple[Ticket, ...] = ()
    slices: tuple[SliceSample, ...] = ()
    ranges: tuple[LbaRange, ...] = ()
    notes: tuple[str, ...] = ()
    """For the event log: a drop that left pages, an idle wait that timed out."""
    beside: int = 0
    """How many other drives it kept busy itself."""
    keep: Callable[[], None] | None = None
    """Brings onto the stick what the step remembers of this part and all before it: called before
    the part is committed, maybe with others. It reads nothing that the next part changes. Raises
    StickError. None: all is there already, and the part is committed before the next one begins."""


@dataclass(frozen=True, slots=True)
class Leftover:
    """What a part had found of its drive when it was abandoned. No rates: it was not finished."""

    results: tuple[Result, ...] = ()
    """None of them with the device's bytes."""
    ranges: tuple[LbaRange, ...] = ()
    notes: tuple[str, ...] = ()
    silent: str = ""
    """Why the drive is taken to answer nothing any more; empty if there is no reason."""


class Workload(Protocol):
    """One step: made from the plan at each start of the engine."""

    @property
    def parts(self) -> tuple[str, ...]:
        """The names of the parts in their order, the same at each start."""
        ...

    @property
    def cold_parts(self) -> frozenset[str]:
        """Before each of these parts the drive must have been without power, since the last one."""
        return frozenset()

    @property
    def announced_left_s(self) -> float | None:
        """How long the running part still takes by what the drive says of it; None: nothing."""
        return None

    def part_bytes(self, part: str) -> int:  # noqa: ARG002 - for those that know it
        """What the part reads or writes, and tells how far it is of; 0: nothing, or not known.

        Asked after `prepare`.
        """
        return 0

    def prepare(self, bench: Bench) -> None:
        """Lay out what the parts need, or find it there from before the interruption.

        Raises StepFailedError where it does not fit or the drive fails.
        """
        ...

    def run_part(self, bench: Bench, part: str, *, finished: Mapping[str, int]) -> PartResult:
        """Do one part. `finished` has the parts that are stored, with the number of their results.

        Raises StepFailedError.
        """
        ...

    def give_up_part(
        self,
        bench: Bench,  # noqa: ARG002 - see write_last
        part: str,  # noqa: ARG002
        *,
        is_silent: bool,  # noqa: ARG002
    ) -> Leftover:
        """What `run_part` had found when it raised, for a part that is not run again.

        Called right after that, and nothing but `close` after it. `is_silent`: the drive does not
        answer, and is not to be asked; `run_part` itself may still wait for it, in the thread that
        was left behind. Raises nothing of the drive's.
        """
        return Leftover()

    def write_last(self, bench: Bench) -> None:  # noqa: ARG002 - for those that have cold parts
        """What is to be written right before the power-off of a cold part, and flushed.

        Nothing can be stored any more, and power goes at once. Raises OSError, StepFailedError.
        """
        return

    def doubt_power_off(self, bench: Bench) -> str:  # noqa: ARG002 - see write_last
        """In the start after it: why the power-off must be made again; empty if it counts.

        Raises StepFailedError.
        """
        return ""

    def believe_next_power_off(self, bench: Bench) -> None:  # noqa: ARG002 - see write_last
        """One was doubted, and is taken back by now: of the next one that is no reason any more."""
        return

    def close(self) -> None:
        """Release what is held from part to part, such as RAM. Called once, whatever happened."""
        return


def make_workload(plan: WorkloadPlan) -> Workload:
    """The workload that a plan describes."""
    make: Callable[[WorkloadPlan], Workload] = load(plan.kind, "workload")
    return make(plan)

# SPDX-License-Identifier: Apache-2.0
"""One attempt at one step: its parts in order, and storing each result.

A finished part is committed on the stick before the next one begins, so an interruption of any kind
costs the part that was under way and nothing else. Short parts share a commit (`part_store`): of
those a power cut costs two seconds more.
"""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, nullcontext, suppress
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path

from appliance.arrays.model import ArrayStuckError
from appliance.arrays.state import COUNTER_TICK_S
from appliance.campaign.context import CampaignContext
from appliance.campaign.drives.conditions import store_memory_errors
from appliance.campaign.drives.find import await_drive, find_released_drive, noted_identity
from appliance.campaign.drives.work import drive_work
from appliance.campaign.log import record_step
from appliance.campaign.requests.handlers import PAUSED, STOPPED
from appliance.campaign.silent_drives import Member
from appliance.campaign.states import MAX_ATTEMPTS
from appliance.campaign.steps.array_watch import ArrayWatch
from appliance.campaign.steps.at_once import Company
from appliance.campaign.steps.environment import BenchOrder
from appliance.campaign.steps.identity_watch import IdentityWatch, watch_identities
from appliance.campaign.steps.pace import Pace
from appliance.campaign.steps.part_store import PartStore
from appliance.campaign.steps.partial_results import store_partial_results
from appliance.campaign.steps.power_off import StepPower, count_planned_starts, describe_power_offs
from appliance.campaign.steps.recorders import StepRecorders
from appliance.campaign.steps.target import OpenSubject, Subject, find_counters
from appliance.change_watch import ChangeWatch
from appliance.drive_thread import DriveThread
from appliance.drives.file_system import release_mounts
from appliance.drives.model import Drive
from appliance.errors import KaltstartError, RefusedError, StepFailedError, StickError, blame_of
from appliance.phrases import N_, Phrase
from appliance.plan.workloads import WorkloadPlan
from appliance.samples.activity import peak_bytes
from appliance.samples.diskstats import DiskStats, parse_stat
from appliance.samples.kernel_errors import KernelWatch
from appliance.samples.model import DISCARDED, CacheState, Result
from appliance.samples.variants import parse_variant
from appliance.store.connect import transaction, watch_database
from appliance.store.read.figures import select_figures
from appliance.store.tables.boots import select_cycles
from appliance.store.tables.campaigns import select_campaign_drives
from appliance.store.tables.kernel_errors import add_kernel_errors
from appliance.store.tables.pause_and_skip import (
    DrivePause,
    is_pause_asked,
    is_skipped,
    select_paused_drives,
)
from appliance.store.tables.power_offs import select_power_offs
from appliance.store.tables.steps import (
    StepRow,
    insert_part,
    insert_ranges,
    insert_results,
    insert_slices,
    insert_tickets,
    select_beside,
    select_moved,
    select_parts,
    select_served,
    select_steps,
    update_step_ended,
    update_step_interrupted,
    update_step_running,
)
from appliance.workloads.base import Bench, PartResult, Workload, make_workload
from appliance.workloads.fio.keys import PRECONDITION, FioVariant
from appliance.workloads.verify.keys import WRITE, VerifyVariant

_UNMEASURED = CacheState(
    page_cache="partial",
    proof="unproven",
    proof_reason="what the device did beside the measured parts: layout, pre-reading, file system",
)

_IN_ORDER = frozenset({FioVariant(test=PRECONDITION), VerifyVariant(WRITE)})
"""Each writes what it works on from the first byte to the last, and after anything else that the
same step may do: a preconditioning follows all discarding."""

_LOOK_EVERY_S = 1.0
_ASKING = N_("asking who it is")


class StoppedByPersonError(Exception):
    """A stop was asked for in the middle of something that can be stopped."""

    reason = STOPPED


class PausedByPersonError(StoppedByPersonError):
    """A pause was asked for, and here nothing is lost by it."""

    reason = PAUSED


class DrivePausedError(PausedByPersonError):
    """A pause of one drive was asked for: its steps wait, those of the others go on."""


class SkippedByPersonError(Exception):
    """The step under way is stored as skipped: release what it works on."""


class WaitsForPowerOffError(Exception):
    """The step can only go on after a power-off, and others run beside it: it comes again."""


_ENDS = (StepFailedError, RefusedError, ArrayStuckError, SkippedByPersonError)
"""What ends a step; all else interrupts it."""
_CAMPAIGN_GOES_ON = (*_ENDS, PausedByPersonError, WaitsForPowerOffError)
"""After these the step may be begun again in this start, also once a pause is taken back: its parts
are in the database by then, or the trouble with the stick counts, not these."""


def hold_if_asked(context: CampaignContext, campaign_id: int) -> None:
    """Raises PausedByPersonError where a person has asked for it; for safe points only."""
    if is_pause_asked(context.connection, campaign_id):
        raise PausedByPersonError


@dataclass(frozen=True, slots=True)
class StepPosition:
    """Where the campaign is, for people."""

    position: int
    """From 1."""
    of: int
    kind: str
    device: str
    step_id: int = 0
    """0: it is none of the campaign's steps."""
    part: str = ""
    part_number: int = 0
    parts: int = 0
    left_s: float | None = None
    """How long the step still takes, at its drive's own rate or as that says; None: unknown."""
    temperatures: Mapping[str, float] = field(default_factory=dict)
    """°C by the drive's identity."""
    beside: "tuple[ShownStep, ...]" = ()
    """The steps that run at the same time, where there are any: all of them, this one too."""

    @property
    def step_ids(self) -> frozenset[int]:
        """The steps that run."""
        return frozenset(step.place.step_id for step in self.beside) or frozenset({self.step_id})


@dataclass(frozen=True, slots=True)
class ShownStep:
    """A step that runs, and how far what it does is."""

    place: StepPosition
    label: str
    done: int
    total: int


ShowStep = Callable[[StepPosition, str, int, int], None]
"""Position, what is being done, how much of how much.

Raises StoppedByPersonError, and SkippedByPersonError while a step runs.
"""


@dataclass(slots=True)
class StepRun:
    """One attempt at one step."""

    context: CampaignContext
    step: StepRow
    plan: WorkloadPlan
    subject: Subject
    place: StepPosition
    show: ShowStep
    parts: PartStore
    company: Company
    max_celsius: float | None = None
    """What the plan allows; None: what the drive does."""
    earlier_marks: Collection[str] = ()
    """Those that were left before these steps were begun or resumed: a person may have used the
    drive since, or have put an older database back."""
    discarding: Collection[int] = ()
    """Which tables of the plan discard their drives."""
    may_power_off: bool = True
    """False: others run beside it."""
    _stat: Path = field(init=False, default=Path())
    _watch: ArrayWatch | None = field(init=False, default=None)
    _backing: str = field(init=False, default="")
    """What the array's backing drive is called in the recorded activity."""
    _seen: DiskStats = field(init=False, default_factory=lambda: DiskStats(0, 0, 0, 0))
    """The device's counters as they were read last."""
    _accounted: DiskStats = field(init=False, default_factory=lambda: DiskStats(0, 0, 0, 0))
    """The device's counters up to which every byte is in a stored row."""
    _recorders: StepRecorders | None = field(init=False, default=None)
    _kernel: KernelWatch | None = field(init=False, default=None)
    """What the kernel reports of the step's drives."""
    _identities: IdentityWatch | None = field(init=False, default=None)
    """None: the step does not write, or its drives cannot be exchanged unnoticed."""
    _power: StepPower | None = field(init=False, default=None)
    """None: the step is on the array."""
    _thread: DriveThread | None = field(init=False, default=None)
    """Where all is done that may wait for what the step works on."""
    _workload: Workload | None = field(init=False, default=None)
    """The one that is at work."""
    _pace: Pace = field(init=False, default_factory=lambda: Pace({}))
    _looked_s: float = field(init=False, default=0.0)
    """When it was last looked whether the drive is to pause at once."""
    _database: ChangeWatch = field(init=False)
    """Of what was read of pauses by then."""
    _is_pausing: bool = field(init=False, default=False)
    _beside: dict[str, int] = field(init=False, default_factory=dict)
    """How many other drives were tested meanwhile, by part."""

    def __post_init__(self) -> None:
        self._database = watch_database(self.context.connection)

    @property
    def is_before_power_off(self) -> bool:
        """Whether nothing is left to do before the power-off that its next part wants."""
        connection, step = self.context.connection, self.step
        workload, finished = make_workload(self.plan), select_parts(connection, step.id)
        following = next((part for part in workload.parts if part not in finished), "")
        if following not in workload.cold_parts:
            return False
        boot_id = self.context.this_boot.boot_id
        return not any(
            row.part == following and row.left_at is not None and row.boot_id != boot_id
            for row in select_power_offs(connection, step.id)
        )

    def next_attempt(self, *, show: ShowStep | None = None) -> "StepRun":
        """The next attempt, with the step as it is stored now."""
        steps = select_steps(self.context.connection, self.step.campaign_id)
        step = next(row for row in steps if row.id == self.step.id)
        place = StepPosition(self.place.position, self.place.of, step.kind, step.device, step.id)
        return replace(self, step=step, place=place, show=show or self.show, may_power_off=True)

    def find(self) -> None:
        """What it works on. Raises RefusedError when that is not here, and what `show` raises."""
        self._show_progress(N_("looking for the drive"), 0, 0)
        self.subject.find(self._show_progress)

    def work(self) -> None:
        """Raises StepFailedError or RefusedError when the step has failed, SkippedByPersonError."""
        connection, step = self.context.connection, self.step
        planned = count_planned_starts(
            select_power_offs(connection, step.id),
            select_parts(connection, step.id),
            boot_id=self.context.this_boot.boot_id,
        )
        if step.attempts >= MAX_ATTEMPTS + planned:
            # A power cut or a plug that was pulled, for all that is known.
            raise StepFailedError(
                Phrase(
                    N_("abandoned after {count} attempts that did not finish"), count=step.attempts
                ),
                blame="other",
            )
        working = drive_work(
            self.context, step.campaign_id, self.subject.members, tell=self._show_progress
        )
        drives = {row.drive_id: drive for row, drive in self._tested}
        kernel = self.context.host.drives.watch_kernel(drives)
        with closing(kernel) as self._kernel, working as self._thread:
            self.company.join(step.id)
            try:
                self._begin(self._thread)
            finally:
                self.company.leave(step.id)

    @property
    def _tested(self) -> Sequence[Member]:
        """Without the drive that is only to be released from the other one's array."""
        is_array = self.step.drive_id is None
        return self.subject.members if is_array else self.subject.members[:1]

    @property
    def _hand(self) -> DriveThread:
        if self._thread is None:
            raise AssertionError("the thread is there before the step begins")
        return self._thread

    def _begin(self, hand: DriveThread) -> None:
        connection, step = self.context.connection, self.step
        for _, drive in self.subject.members:
            hand.do(partial(release_mounts, drive.name), N_("unmounting what was left mounted"))
        with transaction(connection):
            update_step_running(connection, step.id)
            record_step(self.context, self.step, "step-start", attempt=step.attempts + 1)
        try:
            with self.subject.opened(hand) as opened:
                self._work_on(opened)
        except _ENDS:
            # It may have ended before or after the work on the drives.
            with transaction(connection):
                self._store_kernel_errors()
            raise
        except BaseException:
            # What went wrong first is what counts; at the next start it is an interruption as well.
            with suppress(StickError), transaction(connection):
                # Not counted where it was stored as done, or as interrupted already.
                update_step_interrupted(connection, step.id)
            raise

    def _work_on(self, opened: OpenSubject) -> None:
        connection, step = self.context.connection, self.step
        is_whole = not select_parts(connection, step.id)
        self._watch = opened.watch
        if opened.drive is not None:
            owner = self.subject.owner
            self._power = StepPower(
                self.context, step, opened.drive, owner.drive_id, noted_identity(owner), self._hand
            )
        if self.plan.writes:
            self._identities = watch_identities(
                self._tested,
                ask=self.context.host.drives.ask_identity,
                clock=self.context.host.clock,
            )
        self._stat = next(iter(opened.stats.values()))
        *_, self._backing = opened.stats
        self._seen = DiskStats(0, 0, 0, 0)
        self._accounted = self._read_counters()
        recorders = StepRecorders(
            self.context,
            step,
            opened,
            max_celsius=self.max_celsius,
            transports={row.drive_id: drive.transport for row, drive in self.subject.members},
            hand=self._hand,
        )
        for text in recorders.describe_throttling():
            record_step(self.context, self.step, "step-temperature", what=text)
        recorders.rest()
        self._recorders = recorders
        try:
            others = self._find_others() if self.plan.reads_others else {}
            recorders.record_beside({name: find_counters(drive) for name, drive in others.items()})
            with recorders.entered():
                order = self._make_order([drive.path for drive in others.values()])
                with opened.open_bench(order) as bench:
                    if self._watch:
                        self._hand.do(self._watch.begin_step, N_("looking at the array"))
                    self._do_parts(bench)
                on_array = self._end_array(is_whole=is_whole)
            self._hand.raise_interrupt()
            if is_skipped(connection, step.id):
                raise SkippedByPersonError  # beside others it is stored before it is raised here
        except BaseException as error:
            with nullcontext() if isinstance(error, _CAMPAIGN_GOES_ON) else suppress(StickError):
                self.parts.store()
                with transaction(connection):
                    self._store_rest()
                    if not isinstance(error, _ENDS):
                        update_step_interrupted(connection, step.id)
                        record_step(self.context, self.step, "step-interrupted")
            raise
        self.parts.store()
        with transaction(connection):
            self._insert_results(on_array)
            self._store_rest()
            update_step_ended(connection, step.id, "done")
            record_step(self.context, self.step, "step-done")
        self.context.host.announce(
            "step-done", id=step.campaign_id, step=step.id, drive=step.device, kind=step.kind
        )

    def _end_array(self, *, is_whole: bool) -> tuple[Result, ...]:
        """What bcache counted in the step, where there is an array."""
        if self._watch is None:
            return ()
        self._end_second()
        with transaction(self.context.connection):
            self._store_recorded()
        moved = select_moved(
            self.context.connection, self.step.id, array=self.step.device, backing=self._backing
        )
        peak = peak_bytes(moved, window_s=COUNTER_TICK_S)
        end = partial(self._watch.end_step, is_whole=is_whole, peak_bytes=peak)
        return self._hand.do(end, N_("looking at the array"))

    def _do_parts(self, bench: Bench) -> None:
        connection, step = self.context.connection, self.step
        workload = make_workload(self.plan)
        parts = workload.parts
        finished = select_parts(connection, step.id)
        if all(part in finished for part in parts):
            return
        self._beside = select_beside(connection, step.id)
        self.place = replace(self.place, parts=len(parts))
        if self._identities:
            self._identities.folder = bench.folder
        with (
            self._hand.entered(_closed_behind(workload), "releasing the workload"),
            self._recorders.guarding() if self._recorders else nullcontext(),
        ):
            self._do_parts_of(workload, bench, finished)

    def _do_parts_of(
        self,
        workload: Workload,
        bench: Bench,
        finished: dict[str, int],
    ) -> None:
        connection, hand = self.context.connection, self._hand
        with _failing_as_step("layout"):
            hand.do(partial(workload.prepare, bench), "preparing")
        remaining = (part for part in workload.parts if part not in finished)
        self._workload, self._pace = (
            workload,
            Pace({part: workload.part_bytes(part) for part in remaining}),
        )
        for number, part in enumerate(workload.parts, start=1):
            if part in finished:
                continue
            hold_if_asked(self.context, self.step.campaign_id)
            if self._read_pauses():
                raise DrivePausedError
            self.place = replace(self.place, part=part, part_number=number)
            self._show_progress(part, 0, 0)
            if part in workload.cold_parts:
                self._come_from_power_off(part, workload, bench)
            self._check_before_part()
            if self._watch:
                hand.do(self._watch.begin_part, N_("looking at the array"))
            served_before = select_served(connection, self.step.id)
            begun_s = self.context.host.clock.monotonic_s()
            self.company.take(self.step.id)
            ready = replace(
                self._after_power(bench),
                served_before=served_before,
                check_identity=self._identities.check_within_part if self._identities else None,
            )
            run_part = partial(workload.run_part, ready, part, finished=finished)
            try:
                with _failing_as_step(part):
                    result = hand.do(run_part, part)
            except BaseException as error:
                store_partial_results(
                    self.context,
                    self.step,
                    workload,
                    bench=ready,
                    part=part,
                    error=error,
                    hand=hand,
                    insert=partial(self._insert_results, beside=self.company.take(self.step.id)),
                )
                raise
            self._check_after_part()
            finished[part] = len(result.results)
            self._pace.end_part(part)
            on_array: tuple[Result, ...] = ()
            if self._watch:
                # A stop that has come meanwhile does not cost the part.
                end_part = partial(self._watch.end_part, part)
                on_array = hand.do(end_part, N_("looking at the array"), must=True)
            self._end_part(part, result, on_array, begun_s=begun_s)
            if self._recorders:
                self._recorders.ask_between_parts()
        # The mark that is left next lies where a part that is not stored would be read again.
        self.parts.store()
        # What came in the last moment is still of this workload.
        hand.raise_interrupt()

    def _check_before_part(self) -> None:
        """Raises ExchangedError before the part's first write to another disk."""
        if self._identities:
            self._hand.do(self._identities.check_before_part, _ASKING)

    def _check_after_part(self) -> None:
        """Raises ExchangedError before anything is stored of what another disk gave."""
        if self._identities:
            # A stop that has come meanwhile does not cost the part.
            self._hand.do(self._identities.check, _ASKING, must=True)

    def _come_from_power_off(self, part: str, workload: Workload, bench: Bench) -> None:
        """Return only in the start after the power-off that `part` wants."""
        if self._power is None:
            raise StepFailedError(
                Phrase(
                    N_("{part} needs a power-off, which is only possible for single drives"),
                    part=part,
                )
            )
        if self._power.settle(part):
            look = partial(workload.doubt_power_off, bench)
            with _failing_as_step(part):
                doubt = self._hand.do(look, N_("looking at the last write"))
            if not doubt:
                return
            # In this order: if power goes in between, the part is doubted again and not believed.
            self._power.take_back(part)
            believe = partial(workload.believe_next_power_off, bench)
            self._hand.do(believe, N_("noting what is known of the last write"))
            with transaction(self.context.connection):
                record_step(self.context, self.step, "step-note", part=part, what=doubt)
        if not self.may_power_off:
            raise WaitsForPowerOffError
        self.parts.store()
        self._end_second()
        with transaction(self.context.connection):
            self._store_rest()
        self._power.leave_before(part, write_last=partial(workload.write_last, bench))
        hold_if_asked(self.context, self.step.campaign_id)
        raise StoppedByPersonError

    def _after_power(self, bench: Bench) -> Bench:
        power_offs = describe_power_offs(select_power_offs(self.context.connection, self.step.id))
        known = "; ".join(filter(None, (bench.drive_state, power_offs)))
        return replace(bench, drive_state=known)

    def _end_part(
        self, part: str, result: PartResult, on_array: Sequence[Result], *, begun_s: float
    ) -> None:
        """Have it stored, all that was counted in it with it."""
        connection, step = self.context.connection, self.step
        beside = self._beside[part] = max(
            self.company.take(step.id), self._find_beside(part), result.beside
        )
        others = self._count_other(result.results)
        insert_recorded = self._recorders.take(part) if self._recorders else None

        def insert() -> None:
            self._insert_results(on_array, beside=beside)
            self._insert_results(result.results, beside=beside)
            insert_tickets(connection, step.id, result.tickets)
            insert_slices(connection, step.id, result.slices)
            insert_ranges(connection, step.id, part, result.ranges)
            self._insert_results(others, beside=beside)
            insert_part(connection, step.id, part, results=len(result.results))
            for note in result.notes:
                record_step(self.context, self.step, "step-note", part=part, what=note)
            if insert_recorded:
                insert_recorded()

        took_s = self.context.host.clock.monotonic_s() - begun_s
        self.parts.add(step.id, insert, keep=result.keep, took_s=took_s)
        if self._watch:
            # Its condition is what the part has met, and is stored with it.
            self.parts.store()

    def _find_beside(self, part: str) -> int:
        """Of a part that adds up others, the most beside any of those."""
        kind, this = self.step.kind, parse_variant(self.step.kind, part)
        summed = [
            beside
            for other, beside in self._beside.items()
            if other != part and parse_variant(kind, other).whole == this
        ]
        return max(summed, default=0)

    def _store_rest(self) -> None:
        beside = self.company.take(self.step.id)
        self._insert_results(self._count_other(()), beside=beside)
        self._store_recorded()
        self._store_kernel_errors()
        store_memory_errors(self.context, self.step.campaign_id)

    def _store_kernel_errors(self) -> None:
        """What was reported since the last time. Call it within a transaction."""
        errors = self._kernel.take() if self._kernel else {}
        add_kernel_errors(self.context.connection, self.step.id, errors)
        for row, _ in self._tested if errors else ():
            if what := errors[row.drive_id].sentence:
                if self.step.drive_id is None:
                    what = Phrase("{drive}: {what}", drive=row.name, what=what)
                record_step(self.context, self.step, "kernel-errors", what=what, level="warning")

    def _end_second(self) -> None:
        """What is stored next counts up to now, and not up to the last full second."""
        if self._recorders:
            self._recorders.look_now()

    def _store_recorded(self) -> None:
        if self._recorders:
            self._recorders.store("")

    def _insert_results(self, results: Sequence[Result], *, beside: int = 0) -> None:
        if not results:
            return
        connection, step = self.context.connection, self.step
        array = self._watch.condition if self._watch else None
        insert_results(connection, step.id, step.device, results, array=array, beside=beside)

    def _count_other(self, results: tuple[Result, ...]) -> tuple[Result, ...]:
        """What the device did since the last stored row, and what `results` do not say of it."""
        now = self._read_counters()
        before, self._accounted = self._accounted, now
        done = {
            "device_read_bytes": now.read_bytes - before.read_bytes,
        }
        if (written_bytes := now.written_since(before)) is not None:
            done["device_write_bytes"] = written_bytes
        for result in results:
            if result.metric in done:
                done[result.metric] -= int(result.value)
        return tuple(
            Result("other", metric, value, _UNMEASURED) for metric, value in done.items() if value
        )

    def _read_counters(self) -> DiskStats:
        # A drive that is gone counts no further: what it did last is not known.
        with suppress(OSError, IndexError, ValueError):
            self._seen = parse_stat(self._stat.read_text(), device=self._stat.parent.name)
        return self._seen

    def _make_order(self, others: Sequence[str]) -> BenchOrder:
        owner = self.subject.owner
        return BenchOrder(
            context=self.context,
            step=self.step,
            owner=owner,
            filesystem=self.plan.filesystem,
            writes=self.plan.writes,
            hand=self._hand,
            read_counters=self._read_counters,
            record=partial(record_step, self.context, self.step),
            drive_state=self._describe_earlier(),
            mark_blame="other" if owner.mark in self.earlier_marks else "drive",
            others=tuple(others),
        )

    def _find_others(self) -> dict[str, Drive]:
        """The other drives of the same table, by what their own steps call them.

        Without those that are not to be read.

        One that has failed hangs or resets its bus, and would pass for a narrow one. One that is
        slow to appear is waited for; then the others are read without it.
        """
        connection, step = self.context.connection, self.step
        paused = select_paused_drives(connection, step.campaign_id)
        devices = {
            row.drive_id: row.device
            for row in select_steps(connection, step.campaign_id)
            if row.workload_index == step.workload_index
            and row.drive_id != step.drive_id
            and row.state not in {"failed", "skipped"}
            and row.drive_id not in paused
        }
        rows = select_campaign_drives(connection, step.campaign_id)
        other_rows = [row for row in rows if row.drive_id in devices]
        other_drives: dict[str, Drive] = {}

        def find_all(drives: Sequence[Drive]) -> None:
            other_drives.clear()
            missing: RefusedError | None = None
            for row in other_rows:
                try:
                    other_drives[devices[row.drive_id]] = find_released_drive(drives, row)
                except RefusedError as error:
                    missing = error
            if missing is not None:
                raise missing

        with suppress(RefusedError):  # one is not here, or another one by now
            await_drive(self.context.host, find_all, hand=self._hand)
        return {
            name: drive
            for name, drive in other_drives.items()
            if not (drive.name in self.context.silent.names or drive.mountpoints or drive.holders)
        }

    def _describe_earlier(self) -> str:
        """What the drive or array went through in this campaign before the step."""
        connection, campaign_id = self.context.connection, self.step.campaign_id
        members = frozenset(
            row.drive_id
            for row in select_campaign_drives(connection, campaign_id)
            if row.role in {"cache", "backing"}
        )
        steps = select_steps(connection, campaign_id)
        earlier = count_earlier(steps, self.step, members=members)
        subjects = {self.step.drive_id}
        if self.step.drive_id is None or self.step.drive_id in members:
            subjects |= members  # the array's boots are stored as those of its backing drive
        # One that failed may have read from the drive, too.
        boots = sum(
            cycle.attempts
            for cycle in select_cycles(connection, campaign_id)
            if cycle.drive_id in subjects
        )
        after = f"{boots} boot {'attempt' if boots == 1 else 'attempts'}"
        if not earlier:
            return f"first step on it, after {after}" if boots else "first step on it"
        text = f"after {earlier} earlier {'step' if earlier == 1 else 'steps'}"
        text += f" and {after}" if boots else ""
        discarding = [step for step in steps if step.workload_index in self.discarding]
        if count_earlier(discarding, self.step, members=members):
            last = max(step.position for step in discarding if step.position < self.step.position)
            steps_since = [
                step
                for step in steps
                if step.drive_id == self.step.drive_id
                and last <= step.position < self.step.position
            ]
            if not any(map(self._is_overwritten_by, steps_since)):
                text += f"; {DISCARDED}"
        return text

    def _is_overwritten_by(self, step: StepRow) -> bool:
        """Whether it has written every byte of its drive, in order; unknown for an array."""
        connection = self.context.connection
        size_bytes = next(
            (
                row.released_size_bytes
                for row in select_campaign_drives(connection, step.campaign_id)
                if row.drive_id == step.drive_id
            ),
            0,
        )
        return any(
            row.variant.whole in _IN_ORDER
            and row.metric == "app_write_bytes"
            and row.valid
            and row.value >= size_bytes > 0
            for row in select_figures(connection, step.id)
        )

    def _show_progress(self, label: str, done: int, total: int) -> None:
        place, left_s = self.place, None
        self.parts.store_due()
        if self._workload:
            self._pace.look(self.context.host.clock.monotonic_s(), place.part, done, total)
            left_s = self._pace.left_s
            if left_s is None:
                left_s = self._workload.announced_left_s
        if self._recorders:
            self._recorders.check_temperature()
            place = replace(place, temperatures=self._recorders.temperatures, left_s=left_s)
        self.show(place, label, done, total)
        self._pause_if_at_once()

    def _read_pauses(self) -> set[DrivePause]:
        """When the drive is to pause, if a person wants that; of the array either of its two."""
        paused = select_paused_drives(self.context.connection, self.step.campaign_id)
        drive_ids = {self.step.drive_id}
        if self.step.drive_id is None:
            drive_ids = {row.drive_id for row, _ in self.subject.members}
        return {paused[drive_id] for drive_id in drive_ids & paused.keys()}

    def _pause_if_at_once(self) -> None:
        """Raises DrivePausedError, once."""
        now_s = self.context.host.clock.monotonic_s()
        if self._is_pausing or now_s - self._looked_s < _LOOK_EVERY_S:
            return
        self._looked_s = now_s
        if not self._database.may_have_changed():
            return
        # Again if it fails: what is stored is still to be heard.
        with self._database.forgotten_if_failed():
            self._is_pausing = "at once" in self._read_pauses()
        if self._is_pausing:
            raise DrivePausedError


def count_earlier(steps: Sequence[StepRow], step: StepRow, *, members: frozenset[int]) -> int:
    """How many steps were at work on what `step` works on, as it is now. Pure.

    `members` are the drives of the array: what runs on it runs on them. It is made again after one
    of them was needed alone.
    """
    count = 0
    for row in sorted(steps, key=lambda each: each.position, reverse=True):
        if row.position >= step.position or not row.attempts:
            continue
        if step.drive_id is None and row.drive_id in members:
            break
        on_it = row.drive_id == step.drive_id
        count += on_it or (row.drive_id is None and step.drive_id in members)
    return count


@contextmanager
def _closed_behind(workload: Workload) -> Iterator[None]:
    """Release what it holds. The first failure is the one that counts."""
    try:
        yield
    except BaseException:
        with suppress(KaltstartError):
            workload.close()
        raise
    workload.close()


@contextmanager
def _failing_as_step(part: str) -> Iterator[None]:
    """What the system says of a file under test, it mostly says of the drive."""
    try:
        yield
    except OSError as error:
        raise StepFailedError(
            Phrase("{part}: {error}", part=part, error=error), blame=blame_of(error)
        ) from error

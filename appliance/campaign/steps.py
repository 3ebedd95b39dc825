"""The workloads of a campaign, one step after the other, each on one drive.

A finished part of a step is committed on the stick before the next one begins, so an interruption
of any kind costs the part that was under way and nothing else.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path

from appliance.campaign.advance import (
    Site,
    await_drive,
    find_released_drive,
    load_campaign,
)
from appliance.campaign.bench import BenchOrder, open_bench
from appliance.campaign.journal import record
from appliance.campaign.states import MAX_ATTEMPTS
from appliance.console import announce
from appliance.drives.file_system import (
    release_mounts,
)
from appliance.drives.model import Drive
from appliance.errors import KaltstartError, Refusal, StepFailed
from appliance.measure.activity import ActivityRecorder
from appliance.measure.diskstats import DiskStats, parse_stat
from appliance.measure.samples import CacheState, Result
from appliance.plan import parse_plan
from appliance.plan_workloads import WorkloadPlan
from appliance.progress import Progress
from appliance.stick import Stick
from appliance.store.campaigns import (
    CampaignDriveRow,
    select_campaign_drives,
)
from appliance.store.connect import transaction
from appliance.store.steps import (
    StepRow,
    insert_activity,
    insert_part,
    insert_results,
    insert_tickets,
    select_activity_end_s,
    select_parts,
    select_steps,
    update_step_ended,
    update_step_interrupted,
    update_step_running,
)
from appliance.units import printable
from appliance.workloads.base import Bench, PartResult, Workload
from appliance.workloads.registry import make_workload

_BLOCK = Path("/sys/class/block")
_UNMEASURED = CacheState(
    page_cache="partial",
    proof="unproven",
    proof_reason="what the device did beside the measured parts: layout, pre-reading, file system",
)


class StoppedByPersonError(Exception):
    """A stop was asked for in the middle of something that can be stopped."""


@dataclass(frozen=True, slots=True)
class StepPosition:
    """Where the campaign is, for people."""

    position: int
    """From 1."""
    of: int
    kind: str
    device: str
    part: str = ""
    part_number: int = 0
    parts: int = 0


ShowStep = Callable[[StepPosition, str, int, int], None]
"""Position, what is being done, how much of how much; raises StoppedByPersonError."""


def has_steps_left(site: Site, campaign_id: int) -> bool:
    """Whether a step is still to be done."""
    steps = select_steps(site.connection, campaign_id)
    return any(step.state in {"planned", "running"} for step in steps)


def run_steps(site: Site, campaign_id: int, *, stick: Stick, show: ShowStep) -> None:
    """Do every step that is left. One that fails is stored as failed, and the next one begins.

    A step whose drive is not here waits until all others are done. Raises StoppedByPersonError and
    what holds up the whole campaign (StickTrouble, StillMountedError, StillRunning): steps can be
    resumed then.
    """
    workloads = parse_plan(load_campaign(site, campaign_id).plan_toml).workloads
    steps = select_steps(site.connection, campaign_id)
    waiting: list[tuple[_StepRun, Refusal]] = []
    for number, step in enumerate(steps, start=1):
        if step.state not in {"planned", "running"}:
            continue
        run = _StepRun(
            site=site,
            stick=stick,
            step=step,
            plan=workloads[step.workload_index],
            place=StepPosition(number, len(steps), step.kind, step.device),
            show=show,
        )
        show(run.place, "looking for the drive", 0, 0)
        try:
            run.find_drive()
        except Refusal as error:
            waiting.append((run, error))
        else:
            _run_step(run)
    for run, _ in waiting:
        try:
            run.find_drive()
        except Refusal as error:
            _fail(site, run.step, error)
        else:
            _run_step(run)


def _run_step(run: "_StepRun") -> None:
    try:
        run.work()
    except (StepFailed, Refusal) as error:
        _fail(run.site, run.step, error)


def _fail(site: Site, step: StepRow, error: KaltstartError) -> None:
    with transaction(site.connection):
        update_step_ended(site.connection, step.id, "failed", reason=printable(error.message))
        record(
            site.connection,
            site.this_boot,
            "step-failed",
            f"{step.kind} on {step.device}: {error}",
            campaign_id=step.campaign_id,
            level="error",
        )
    announce(
        "step-failed",
        id=step.campaign_id,
        step=step.id,
        drive=step.device,
        kind=step.kind,
        reason=error.message,
    )


@dataclass(slots=True)
class _StepRun:
    """One attempt at one step."""

    site: Site
    stick: Stick
    step: StepRow
    plan: WorkloadPlan
    place: StepPosition
    show: ShowStep
    _drive: Drive | None = None
    _stat: Path = Path()
    _seen: DiskStats = field(default_factory=lambda: DiskStats(0, 0, 0, 0))
    """The device's counters as they were read last."""
    _accounted: DiskStats = field(default_factory=lambda: DiskStats(0, 0, 0, 0))
    """The device's counters up to which every byte stands in a stored row."""

    def find_drive(self) -> None:
        """The drive of this step. Raises Refusal when it is not here."""
        self._drive = await_drive(partial(find_released_drive, row=self.drive_row))

    @property
    def drive_row(self) -> CampaignDriveRow:
        """The drive's part in the campaign, as it stands now: steps change what is on it."""
        rows = select_campaign_drives(self.site.connection, self.step.campaign_id)
        return next(row for row in rows if row.drive_id == self.step.drive_id)

    def work(self) -> None:
        """Raises StepFailed or Refusal when the step has failed."""
        connection, step, drive = self.site.connection, self.step, self._drive
        if drive is None:
            raise AssertionError("the drive is looked for first")
        if step.attempts >= MAX_ATTEMPTS:
            raise StepFailed(f"given up after {step.attempts} attempts that did not come to an end")
        release_mounts()
        with transaction(connection):
            update_step_running(connection, step.id)
            self._record("step-start", f"attempt {step.attempts + 1}")
        self._stat = _BLOCK / drive.name / "stat"
        self._accounted = self._read_counters()
        start_s = select_activity_end_s(connection, step.id)
        recorder = ActivityRecorder({step.device: self._stat}, start_s=start_s)
        try:
            with recorder, open_bench(self._order(drive)) as bench:
                self._do_parts(bench, recorder)
        except (StepFailed, Refusal):
            with transaction(connection):
                self._store_rest(recorder)
            raise
        except BaseException:
            with transaction(connection):
                self._store_rest(recorder)
                update_step_interrupted(connection, step.id)
                self._record("step-interrupted")
            raise
        with transaction(connection):
            self._store_rest(recorder)
            update_step_ended(connection, step.id, "done")
            self._record("step-done")
        announce("step-done", id=step.campaign_id, step=step.id, drive=step.device, kind=step.kind)

    def _do_parts(self, bench: Bench, recorder: ActivityRecorder) -> None:
        connection, step = self.site.connection, self.step
        workload = make_workload(self.plan)
        parts = workload.parts
        finished = select_parts(connection, step.id)
        if all(part in finished for part in parts):
            return
        self.place = replace(self.place, parts=len(parts))
        try:
            self._do_parts_of(workload, bench, recorder, finished)
        except BaseException:
            with suppress(KaltstartError):  # what went wrong first is what counts
                workload.close()
            raise
        workload.close()

    def _do_parts_of(
        self,
        workload: Workload,
        bench: Bench,
        recorder: ActivityRecorder,
        finished: dict[str, int],
    ) -> None:
        connection, step = self.site.connection, self.step
        with _failing_as_step("layout"):
            workload.prepare(bench)
        for number, part in enumerate(workload.parts, start=1):
            if part in finished:
                continue
            self.place = replace(self.place, part=part, part_number=number)
            bench.progress(part, 0, 0)
            with _failing_as_step(part):
                result = workload.run_part(bench, part, finished=finished)
            finished[part] = len(result.results)
            with transaction(connection):
                self._store_part(part, result)
                insert_activity(connection, step.id, recorder.take())

    def _store_part(self, part: str, result: PartResult) -> None:
        connection, step = self.site.connection, self.step
        insert_results(connection, step.id, step.device, result.results)
        insert_tickets(connection, step.id, result.tickets)
        self._store_other(result.results)
        insert_part(connection, step.id, part, results=len(result.results))
        for note in result.notes:
            self._record("step-note", f"{part}: {note}")

    def _store_rest(self, recorder: ActivityRecorder) -> None:
        self._store_other(())
        insert_activity(self.site.connection, self.step.id, recorder.take())

    def _store_other(self, results: tuple[Result, ...]) -> None:
        """What the device did since the last stored row, and what `results` do not say of it."""
        now = self._read_counters()
        before, self._accounted = self._accounted, now
        done = {
            "device_read_bytes": now.read_bytes - before.read_bytes,
            "device_write_bytes": now.write_bytes - before.write_bytes,
        }
        for result in results:
            if result.metric in done:
                done[result.metric] -= int(result.value)
        others = [
            Result("other", metric, value, _UNMEASURED) for metric, value in done.items() if value
        ]
        insert_results(self.site.connection, self.step.id, self.step.device, others)

    def _read_counters(self) -> DiskStats:
        # A drive that is gone counts no further: what it did last is not known.
        with suppress(OSError, IndexError, ValueError):
            self._seen = parse_stat(self._stat.read_text())
        return self._seen

    def _order(self, drive: Drive) -> BenchOrder:
        earlier = self._steps_before()
        return BenchOrder(
            connection=self.site.connection,
            stick=self.stick,
            step=self.step,
            drive_row=self.drive_row,
            drive=drive,
            filesystem=self.plan.filesystem,
            writes=self.plan.writes,
            progress=self._progress(),
            read_counters=self._read_counters,
            record=self._record,
            drive_state=f"after {earlier} earlier steps" if earlier else "first step on it",
        )

    def _steps_before(self) -> int:
        steps = select_steps(self.site.connection, self.step.campaign_id)
        return sum(
            each.drive_id == self.step.drive_id and each.position < self.step.position
            for each in steps
        )

    def _progress(self) -> Progress:
        def tell(label: str, done: int, total: int) -> None:
            self.show(self.place, label, done, total)

        return tell

    def _record(self, event: str, detail: str = "") -> None:
        record(
            self.site.connection,
            self.site.this_boot,
            event,
            f"{self.step.kind} on {self.step.device}" + (f": {detail}" if detail else ""),
            campaign_id=self.step.campaign_id,
        )


@contextmanager
def _failing_as_step(part: str) -> Iterator[None]:
    """What the system says of a file under test, it says of the drive."""
    try:
        yield
    except OSError as error:
        raise StepFailed(f"{part}: {error}") from error

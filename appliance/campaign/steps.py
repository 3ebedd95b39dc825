"""The workloads of a campaign, one step after the other, each on one drive.

A finished part of a step is committed on the stick before the next one begins, so an interruption
of any kind costs the part that was under way and nothing else.
"""

import os
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

from appliance.campaign.advance import (
    Site,
    await_drive,
    find_released_drive,
    load_campaign,
)
from appliance.campaign.journal import record
from appliance.campaign.states import MAX_ATTEMPTS
from appliance.console import announce
from appliance.drives.file_system import (
    clear_signatures,
    make_file_system,
    mounted,
    read_file_system_uuid,
)
from appliance.drives.model import Drive
from appliance.drives.writable import Unlocked, unlocked
from appliance.errors import KaltstartError, Refusal, StepFailed
from appliance.measure.activity import ActivityRecorder
from appliance.measure.diskstats import DiskStats, parse_stat
from appliance.measure.samples import CacheState, Result
from appliance.plan import parse_plan
from appliance.plan_workloads import WorkloadPlan
from appliance.stick import RAW, Stick
from appliance.store.campaigns import CampaignDriveRow, select_campaign_drives
from appliance.store.connect import transaction
from appliance.store.steps import (
    StepRow,
    delete_file_system,
    insert_activity,
    insert_part,
    insert_results,
    insert_tickets,
    select_activity_end_s,
    select_file_system,
    select_parts,
    select_steps,
    update_step_ended,
    update_step_interrupted,
    update_step_running,
    upsert_file_system,
)
from appliance.units import printable
from appliance.workloads.base import Bench, PartResult, Progress, Workload
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

    Raises StoppedByPersonError; the step can be resumed.
    """
    workloads = parse_plan(load_campaign(site, campaign_id).plan_toml).workloads
    drives = {row.drive_id: row for row in select_campaign_drives(site.connection, campaign_id)}
    steps = select_steps(site.connection, campaign_id)
    for number, step in enumerate(steps, start=1):
        if step.state not in {"planned", "running"}:
            continue
        run = _StepRun(
            site=site,
            stick=stick,
            step=step,
            drive_row=drives[step.drive_id],
            plan=workloads[step.workload_index],
            place=StepPosition(number, len(steps), step.kind, step.device),
            show=show,
        )
        try:
            run.work()
        except KaltstartError as error:
            _fail(site, step, error)


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
    drive_row: CampaignDriveRow
    plan: WorkloadPlan
    place: StepPosition
    show: ShowStep
    _stat: Path = Path()
    _accounted: DiskStats = field(default_factory=lambda: DiskStats(0, 0, 0, 0))
    """The device's counters up to which every byte stands in a stored row."""

    def work(self) -> None:
        """Raises KaltstartError when the step has failed."""
        connection, step = self.site.connection, self.step
        if step.attempts >= MAX_ATTEMPTS:
            raise StepFailed(f"given up after {step.attempts} attempts that did not come to an end")
        with transaction(connection):
            update_step_running(connection, step.id)
            self._record("step-start", f"attempt {step.attempts + 1}")
        drive = await_drive(lambda found: find_released_drive(found, self.drive_row))
        self._stat = _BLOCK / drive.name / "stat"
        self._accounted = self._read_counters()
        start_s = select_activity_end_s(connection, step.id)
        recorder = ActivityRecorder({step.device: self._stat}, start_s=start_s)
        try:
            with recorder, self._bench(drive) as bench:
                self._do_parts(bench, recorder)
        except KaltstartError:
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
        with closing(workload):
            self._do_parts_of(workload, bench, recorder, finished)

    def _do_parts_of(
        self,
        workload: Workload,
        bench: Bench,
        recorder: ActivityRecorder,
        finished: dict[str, int],
    ) -> None:
        connection, step = self.site.connection, self.step
        workload.prepare(bench)
        for number, part in enumerate(workload.parts, start=1):
            if part in finished:
                continue
            self.place = replace(self.place, part=part, part_number=number)
            bench.progress(part, 0, 0)
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
        try:
            return parse_stat(self._stat.read_text())
        except (OSError, IndexError, ValueError):
            # Gone: what it did last is not known.
            return self._accounted

    @contextmanager
    def _bench(self, drive: Drive) -> Iterator[Bench]:
        raw = RAW / str(self.step.id)
        raw.mkdir(parents=True, exist_ok=True)
        earlier = self._steps_before()
        bench = Bench(
            device=drive.path,
            folder=None,
            writable=False,
            raw=raw,
            size_bytes=drive.size_bytes,
            progress=self._progress(),
            read_counters=self._read_counters,
            drive_state=f"after {earlier} earlier steps" if earlier else "first step on it",
        )
        if not self.plan.writes:
            yield bench
            return
        if not self.drive_row.released:
            raise Refusal(f"drive {self.drive_row.identity} is not released for writing")
        with unlocked(
            drive, stick=self.stick.drive, released_identity=self.drive_row.identity
        ) as target:
            if not self.plan.filesystem:
                self._forget_file_system(target)
                yield replace(bench, writable=True)
                return
            self._provide_file_system(target, bench.progress)
            with mounted(target.path, self.plan.filesystem) as folder:
                yield replace(bench, writable=True, folder=folder, size_bytes=_room_bytes(folder))

    def _forget_file_system(self, target: Unlocked) -> None:
        """Bare writes destroy what is on the drive: nothing may take it for whole afterwards."""
        delete_file_system(self.site.connection, self.step.campaign_id, self.step.drive_id)
        if not select_parts(self.site.connection, self.step.id):
            clear_signatures(target)

    def _provide_file_system(self, target: Unlocked, progress: Progress) -> None:
        kind, connection, step = self.plan.filesystem, self.site.connection, self.step
        known = select_file_system(connection, step.campaign_id, step.drive_id)
        if known and known.kind == kind and known.uuid == read_file_system_uuid(target.path):
            return
        if select_parts(connection, step.id):
            raise StepFailed("the file system of this step is no longer on the drive")
        progress(f"making {kind}", 0, 0)
        uuid = make_file_system(target, kind)
        with transaction(connection):
            upsert_file_system(connection, step.campaign_id, step.drive_id, kind=kind, uuid=uuid)
            self._record("file-system", f"{kind} {uuid}")

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


def _room_bytes(folder: Path) -> int:
    """What a file can still take on a file system."""
    room = os.statvfs(folder)
    return room.f_bavail * room.f_frsize

"""What the database on the stick says, as the pages want it."""

import json
import sqlite3
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path

from appliance.errors import StickTrouble
from appliance.plan_workloads import JUDGING_KINDS
from appliance.stats import find_quartiles
from appliance.store import queries, requests, steps, verdicts
from appliance.store.connect import open_read_only
from appliance.units import slug
from tui import language
from tui.array_headlines import describe_array
from tui.campaigns import ARRAY, Boot, Campaign, CampaignDrive, Spread, Step, Verdict
from tui.charset import drawable
from tui.durations import Durations, select_durations
from tui.headlines import find_figures
from tui.language import _
from tui.port.boot_ratios import find_boot_ratios
from tui.port.watched import read_stamp
from tui.spreads import LEAST_FOR_A_BOX, find_spreads
from tui.state import Answer, Event
from tui.step_rows import select_power_offs, select_results, select_samples, select_tickets

# The engine lets go of the stick before it restarts the machine: until then nothing is wrong.
_LEAVING_S = 30.0
_EVENTS = 40
_ANSWERS = 10


@dataclass(frozen=True, slots=True)
class Stored:
    """What was read at one moment."""

    campaigns: tuple[Campaign, ...] = ()
    """The newest first."""
    events: tuple[Event, ...] = ()
    answers: tuple[Answer, ...] = ()
    """The latest first."""
    durations: Durations = field(default_factory=Durations)


class StoredReader:
    """The database, read again only when it was written. `fat` is where the reports are."""

    def __init__(self, database: Path, *, fat: Path, clock: Callable[[], float]) -> None:
        self.value = Stored()
        self._database = database
        self._fat = fat
        self._clock = clock
        self._seen: tuple[int, ...] = ()
        self._ended_steps: dict[int, Step] = {}
        self._language = language.current()
        self._read_at = clock()
        """When the database was last there to be read."""

    def read(self) -> None:
        """Bring `value` up to date. Raises KaltstartError, OSError, sqlite3.Error."""
        stamp = read_stamp(self._database)
        if not stamp:
            if self._seen and self._clock() - self._read_at < _LEAVING_S:
                return
            raise StickTrouble(
                _("the stick's database is not there any more: was the stick pulled out?")
                if self._seen
                else _("there is no database on the stick yet")
            )
        self._read_at = self._clock()
        if self._language != language.current():
            self._language = language.current()
            self._ended_steps.clear()
            self._seen = ()
        if stamp == self._seen:
            return
        connection = open_read_only(self._database)
        try:
            self.value = Stored(
                campaigns=tuple(
                    self._read_campaign(
                        row,
                        drives=queries.select_campaign_drives(connection, row.id),
                        boots=queries.select_boots(connection, row.id),
                        steps_of_it=self._read_steps(connection, row.id),
                        verdicts_on_it=verdicts.select_verdicts(connection, row.id),
                        judging=verdicts.select_judging(connection, row.id),
                    )
                    for row in queries.select_campaigns(connection)
                ),
                events=tuple(
                    Event(
                        row.seq,
                        row.at,
                        row.level,
                        drawable(row.event),
                        drawable(row.detail),
                        _read_fields(row.fields),
                    )
                    for row in queries.select_events(connection, limit=_EVENTS)
                ),
                answers=tuple(
                    Answer(
                        row.id,
                        row.kind,
                        row.state,
                        "\n".join(map(drawable, row.answer.splitlines())),
                    )
                    for row in requests.select_recent_requests(connection, limit=_ANSWERS)
                ),
                durations=select_durations(connection.execute),
            )
        finally:
            connection.close()
        self._seen = stamp

    def _read_steps(self, connection: sqlite3.Connection, campaign_id: int) -> tuple[Step, ...]:
        """The steps of a campaign. What is over cannot change and is read only once."""
        found = []
        for row in steps.select_steps(connection, campaign_id):
            step = self._ended_steps.get(row.id)
            if step is None:
                results = select_results(connection.execute, row.id)
                step = Step(
                    id=row.id,
                    position=row.position,
                    kind=drawable(row.kind),
                    device=drawable(row.device),
                    state=row.state,
                    reason=drawable(row.reason),
                    figures=find_figures(
                        row.kind,
                        results,
                        select_tickets(connection.execute, row.id),
                        select_power_offs(connection.execute, row.id),
                    ),
                    workload_index=row.workload_index,
                    array=describe_array(results) if row.device == ARRAY else (),
                    spreads=tuple(
                        _measure(each)
                        for each in find_spreads(
                            row.kind, results, select_samples(connection.execute, row.id)
                        )
                    ),
                )
                if row.state not in {"planned", "running"}:
                    self._ended_steps[row.id] = step
            found.append(step)
        return tuple(found)

    def _read_campaign(
        self,
        row: queries.CampaignRow,
        *,
        drives: tuple[queries.CampaignDriveRow, ...],
        boots: tuple[queries.BootRow, ...],
        steps_of_it: tuple[Step, ...],
        verdicts_on_it: tuple[verdicts.VerdictRow, ...],
        judging: verdicts.JudgingRow | None,
    ) -> Campaign:
        folder = f"reports/{row.id}-{slug(row.name)}"
        found = tuple(
            _add_quartiles(
                CampaignDrive(
                    identity=drawable(drive.drive_serial),
                    model=drawable(drive.model),
                    role=drive.role,
                    kind="disk" if drive.rotational else "flash",
                    failed_reason=drawable(drive.failed_reason),
                    planned=drive.planned,
                    id=drive.drive_id,
                    skipped=drive.skipped,
                    open=drive.open,
                    next_position=drive.next_position,
                    boots=tuple(
                        Boot(
                            cycle=boot.cycle,
                            charted=boot.charted,
                            power=boot.power,
                            cold_proof=boot.cold_proof,
                            reason=drawable(boot.cold_reason),
                            valid=boot.valid,
                            boot_s=boot.boot_s,
                        )
                        for boot in boots
                        if boot.drive_serial == drive.drive_serial
                    ),
                )
            )
            for drive in drives
        )
        ratios, unsettled = find_boot_ratios(found)
        return Campaign(
            id=row.id,
            name=drawable(row.name),
            state=row.state,
            reason=drawable(row.reason),
            is_pausing=row.is_pausing,
            created_at=row.created_at,
            finished_at=row.finished_at,
            planned=row.planned,
            done=row.done,
            failed=row.failed,
            skipped=row.skipped,
            drives=found,
            boot_ratios=ratios,
            unsettled=unsettled,
            steps=steps_of_it,
            verdicts=tuple(
                Verdict(drawable(each.drive_serial), each.verdict, drawable(each.reasons))
                for each in verdicts_on_it
            ),
            is_judged=any(step.kind in JUDGING_KINDS for step in steps_of_it)
            or any(each.verdict == "reject" for each in verdicts_on_it),
            judging_problem=drawable(judging.problem) if judging else "",
            report=folder if (self._fat / folder / "report.html").exists() else "",
        )


def _measure(spread: Spread) -> Spread:
    found = find_quartiles(spread.values)
    if found is None or len(spread.values) < LEAST_FOR_A_BOX:
        return spread
    return replace(spread, quartiles=(found.lower, found.median, found.upper))


def _add_quartiles(drive: CampaignDrive) -> CampaignDrive:
    found = find_quartiles(drive.times_s)
    if found is None or len(drive.times_s) < LEAST_FOR_A_BOX:
        return drive
    return replace(drive, quartiles_s=(found.lower, found.median, found.upper))


def _read_fields(text: str | None) -> dict[str, object] | None:
    """What an event's sentence is made of; None where that is not known, or spoilt by the stick."""
    try:
        fields = json.loads(text or "")
    except ValueError:
        return None
    if not isinstance(fields, dict):
        return None
    return {
        drawable(name): value if isinstance(value, int | float) else drawable(str(value))
        for name, value in fields.items()
    }

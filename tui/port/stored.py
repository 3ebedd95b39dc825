# SPDX-License-Identifier: Apache-2.0
"""What the pages read from the stick's database."""

import json
import re
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

from appliance.errors import StickError
from appliance.event_texts import find_words
from appliance.statistics.stats import find_quartiles
from appliance.store.connect import open_read_only
from appliance.store.read import overview
from appliance.store.read.durations import select_work
from appliance.store.read.figures import select_figures, select_samples, select_tickets
from appliance.store.tables import requests, verdicts
from appliance.store.tables.campaigns import select_campaign
from appliance.store.tables.events import select_phrases
from appliance.store.tables.power_offs import select_power_offs
from appliance.store.tables.steps import select_steps
from appliance.units import slug
from tui import language
from tui.charset import one_line
from tui.figures.array import describe_array
from tui.figures.sample_spreads import LEAST_FOR_A_BOX, find_spreads
from tui.figures.steps import find_figures, is_shown
from tui.language import _
from tui.model.campaigns import Campaign, CampaignDrive, Step
from tui.model.snapshot import Answer, Event
from tui.model.status import ARRAY
from tui.port.boot_ratios import find_boot_ratios
from tui.port.watch import learn_phrases, read_stamp
from tui.times.durations import Durations, make_durations

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

# The engine releases the stick before it restarts the machine: until then nothing is wrong.
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


@contextmanager
def opened(database: Path, told: str) -> Iterator[sqlite3.Connection]:
    """Open for as long as the block lasts. Raises KaltstartError.

    If the database cannot be read the error says `told`, with SQLite's words as `{reason}`.
    """
    try:
        with closing(open_read_only(database)) as connection:
            yield connection
    except sqlite3.Error as error:
        raise StickError(told.format(reason=error)) from error


class StoredReader:
    """The database, read again only when it was written. `fat` is where the reports are."""

    def __init__(self, database: Path, *, fat: Path, clock: Callable[[], float]) -> None:
        self.value = Stored()
        self._database = database
        self._fat = fat
        self._clock = clock
        self._seen: tuple[int, ...] = ()
        self._last_phrase = 0
        self._ended_steps: dict[int, Step] = {}
        self._own_reports: set[tuple[int, ...]] = set()
        """Those that were seen to be their campaign's, by what `results.json` was then."""
        self._language = language.current()
        self._at_work: int | None = None
        """The campaign that was at work at the last reading; None once all was to be read."""
        self._requests: tuple[requests.Request, ...] = ()
        self._elsewhere = Durations()
        """Of all other campaigns."""
        self._read_at = clock()
        """When the database was last there to be read."""

    def read(self, *, at_work: int | None = None) -> None:
        """Bring `value` up to date. Raises KaltstartError, OSError, sqlite3.Error.

        While a campaign is `at_work`, the others change only by requests. So they are not read
        again with each of its parts: that would take the longer the more campaigns there are.
        """
        stamp = read_stamp(self._database)
        if not stamp:
            if self._seen and self._clock() - self._read_at < _LEAVING_S:
                return
            raise StickError(
                _("the stick's database is no longer there: was the stick pulled out?")
                if self._seen
                else _("there is no database on the stick yet")
            )
        self._read_at = self._clock()
        if self._language != language.current():
            self._language = language.current()
            self._ended_steps.clear()
            self._seen = ()
            self._at_work = None
        if stamp == self._seen and at_work == self._at_work:
            return
        with closing(open_read_only(self._database)) as connection:
            # Before the phrases: an answer is said once, with what is known of its words by then.
            asked = requests.select_recent_requests(connection, limit=_ANSWERS)
            phrases, self._last_phrase = select_phrases(connection, after=self._last_phrase)
            learn_phrases(phrases)
            is_whole = at_work is None or at_work != self._at_work or asked != self._requests
            kept = {} if is_whole else {row.id: row for row in self.value.campaigns}
            kept.pop(at_work or 0, None)
            folders = self._list_folders()
            self.value = Stored(
                campaigns=tuple(
                    kept.get(row.id) or self._read_campaign(connection, row, folders)
                    for row in overview.select_campaigns(connection)
                ),
                events=tuple(
                    _read_event(row) for row in overview.select_events(connection, limit=_EVENTS)
                ),
                answers=tuple(
                    Answer(
                        row.id,
                        row.kind,
                        row.state,
                        "\n".join(map(one_line, row.answer.splitlines())),
                    )
                    for row in asked
                ),
                durations=self._read_durations(connection, at_work, is_whole=is_whole),
            )
        self._seen, self._at_work, self._requests = stamp, at_work, asked

    def _read_durations(
        self, connection: sqlite3.Connection, at_work: int | None, *, is_whole: bool
    ) -> Durations:
        if is_whole:
            self._elsewhere = make_durations(select_work(connection, but=at_work))
        if at_work is None:
            return self._elsewhere
        return self._elsewhere.join(make_durations(select_work(connection, only=at_work)))

    def _read_steps(self, connection: sqlite3.Connection, campaign_id: int) -> tuple[Step, ...]:
        """The steps of a campaign. What is over cannot change and is read only once."""
        steps = []
        for row in select_steps(connection, campaign_id):
            step = self._ended_steps.get(row.id)
            if step is None:
                results = tuple(filter(is_shown, select_figures(connection, row.id)))
                step = Step(
                    **asdict(_draw(row)),
                    figures=find_figures(
                        row.kind,
                        results,
                        select_tickets(connection, row.id),
                        [
                            power_off.cold_proof
                            for power_off in select_power_offs(connection, row.id)
                        ],
                    ),
                    array=describe_array(results) if row.device == ARRAY else (),
                    spreads=tuple(
                        replace(spread, quartiles=_find_box(spread.values))
                        for spread in find_spreads(
                            row.kind, results, select_samples(connection, row.id)
                        )
                    ),
                )
                if row.state not in {"planned", "running"}:
                    self._ended_steps[row.id] = step
            steps.append(step)
        return tuple(steps)

    def _read_campaign(
        self, connection: sqlite3.Connection, row: overview.CampaignRow, folders: frozenset[str]
    ) -> Campaign:
        from appliance.plan.model import JUDGING_KINDS  # noqa: PLC0415 - not while the interface starts

        boots = overview.select_boots(connection, row.id)
        steps = self._read_steps(connection, row.id)
        verdicts_on_it = verdicts.select_verdicts(connection, row.id)
        judging = verdicts.select_judging(connection, row.id)
        booted = (
            CampaignDrive(
                **asdict(_draw(drive)),
                boots=tuple(
                    _draw(boot)
                    for boot in boots
                    if (boot.drive_serial, boot.drive_wwn) == (drive.identity, drive.wwn)
                ),
            )
            for drive in overview.select_campaign_drives(connection, row.id)
        )
        campaign_drives = tuple(
            replace(drive, quartiles_s=_find_box(drive.times_s)) for drive in booted
        )
        ratios, unsettled = find_boot_ratios(campaign_drives)
        return Campaign(
            **asdict(_draw(row)),
            drives=campaign_drives,
            boot_ratios=ratios,
            unsettled=unsettled,
            steps=steps,
            verdicts=tuple(map(_draw, verdicts_on_it)),
            is_judged=any(step.kind in JUDGING_KINDS for step in steps)
            or any(verdict.verdict == "reject" for verdict in verdicts_on_it),
            judging_problem="\n".join(map(one_line, judging.problem.split("\n")))
            if judging
            else "",
            report=self._find_report(connection, row, folders),
        )

    def _list_folders(self) -> frozenset[str]:
        """The names in `reports/`, without their number where they have one."""
        with suppress(OSError):
            names = [path.name.casefold() for path in (self._fat / "reports").iterdir()]
            return frozenset([*names, *(re.sub(r"-[0-9]+$", "", name) for name in names)])
        return frozenset()

    def _find_report(
        self, connection: sqlite3.Connection, row: overview.CampaignRow, folders: frozenset[str]
    ) -> str:
        """Its folder, as far as it is there; that of another campaign of this name is none."""
        from appliance.report import folder  # noqa: PLC0415 - not while the interface starts

        first = self._fat / f"reports/{row.id}-{slug(row.name)}"
        if first.name.casefold() not in folders:
            return ""
        report: Path | None = first
        stamp = (row.id, *read_stamp(first / "results.json"))
        if stamp not in self._own_reports:
            campaign = select_campaign(connection, row.id)
            report = folder.find_report(connection, first.parent, campaign) if campaign else None
            if report == first:
                self._own_reports.add(stamp)
        return f"reports/{report.name}" if report and (report / "report.html").exists() else ""


def _draw[T: DataclassInstance](row: T) -> T:
    """The row with each text fit to be drawn."""
    texts = {name: text for name, text in asdict(row).items() if isinstance(text, str)}
    return replace(row, **{name: one_line(text) for name, text in texts.items()})


def _find_box(values: Sequence[float]) -> tuple[float, float, float] | None:
    """Lower quartile, median, upper quartile; None where the values are too few for them."""
    quartiles = find_quartiles(values)
    if quartiles is None or len(values) < LEAST_FOR_A_BOX:
        return None
    return quartiles.lower, quartiles.median, quartiles.upper


def _read_event(row: overview.EventRow) -> Event:
    event = Event(row.seq, row.at, row.level, one_line(row.event), one_line(row.detail))
    # What another version has stored, or the stick has spoilt, is shown as it is.
    with suppress(ValueError, LookupError, TypeError, AttributeError, RecursionError):
        fields = json.loads(row.fields or "")
        return replace(event, words=find_words(row.event, fields), fields=fields)
    return event

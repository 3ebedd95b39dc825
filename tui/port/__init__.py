# SPDX-License-Identifier: Apache-2.0
"""The interface's only way to the engine: reads what it publishes, inserts requests.

Only this folder of `tui` imports `appliance`. Everything here may block on the stick, so call it
from a worker thread only. It never writes to anything but the table `request`.
"""

import os
import sqlite3
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from appliance.bytecode import collect_garbage
from appliance.errors import KaltstartError, StickError
from appliance.samples.diskstats import parse_stat
from appliance.store.clock import timestamp
from appliance.store.tables import requests
from appliance.units import format_drive_size, slug
from tui import language
from tui.activity.meter import find_subjects
from tui.activity.rates import Activity
from tui.format import localise
from tui.language import _
from tui.model.drives import DriveRow
from tui.model.io_history import Counters
from tui.model.machine import parse_machine
from tui.model.snapshot import Snapshot
from tui.port.drives import parse_drives
from tui.port.run_files import READY, find_run_folder, find_terminal, name_alive, name_starting
from tui.port.session import PageState, PageStateFile, read_manual
from tui.port.status import parse_status
from tui.port.watch import Watched, read_stamp, tell

if TYPE_CHECKING:
    from tui.figures.contention import ContentionSentence
    from tui.figures.side_ratios import Comparison, SideRatio
    from tui.model.draft import DraftCampaign, Mistake
    from tui.model.more_settings import MoreSettings
    from tui.model.raw import RawOutput, RawPiece
    from tui.model.templates import FormState
    from tui.port.databases import FoundDatabase, Offered
    from tui.port.plans import SavedPlan
    from tui.port.raw import RawOutputs
    from tui.port.stored import StoredReader
    from tui.times.step_times import StepTime

__all__ = ["DEFERRED", "REQUEST_LABELS", "KaltstartError", "PageState", "Port", "collect_garbage"]

REQUEST_LABELS = {kind.value: kind.label for kind in requests.Kind}
"""What people call a kind of request, to be translated where it is drawn."""

DEFERRED = (
    "tui.port.stored",
    "tui.port.raw",
    "tui.port.compose",
    "tui.port.contention",
    "tui.port.databases",
    "tui.port.form_of_plan",
    "tui.port.keys",
    "tui.port.plans",
    "tui.port.releases",
    "tui.port.side_ratios",
)
"""What no page needs before the drives are listed, or a key is pressed; with much of the engine,
or the report's rules, behind it."""

# Counted on our own clock, since a bench machine's clock may jump. The engine writes its status
# when something changes, so silence shows where it must change: at the start and in a countdown.
_SILENT_AFTER_S = 30.0
# The interface starts before all else, on a slow machine a minute before the engine.
_BEGUN_WITHIN_S = 180.0
# Without work it writes it every few seconds, unless it opens a slow stick or writes a long report.
_ASLEEP_AFTER_S = 180.0


_LISTED_WITHIN_S = 10.0
"""So long what the database says waits for the drives."""


@dataclass(frozen=True, slots=True)
class Glance:
    """What decides whether all of the engine's state is to be read now."""

    is_counting: bool = False
    """It counts down."""
    has_step: bool = False
    """A step runs."""


class Port:
    """One engine, by its folders."""

    def __init__(
        self,
        *,
        run: Path | None = None,
        data: Path | None = None,
        block: Path | None = None,
        terminal: str | None = None,
        manual: Path | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.run = run or Path(find_run_folder())
        self.data = data or Path(os.environ.get("KALTSTART_DATA", "/var/lib/kaltstart"))
        self.block = block or Path("/sys/class/block")
        self._clock = clock
        self._lock = threading.Lock()
        self._status = Watched(self.run / "status.json", parse_status)
        self._glance: tuple[tuple[int, ...], Glance] = ((), Glance())
        self._drives = Watched(
            self.run / "drives.json", lambda value: parse_drives(value, show_size=_show_size)
        )
        self._machine = Watched(
            self.run / "machine.json",
            lambda value: parse_machine(value, show_size=_show_size),
        )
        self.terminal = find_terminal() if terminal is None else terminal
        """The kernel's name of the one this is for; empty where it is none."""
        self._page_state = PageStateFile(self.run / "tui", self.terminal)
        self._manual = manual
        self._stored: StoredReader | None = None
        self._was_waiting = False
        self._begun_s = self._clock()
        self._activity = Activity(self._read_counters)
        self._heard_at = self._clock()
        self._lock_seen: tuple[int, ...] = ()
        """The stamp of what the engine makes first; empty: it has not begun yet."""

    @property
    def database(self) -> Path:
        """The database on the stick."""
        return self.data / "kaltstart.sqlite"

    def read_snapshot(self) -> Snapshot:
        """The engine's state now. Equal to the one before where nothing has changed."""
        with self._lock:
            lock = read_stamp(self.run / "engine.lock")
            is_heard = self._status.read() or lock != self._lock_seen
            self._lock_seen = lock
            self._machine.read()
            if self._machine.value is not None and language.use(self._machine.value.language):
                self._machine.read()  # its own texts in that language
            # On a slow machine written long before the status; beside it by a thread of its own.
            if (self._drives.read() and self._status.value is None) or is_heard:
                self._heard_at = self._clock()
            drive_list = self._drives.value
            trouble = self._status.trouble or self._drives.trouble or self._machine.trouble
            snapshot = Snapshot(
                status=self._status.value,
                silent=self._is_silent(),
                drives=drive_list.drives if drive_list else (),
                looking=drive_list is None or drive_list.looking,
                unlisted=drive_list.unlisted if drive_list else (),
                machine=self._machine.value,
            )
            if self._is_stored_due(snapshot, trouble):
                snapshot, stored_trouble = self._add_stored(snapshot)
                trouble = trouble or stored_trouble
            is_busy = snapshot.status is not None and snapshot.status.busy
            seen = self._activity.look(
                self._find_subjects(snapshot), snapshot.drives if is_busy else ()
            )
            return replace(
                snapshot,
                rates=seen.rates,
                course=seen.course,
                activity=seen.drives,
                trouble=trouble,
            )

    def _is_stored_due(self, snapshot: Snapshot, trouble: str) -> bool:
        """Not before the drives are listed, unless that takes long or something else is going on.

        Loading what reads the database takes as long as a third of what the first page needs.
        """
        if self._stored is not None:
            return True
        is_waiting = (snapshot.is_early or snapshot.looking) and not (
            snapshot.busy
            or snapshot.silent
            or trouble
            or self._clock() - self._begun_s > _LISTED_WITHIN_S
        )
        # The reading that finds what was waited for has it drawn first.
        was_waiting, self._was_waiting = self._was_waiting, is_waiting
        return not (is_waiting or was_waiting)

    def _add_stored(self, snapshot: Snapshot) -> tuple[Snapshot, str]:
        """The same with what the database says, and why that cannot be read."""
        trouble = ""
        try:
            if self._stored is None:
                from tui.port.stored import StoredReader  # noqa: PLC0415  # see DEFERRED

                self._stored = StoredReader(self.database, fat=self.run / "fat", clock=self._clock)
            self._stored.read(at_work=_find_campaign_at_work(snapshot))
        except (KaltstartError, OSError, sqlite3.Error, ImportError) as error:
            trouble = tell(str(error))
        if self._stored is None:  # its code could not be read from the stick
            return replace(snapshot, is_read=True, is_unreadable=True), trouble
        stored, status = self._stored.value, snapshot.status
        time_left, drives_left = stored.durations.find_time_left(
            _find_campaign_at_work(snapshot),
            now=timestamp(),
            own_left_s=status.own_left_s if status else {},
        )
        return replace(
            snapshot,
            campaigns=stored.campaigns,
            events=stored.events,
            answers=stored.answers,
            time_left=time_left,
            drives_left=drives_left,
            is_read=True,
            is_unreadable=bool(trouble),
        ), trouble

    def glance(self) -> Glance:
        """What the engine is at now. Reads only RAM, so it may be called anywhere."""
        status = self.run / "status.json"
        stamp, glance = self._glance
        if stamp != (stamp := read_stamp(status)):
            # Asked beside a measurement, again and again: nothing is parsed. Quotes within a text
            # have a backslash in JSON.
            with suppress(OSError):
                text = status.read_bytes() if stamp else b""
                glance = Glance(
                    is_counting=bool(text) and b'"countdown": null' not in text,
                    has_step=bool(text) and b'"step": null' not in text,
                )
            self._glance = stamp, glance
        return glance

    def say_ready(self) -> None:
        """Tell the engine that a person can see it and press keys: its countdowns wait for that."""
        with suppress(OSError):  # a trial on another machine: nothing waits for it
            (self.run / READY).touch()
            (self.run / name_starting(self.terminal)).unlink(missing_ok=True)

    def say_alive(self) -> None:
        """Tell the engine that keys on this terminal are heard. In RAM: may be called anywhere."""
        with suppress(OSError):
            (self.run / name_alive(self.terminal)).touch()

    def read_page_state(self) -> PageState:
        """What this terminal's interface left behind when it ended."""
        return self._page_state.read()

    def write_page_state(self, state: PageState) -> None:
        """Leave something behind for the next one. In RAM, so it may be called anywhere."""
        self._page_state.write(state)

    def read_manual(self) -> tuple[str, ...]:
        """The manual's documents, in Markdown. Raises OSError or UnicodeDecodeError."""
        return read_manual(self._manual)

    def _find_subjects(self, snapshot: Snapshot) -> list[tuple[str, str]]:
        arrays = [path.name for path in self.block.glob("bcache*")]
        return find_subjects(snapshot.status, snapshot.campaigns, snapshot.drives, arrays=arrays)

    def _read_counters(self, device: str) -> Counters | None:
        try:
            stats = parse_stat((self.block / device / "stat").read_text(), device=device)
        except (OSError, LookupError, ValueError):  # it went away in this moment
            return None
        return Counters(
            at_s=self._clock(),
            read_bytes=stats.read_bytes,
            write_bytes=stats.write_bytes,
            read_ios=stats.read_ios,
            write_ios=stats.write_ios,
            wait_s=stats.wait_s,
            busy_s=stats.busy_s,
            lacks_writes=stats.lacks_writes,
        )

    def _is_silent(self) -> bool:
        status, quiet_s = self._status.value, self._clock() - self._heard_at
        if status is None:
            return quiet_s > (_SILENT_AFTER_S if self._lock_seen else _BEGUN_WITHIN_S)
        if status.countdown is not None:
            return quiet_s > _SILENT_AFTER_S
        return status.phase in {"starting", "idle"} and quiet_s > _ASLEEP_AFTER_S

    def request(self, kind: str, payload: Mapping[str, Any] | None = None) -> int:
        """Ask the engine for something; the answer comes with a later snapshot.

        Raises KaltstartError where the database cannot take it.
        """
        from appliance.store.connect import open_database, open_read_only  # noqa: PLC0415  # see DEFERRED

        # The engine alone makes and migrates the database: look before opening it for writing.
        open_read_only(self.database).close()
        boot_id = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
        with closing(open_database(self.database)) as connection:
            try:
                return requests.insert_request(
                    connection, kind, payload or {}, at=timestamp(), boot_id=boot_id
                )
            except sqlite3.Error as error:
                text = _("the request could not be stored: {reason}").format(reason=error)
                raise StickError(text) from error

    def compose_plan(self, draft: "DraftCampaign", *, released: bool = True) -> str:
        """The plan's text; it releases the drives that it writes to. Raises RefusedError.

        Not `released`: to be saved, until the user releases them.
        """
        from tui.port.compose import compose_text  # noqa: PLC0415  # see DEFERRED

        return compose_text(draft, released=released)

    def check_plan(self, draft: "DraftCampaign") -> "tuple[Mistake, ...]":
        """What the plan's own checks have against it, before anybody releases a drive for it."""
        from tui.port.compose import check_draft  # noqa: PLC0415  # see DEFERRED

        return check_draft(draft)

    def estimate(self, draft: "DraftCampaign") -> "tuple[StepTime, ...]":
        """How long each of its steps takes. Raises KaltstartError."""
        return self.estimate_plan(self.compose_plan(draft))

    def estimate_plan(self, toml: str) -> "tuple[StepTime, ...]":
        """The same for a plan without mistakes, on the drives that are here."""
        from tui.port.plans import estimate_plan  # noqa: PLC0415  # see DEFERRED

        drive_list = self._drives.value
        return estimate_plan(self.database, toml, drive_list.drives if drive_list else ())

    def find_written(self, campaign_id: int) -> tuple[str, ...]:
        """What a paused campaign still writes to, by raw names. Raises KaltstartError."""
        from tui.port.releases import find_written  # noqa: PLC0415  # see DEFERRED

        return find_written(self.database, campaign_id)

    def read_side_ratios(self, campaign_id: int) -> "tuple[SideRatio, ...]":
        """What several drives of a campaign measured alike. Raises KaltstartError."""
        from tui.port.side_ratios import read_side_ratios  # noqa: PLC0415  # see DEFERRED

        return read_side_ratios(self.database, campaign_id)

    def read_comparison(self, one: tuple[int, str], other: tuple[int, str]) -> "Comparison":
        """A campaign's drive, by its name, beside another's. Raises KaltstartError."""
        from tui.port.side_ratios import read_comparison  # noqa: PLC0415  # see DEFERRED

        return read_comparison(self.database, one, other)

    def read_contention(self, campaign_id: int) -> "tuple[ContentionSentence, ...]":
        """Who slows down whom in a campaign. Raises KaltstartError."""
        from tui.port.contention import read_contention  # noqa: PLC0415  # see DEFERRED

        return read_contention(self.database, campaign_id)

    def list_raw(self, campaign_id: int) -> "tuple[RawOutput, ...]":
        """The raw output that is kept of a campaign. Raises KaltstartError."""
        return self._open_raw().find_all(campaign_id)

    def read_raw(self, output: "RawOutput", first_byte: int) -> "RawPiece":
        """A piece of one of them. Raises KaltstartError."""
        return self._open_raw().read(output, first_byte)

    def _open_raw(self) -> "RawOutputs":
        from tui.port.raw import RawOutputs  # noqa: PLC0415  # see DEFERRED

        return RawOutputs(self.database, self.data / "raw")

    def list_databases(self) -> "tuple[FoundDatabase, ...]":
        """What may be databases of other sticks on KALTSTART. Raises KaltstartError."""
        from tui.port.databases import list_databases  # noqa: PLC0415  # see DEFERRED

        return list_databases(self.run / "fat")

    def read_offer(self, raw_name: str) -> "Offered":
        """What one of them has for this stick. Raises KaltstartError."""
        from tui.port.databases import read_offer  # noqa: PLC0415  # see DEFERRED

        return read_offer(self.run / "fat", raw_name, own=self.database)

    def list_plans(self) -> tuple[str, ...]:
        """The plans kept on the stick, by the names of their files."""
        from tui.port.plans import list_plans  # noqa: PLC0415  # see DEFERRED

        return list_plans(self.run / "fat/plans")

    def read_saved_plan(self, name: str) -> "SavedPlan":
        """One of them, with all that is wrong with it."""
        from tui.port.plans import read_saved_plan  # noqa: PLC0415  # see DEFERRED

        return read_saved_plan(self.run / "fat/plans", name)

    def parse_form_state(self, toml: str, drives: Sequence[DriveRow]) -> "FormState":
        """A kept plan without mistakes as the form takes it."""
        from tui.port.form_of_plan import parse_form_state  # noqa: PLC0415  # see DEFERRED

        return parse_form_state(toml, drives)

    def find_lost(self, toml: str, draft: "DraftCampaign") -> tuple[str, ...]:
        """What the form has lost of a kept plan. Raises KaltstartError."""
        from tui.port.form_of_plan import find_lost  # noqa: PLC0415  # see DEFERRED

        return find_lost(toml, self.compose_plan(draft, released=False))

    def release_in(self, toml: str, identities: tuple[str, ...]) -> str:
        """A kept plan with these drives released."""
        from tui.port.plans import release_in  # noqa: PLC0415  # see DEFERRED

        return release_in(toml, identities)

    def name_plan(self, name: str) -> str:
        """What the file of a plan of this name is called."""
        return f"{slug(name).lower()}.toml"

    def more_settings(self) -> "MoreSettings":
        """What of a plan no row of the form sets, at its defaults."""
        from tui.model.more_settings import MoreSettings  # noqa: PLC0415  # see DEFERRED
        from tui.port.keys import read_more_settings  # noqa: PLC0415  # see DEFERRED

        return MoreSettings(read_more_settings(), {})

    def max_drives(self) -> int:
        """How many drives a plan takes."""
        from appliance.plan.workloads import MAX_DRIVES  # noqa: PLC0415  # see DEFERRED

        return MAX_DRIVES


def _find_campaign_at_work(snapshot: Snapshot) -> int | None:
    status = snapshot.status
    return status.campaign_id if status is not None and status.busy else None


def _show_size(size_bytes: int) -> str:
    return localise(format_drive_size(size_bytes))

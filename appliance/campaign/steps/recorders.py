# SPDX-License-Identifier: Apache-2.0
"""The recorders that run during a step, and storing what they record."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path

from appliance.campaign.context import CampaignContext
from appliance.campaign.steps.drive_temperature import QueriedTemperatures
from appliance.campaign.steps.target import OpenSubject
from appliance.campaign.steps.temperature_limit import TemperatureWatch
from appliance.drive_thread import DriveThread
from appliance.errors import blaming
from appliance.phrases import N_
from appliance.samples.activity import ActivityRecorder
from appliance.samples.processor_load import LoadRecorder
from appliance.samples.recorder import DirtyRecorder
from appliance.samples.temperature import find_sensor
from appliance.store.tables.arrays import insert_array_samples
from appliance.store.tables.campaigns import select_campaign_drives
from appliance.store.tables.health import (
    insert_temperatures,
    select_health,
    select_last_celsius,
)
from appliance.store.tables.processor_load import add_load
from appliance.store.tables.steps import StepRow, insert_activity, select_activity_end_s
from appliance.store.tables.throttling import add_throttling

_SENSORS = N_("looking at the sensors")
_ASKING = N_("asking how hot it is")


class StepRecorders:
    """Activity each second, an array's dirty bytes, temperatures, and the processors' load."""

    def __init__(
        self,
        context: CampaignContext,
        step: StepRow,
        opened: OpenSubject,
        *,
        max_celsius: float | None,
        transports: Mapping[int, str],
        hand: DriveThread,
    ) -> None:
        """`hand` asks the sensors: some wait for their drive. `transports`: by the drive's row."""
        connection = context.connection
        start_s = select_activity_end_s(connection, step.id)
        self._is_planned_limit = max_celsius is not None
        self._is_guarding = False
        self._connection = connection
        self._step = step
        # By its WWN is known whose serial number is another one's too, or the array's name. None
        # but the step's own drives: another one may be called as one of them, or as the array.
        rows = [
            row
            for row in select_campaign_drives(connection, step.campaign_id)
            if row.drive_id in transports
        ]
        names = {row.drive_id: row.wwn if row.wwn in opened.stats else row.identity for row in rows}
        self._shown_names = {names[row.drive_id]: row.name for row in rows}
        self._drive_ids = {
            name: drive_id for drive_id, name in names.items() if name in opened.stats
        }
        self._activity = ActivityRecorder(opened.stats, start_s=start_s)
        self._dirty = (
            DirtyRecorder(opened.watch.read_dirty_bytes, start_s=start_s) if opened.watch else None
        )
        self._load = LoadRecorder()
        self._hand = hand
        health = select_health(connection, step.campaign_id)
        self._asked = self._make_asked(
            context,
            opened,
            frozenset(
                names[row.drive_id]
                for row in health
                if row.drive_id in names and row.celsius is not None
            ),
            transports={name: transports[drive_id] for drive_id, name in names.items()},
            start_s=start_s,
        )
        watch = partial(
            TemperatureWatch,
            {name: stat for name, stat in opened.stats.items() if name in self._drive_ids},
            max_celsius=max_celsius,
            own_limits={
                names[row.drive_id]: row.limit_celsius
                for row in health
                if row.drive_id in names and row.limit_celsius is not None
            },
            asked=self._asked,
            start_s=start_s,
            clock=context.host.clock,
        )
        self._temperatures = hand.do(watch, _SENSORS)

    @property
    def temperatures(self) -> Mapping[str, float]:
        """What the drives said last, in °C by what each is called in the campaign.

        A drive beside the step may have the serial number of one of these.
        """
        latest = self._temperatures.latest
        return {self._shown_names[name]: celsius for name, celsius in latest.items()}

    def _make_asked(
        self,
        context: CampaignContext,
        opened: OpenSubject,
        tells: frozenset[str],
        *,
        transports: Mapping[str, str],
        start_s: float,
    ) -> QueriedTemperatures:
        """Drives that count how often they slowed down, and those that no sensor watches.

        The latter only if they told their temperature before the campaign, and not behind USB:
        bridges may take such a question badly while they are busy.
        """
        watched = frozenset(
            name
            for name in self._drive_ids.keys() & tells
            if transports.get(name) not in {"usb", "nvme"}
            and find_sensor(opened.stats[name].parent) is None
        )
        names = {name for name in self._drive_ids if transports.get(name) == "nvme"} | watched
        paths = {name: f"/dev/{opened.stats[name].parent.name}" for name in names}
        return QueriedTemperatures(
            paths, watched, context.host.clock, start_s, context.host.drives.query_thermal_state
        )

    def record_beside(self, stats: Mapping[str, Path]) -> None:
        """Record the activity of these drives as well: they are a load. Call it before entering."""
        self._activity.add(stats)

    def ask_between_parts(self) -> None:
        """Ask the drives that have no sensor, if it is time to. Call it between parts."""
        if self._asked.is_due:
            self._hand.do(self._asked.ask, _ASKING)

    def describe_throttling(self) -> tuple[str, ...]:
        """What is watched of each drive, in a sentence."""
        return self._temperatures.describe(tuple(self._drive_ids))

    @contextmanager
    def guarding(self) -> Iterator[None]:
        """While the workload is at it. What must be put in order afterwards is not disturbed."""
        self._is_guarding = True
        try:
            yield
        finally:
            self._is_guarding = False

    def check_temperature(self) -> None:
        """Raises StepFailedError where a drive has become too hot, within `guarding` only."""
        if not self._is_guarding:
            return
        # How hot it became is judged separately, and by the policy instead of the plan.
        with blaming("other" if self._is_planned_limit else "drive"):
            self._temperatures.check()

    def rest(self) -> None:
        """Let drives cool that an earlier step has made too hot."""
        campaign_id = self._step.campaign_id
        last = {
            identity: celsius
            for identity, drive_id in self._drive_ids.items()
            if (celsius := select_last_celsius(self._connection, campaign_id, drive_id)) is not None
        }
        self._hand.do(partial(self._temperatures.rest, last, self._hand.tell), _SENSORS)

    @contextmanager
    def entered(self) -> Iterator[None]:
        """All at work. None stays at it, whatever becomes of what it looks at."""
        recorders = [
            self._activity,
            self._temperatures.recorder,
            *([self._dirty] if self._dirty else ()),
        ]
        try:
            with ExitStack() as stack:
                stack.enter_context(self._load)
                for recorder in recorders:
                    stack.enter_context(self._hand.entered(recorder, _SENSORS))
                self.ask_between_parts()
                yield
                if self._asked.paths:
                    self._hand.do(self._asked.ask, _ASKING, must=True)
        finally:
            for recorder in recorders:
                recorder.end()

    def look_now(self) -> None:
        """End the running second of the activity: the next store has all of it."""
        self._activity.look_now()

    def store(self, part: str = "") -> None:
        """What was seen since the last time, in `part`. Call it within a transaction."""
        self.take(part)()

    def take(self, part: str) -> Callable[[], None]:
        """The same, stored when that is called, within a transaction."""
        connection, step_id = self._connection, self._step.id
        load, activity = self._load.take(), self._activity.take()
        samples, throttling = self._asked.take()
        temperatures = (*self._temperatures.recorder.take(), *samples)
        dirty = self._dirty.take() if self._dirty else ()

        def insert() -> None:
            add_load(connection, step_id, part, load)
            insert_activity(connection, step_id, activity)
            insert_temperatures(connection, step_id, self._drive_ids, temperatures)
            add_throttling(connection, step_id, self._drive_ids, throttling)
            if dirty:
                insert_array_samples(connection, step_id, dirty)

        return insert

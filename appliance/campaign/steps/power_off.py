# SPDX-License-Identifier: Apache-2.0
"""A power-off within a step, and what the next start learns about the drive.

As with the boots: the row first, then the count, the countdown that any key stops, the alarm; then
power goes. Must never let a restart pass for a power-off.
"""

from collections.abc import Callable, Collection
from contextlib import suppress
from dataclasses import dataclass
from functools import partial

from appliance.campaign.context import COUNTDOWN_S, CampaignContext, leave, load_campaign
from appliance.campaign.host import Power
from appliance.campaign.log import record, record_step
from appliance.campaign.start_records import describe_uncounted, note_power_action
from appliance.drive_thread import DriveSilentError, DriveThread
from appliance.drives.facts.power_cycles import PowerCycles, judge_coldness
from appliance.drives.identity_query import AskedIdentity, ask_again
from appliance.drives.model import Drive
from appliance.drives.suppress_flush import FlushSwitches, prevent_stop
from appliance.errors import KaltstartError, StepFailedError
from appliance.phrases import N_, Phrase
from appliance.store.connect import transaction
from appliance.store.tables.campaigns import CampaignRow, count_power_action
from appliance.store.tables.power_offs import (
    Manner,
    PowerOffRow,
    count_power_offs_since,
    delete_power_off,
    insert_power_off,
    select_power_offs,
    update_power_off_back,
    update_power_off_left,
)
from appliance.store.tables.steps import StepRow

_WAKE_MARGIN_S = 60
"""From the alarm's arming to the waking, where the plan and a rehearsal say nothing: power goes a
few seconds after it."""

_SWITCHES = N_("its power-off switches")


class TooManyPowerActionsError(KaltstartError):
    """The campaign may not switch the machine off again: it pauses, the step can go on."""

    exit_code = 4


@dataclass(frozen=True, slots=True)
class StepPower:
    """What may be done with the machine's power for one step on one drive."""

    context: CampaignContext
    step: StepRow
    drive: Drive
    drive_id: int
    noted: AskedIdentity | None
    """What the drive answered when it was released; None where it did not."""
    hand: DriveThread
    """Where the drive is asked, and written to."""

    def settle(self, part: str) -> bool:
        """Whether the power was off before `part`; judges it where this is the start after it."""
        row = self._select(part)
        if row is None or row.left_at is None:
            return False
        if row.back_at is not None:
            return True
        if row.boot_id == self.context.this_boot.boot_id:
            return False  # it was asked to go and did not
        self._judge(row)
        return True

    def leave_before(self, part: str, *, write_last: Callable[[], None]) -> None:
        """Switch off, and do not return; return where a person stops it.

        `write_last` is done when nothing more is stored. Raises TooManyPowerActionsError.
        """
        campaign = load_campaign(self.context, self.step.campaign_id)
        if campaign.power_actions >= campaign.max_power_actions:
            raise TooManyPowerActionsError(
                Phrase(
                    N_("{count} restarts are the limit of this campaign"),
                    count=campaign.power_actions,
                )
            )
        uncounted = describe_uncounted(self.context.connection, campaign, self.context.host)
        if uncounted and self.context.host.power.can_wake():
            raise TooManyPowerActionsError(uncounted)
        before = self._read_power_cycles().count
        switches = self.hand.do(partial(prevent_stop, self.drive), _SWITCHES)
        try:
            is_leaving = self._leave(campaign, part, write_last, switches, cycles_before=before)
        except BaseException:
            # The machine stays on: what is done on it next must be flushed and stopped as ever.
            self._take_back(switches)
            raise
        if is_leaving:
            self.context.host.power.wait_for_the_end()
        self._take_back(switches)

    def _leave(
        self,
        campaign: CampaignRow,
        part: str,
        write_last: Callable[[], None],
        switches: FlushSwitches | None,
        *,
        cycles_before: int | None,
    ) -> bool:
        """Ask for the power to go; False where a person stops it."""
        context, connection = self.context, self.context.connection
        manner: Manner = "abrupt" if switches else "orderly"
        with transaction(connection):
            power_off_id = insert_power_off(
                connection,
                step_id=self.step.id,
                drive_id=self.drive_id,
                part=part,
                manner=manner,
                boot_id=context.this_boot.boot_id,
                power_cycles_before=cycles_before,
            )
            count_power_action(connection, campaign.id)
            record_step(self.context, self.step, "step-power-off", part=part, what=manner)
        then = Phrase(N_("power off, then {part} of {device}"), part=part, device=self.step.device)
        if context.countdown("power-off", then, COUNTDOWN_S):
            self.take_back(part)
            return False
        # Before the alarm: its second tells the count (`power`).
        note_power_action(connection, context.host)
        if campaign.power_on_by != "people":
            self._arm_alarm(int(campaign.wake_margin_s or _WAKE_MARGIN_S))
        with transaction(connection):
            update_power_off_left(connection, power_off_id)
        if context.is_stopped():
            self.take_back(part)
            try:
                context.host.power.clear_alarm()
            except (KaltstartError, OSError) as error:
                # A person has stopped it: no drive fails for a clock that keeps its alarm.
                record(context, "not-disarmed", what=str(error), level="warning")
            return False
        # Nothing can be reported, nor asked for: the database is closed by then.
        last = partial(self._write_last, write_last)
        with self.hand.unheard():
            leave(context, partial(_go, context.host.power, last, switches, self.hand))
        return True

    def _take_back(self, switches: FlushSwitches | None) -> None:
        if switches:
            with suppress(DriveSilentError):  # it is put right at the next start, by its note
                self.hand.do(switches.take_back, _SWITCHES, must=True)

    def _read_power_cycles(self) -> PowerCycles:
        asking = partial(self.context.host.drives.read_power_cycles, self.drive)
        return self.hand.do(asking, N_("reading its power-cycle count"))

    def take_back(self, part: str) -> None:
        """It did not happen, or does not count: the next one is the first."""
        with transaction(self.context.connection):
            delete_power_off(self.context.connection, self.step.id, part)

    def _write_last(self, write_last: Callable[[], None]) -> None:
        """A countdown lies behind the unlocking: the drive is asked again who it is."""
        ask_again(self.drive, self.noted, ask=self.context.host.drives.ask_identity)
        write_last()

    def _select(self, part: str) -> PowerOffRow | None:
        rows = select_power_offs(self.context.connection, self.step.id)
        return next((row for row in rows if row.part == part), None)

    def _judge(self, row: PowerOffRow) -> None:
        connection = self.context.connection
        after = self._read_power_cycles()
        # What counts is compared; where the count came from is the same as before.
        before = PowerCycles(row.power_cycles_before, reason=N_("no count was read before it"))
        proof = judge_coldness(
            before,
            after,
            power="cold",
            boot_id_changed=True,
            # Of drives beside each other each has its own, before any of them is read.
            power_offs=count_power_offs_since(
                connection, row, this_boot=self.context.this_boot.boot_id
            ),
        )
        with transaction(connection):
            update_power_off_back(
                connection,
                row.id,
                power_cycles_after=after.count,
                cold_proof=proof.proof,
                cold_reason=proof.reason,
            )
            record_step(
                self.context,
                self.step,
                "step-power-on",
                part=row.part,
                proof=proof.proof,
                what=proof.reason,
            )

    def _arm_alarm(self, margin_s: int) -> None:
        power = self.context.host.power
        if not power.can_wake():
            return
        try:
            power.arm_alarm(margin_s)
        except (StepFailedError, OSError) as error:
            record_step(self.context, self.step, "no-alarm", what=str(error), level="warning")


def count_planned_starts(
    rows: tuple[PowerOffRow, ...], finished: Collection[str], *, boot_id: str
) -> int:
    """How many starts of a step since its last finished part were the end of its power-offs. Pure.

    At most one for each part: a try that led nowhere leaves no row.
    """
    return sum(
        row.left_at is not None and row.boot_id != boot_id and row.part not in finished
        for row in rows
    )


def describe_power_offs(rows: tuple[PowerOffRow, ...]) -> str:
    """What the last power-off of a step means for what is read after it; empty before one."""
    settled = [row for row in rows if row.back_at is not None]
    if not settled:
        return ""
    last = settled[-1]
    if last.cold_proof == "proven":
        return f"power-cycled, {last.manner}"
    return f"power-off {last.cold_proof}, {last.manner}: {last.cold_reason}"


def _go(
    power: Power, write_last: Callable[[], None], switches: FlushSwitches | None, hand: DriveThread
) -> None:
    """The stick is released: nothing can be stored any more.

    If the drive does not accept the last write, the machine stays on and the step starts over.
    """

    def write_and_fall_silent() -> None:
        write_last()
        if switches:
            switches.suppress_flush()

    last = partial(hand.do, write_and_fall_silent, "the last write")
    power.cut_power(last, abrupt=switches is not None)

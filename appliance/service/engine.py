# SPDX-License-Identifier: Apache-2.0
"""The appliance's service: finds the stick, resumes interrupted campaigns, carries out requests.

Talks to people only through the database, /run/kaltstart and the console lines. A bug pauses the
campaign and never restarts the machine.
"""

import sqlite3
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from functools import partial
from pathlib import Path
from typing import NoReturn

from appliance import VERSION
from appliance.arrays.running import release_arrays
from appliance.caches.memory_limit import release_bounded
from appliance.campaign.boots.attempts import settle_armed
from appliance.campaign.boots.install import prepare
from appliance.campaign.boots.installed import find_returned, store_report
from appliance.campaign.boots.next_boot import Outcome, start_next_boot
from appliance.campaign.boots.pending_replay import import_pending_replay
from appliance.campaign.boots.rehearsal import begin_trial, continue_trial, end_trial, rehearse
from appliance.campaign.boots.replay import find_due_replay, measure_replay
from appliance.campaign.context import (
    CampaignContext,
    leave,
    load_campaign,
    pause,
    take_back_departure,
)
from appliance.campaign.drives.conditions import store_conditions, store_memory_errors
from appliance.campaign.drives.find import noted_identity
from appliance.campaign.drives.health import store_health
from appliance.campaign.drives.leftover_arrays import (
    dismantle_leftover,
    forget_overwritten_arrays,
)
from appliance.campaign.drives.traces import find_unknown_campaign
from appliance.campaign.drives.work import side_work
from appliance.campaign.finish import delete_report, finish, write_report_again
from appliance.campaign.host import Host
from appliance.campaign.log import record, refuse
from appliance.campaign.pending_pause import owe_pause, pay_pause, read_owed_pause
from appliance.campaign.requests.handlers import (
    HANDLERS,
    Accept,
    RequestContext,
    carry_out,
    name_stop,
)
from appliance.campaign.requests.machine import Machine
from appliance.campaign.resume import describe_absence, resume_campaign
from appliance.campaign.silent_drives import SilentDrives
from appliance.campaign.start import hash_plan, reasons_of, start_campaign
from appliance.campaign.start_records import (
    describe_lost_actions,
    find_earlier_start,
    find_lost_actions,
    forget_finished,
    is_start_remembered,
    note_power_action,
    note_start,
)
from appliance.campaign.states import next_cycle
from appliance.campaign.status import Status, write_status
from appliance.campaign.steps.attempt import StepPosition, StoppedByPersonError, hold_if_asked
from appliance.campaign.steps.queue import has_steps_left, run_steps
from appliance.campaign.stick_room import check_room
from appliance.campaign.verdicts import check_policy
from appliance.drives.file_system import release_mounts
from appliance.drives.suppress_flush import restore_flush
from appliance.errors import (
    KaltstartError,
    RecoverableStickError,
    RefusedError,
    StepFailedError,
    StickError,
    describe_bug,
)
from appliance.kinds import load_all
from appliance.phrases import N_, Phrase, begin_sentence, join_phrases
from appliance.plan.read import parse_plan
from appliance.progress import ignore_progress
from appliance.run import run
from appliance.service.database_wait import DatabaseWait
from appliance.service.drive_guard import MachineDrives, close_guard_without_stick
from appliance.service.drive_watch import DriveList
from appliance.service.import_campaigns import import_campaigns
from appliance.service.locate import SECONDS, blinking
from appliance.service.open_stick import close_stick, open_stick, show_trouble
from appliance.service.screen import Screen
from appliance.service.stick_plan import check_stick_plan_again, find_stick_plan
from appliance.service.stick_wait import PULLED, AwaitedStick
from appliance.service.support import store_crash
from appliance.stick.partitions import Stick, check_not_upgraded
from appliance.stick.root_device import keep_in_ram
from appliance.store.connect import (
    GuardedConnection,
    impatient,
    telling_stick_trouble,
    transaction,
)
from appliance.store.tables.boots import select_cycles
from appliance.store.tables.campaigns import (
    CampaignRow,
    count_power_action,
    select_campaign_drives,
    select_unfinished_campaign,
    select_unreported_campaign,
)
from appliance.store.tables.pause_and_skip import is_pause_asked
from appliance.store.tables.requests import Request, select_new_requests, select_request
from appliance.store.tables.wake_trials import select_trial_under_way
from appliance.units import printable

_AUTOSTART_S = 10
_POLL_S = 0.25
_HEARTBEAT_S = 5
_NEVER_BEGAN = N_("its start was interrupted before it began: resume it to let it run")
_LEFT = N_("releasing what an earlier engine left behind")
_HAVE_ONE = frozenset({"tty1", "ttyS0"})
"""Terminals whose interface systemd starts, in any machine."""


def serve(drives: DriveList, host: Host) -> None:
    """Run until power goes, also past a stick that is pulled out and put back.

    Raises only on a bug, after pausing the campaign, and StickError.
    """
    status = Status(firmware=host.this_boot.firmware, can_wake=host.power.can_wake())
    with suppress(OSError):  # /run may be full; what is armed is still to be settled
        write_status(status, host.run)
    start_interfaces(host)
    awaited = AwaitedStick(host)
    wait = DatabaseWait(status, host)
    is_first = True
    while True:
        try:
            stick, connection = open_stick(host, check=awaited.check_database, is_over=wait.is_over)
        except KaltstartError as error:
            show_trouble(status, host, error)
            drives.all_found(None)
            with suppress(KaltstartError):
                close_guard_without_stick(host)
            _switch_off_if_asked(wait, awaited, host)
        else:
            status.error = None
            awaited.note(stick)
            drives.all_found(stick)
            appliance = Appliance(
                status,
                stick,
                connection,
                drives,
                host,
                awaited=awaited,
                wait=wait,
                is_back=not is_first,
            )
            is_first = False
            _work_until_gone(appliance)
            drives.all_found(None)
        # The list of drives stays alive meanwhile.
        if not awaited.wait(partial(show_trouble, status, host)):
            host.power.wait_for_the_end()


def _work_until_gone(appliance: "Appliance") -> None:
    """Returns only where the stick was pulled out; whatever else ends the work is raised."""
    try:
        with telling_stick_trouble():
            appliance.work()
    except Exception as error:
        # Whatever it led to, a stick that is gone explains it.
        if appliance.awaited.is_going():
            appliance.stop_for_trouble(loss := appliance.awaited.describe_loss())
            show_trouble(appliance.status, appliance.host, loss)
            close_stick(appliance.connection)
            return
        if isinstance(error, StickError):
            appliance.stop_for_trouble(error)
            show_trouble(appliance.status, appliance.host, error)
            _switch_off_if_asked(appliance.wait, appliance.awaited, appliance.host)
        else:
            appliance.pause_after_bug(error)
            store_crash(error)
        raise


def _switch_off_if_asked(wait: DatabaseWait, awaited: AwaitedStick, host: Host) -> None:
    """The power key has ended a wait for the database, so nothing more can be stored."""
    if wait.ends_in_power_off:
        awaited.switch_off()
        host.power.wait_for_the_end()


def _starts_automatically(campaign: CampaignRow) -> bool:
    """Whether its plan starts without the user too."""
    with suppress(KaltstartError):  # of an older version, it may not be valid any more
        return parse_plan(campaign.plan_toml).campaign.autostart
    return False


def start_interfaces(host: Host) -> None:
    """On the serial lines that this machine has beside the first one."""
    for console in host.find_consoles():
        name = Path(console).name
        if name not in _HAVE_ONE:
            with suppress(KaltstartError):
                run(["systemctl", "start", "--no-block", f"kaltstart-tui@{name}.service"])


class Appliance:
    """One run of the service on a usable stick."""

    def __init__(
        self,
        status: Status,
        stick: Stick,
        connection: sqlite3.Connection,
        drives: DriveList,
        host: Host,
        *,
        awaited: AwaitedStick | None = None,
        wait: DatabaseWait | None = None,
        is_back: bool = False,
    ) -> None:
        """`is_back`: the stick was pulled out in this boot, and nothing may start automatically."""
        self.status = status
        self.awaited = awaited or AwaitedStick(host)
        self.is_back = is_back
        self.drives = drives
        self.stick = stick
        self.connection = connection
        self.host = host
        self.this_boot = host.this_boot
        self.wait = wait or DatabaseWait(status, host)
        self.screen = Screen(
            status,
            connection,
            host,
            look=self.awaited.raise_if_gone,
            keyboards=self.wait.keyboards,
        )
        if isinstance(connection, GuardedConnection):
            connection.is_over = self.wait.is_over
        self.context = CampaignContext(
            connection,
            host,
            SilentDrives(host),
            countdown=self.screen.countdown,
            is_stopped=self.screen.is_stopped,
            tell=self.screen.waiting_progress(),
        )
        self._machine_drives = MachineDrives(self.context, stick, drives)
        self.machine = Machine(self.context, stick)
        self._beat_s = 0.0
        self._let_run_by_person: set[int] = set()
        """Campaigns that the user started or resumed in this boot."""

    def work(self) -> None:
        """Resume or start what is due, then answer requests for ever."""
        self._release_leftovers()
        self._machine_drives.close_guard()
        self.machine.restore_keyboard()
        forget_overwritten_arrays(self.context, self.host.drives.find())
        self._void_old_requests()
        self._machine_drives.note()
        self._note_wake()
        self.host.announce("ready", version=VERSION, firmware=self.this_boot.firmware)
        record(self, "ready", version=VERSION, firmware=self.this_boot.firmware)
        self.awaited.check_database(self.connection)  # of a new one it is the first line
        self._tidy_firmware()
        self._import_pending_replay()
        # What is on a stick that was pulled out may be of another machine's doing.
        if owed := read_owed_pause() or (PULLED if self.is_back else ""):
            self._pause_unfinished(owed)
            pay_pause()
        if self.is_back:
            record(self, "stick-back")
        campaign = select_unfinished_campaign(self.connection)
        self._continue_wake_trial(campaign)
        unreported = select_unreported_campaign(self.connection)
        if unreported is not None:
            with suppress(StoppedByPersonError):  # it is finished at the next start
                self._finish(unreported)
        if campaign is not None and campaign.state != "paused":
            self._resume_after_start(campaign)
            # Another one may have been put there meanwhile: it is shown, and does not start now.
            find_stick_plan(self.context, self.status, stick=self.stick)
        else:
            self._consider_plan(autostart=campaign is None and not self.is_back)
        while True:
            self.awaited.raise_if_gone()
            self._idle()
            self._answer_requests()
            self._obey_power_key()
            self._look_at_drives()
            self.host.clock.sleep(_POLL_S)

    def _import_pending_replay(self) -> None:
        """Before anything repeats its boot. A stick that does not accept it pauses the campaign."""
        try:
            import_pending_replay(self.context)
        except StickError as error:
            refuse(self, reasons_of(error))
            self._pause_unfinished(str(error))

    def _continue_wake_trial(self, campaign: CampaignRow | None) -> None:
        """Continue one that the user asked for. That of a campaign that does not resume is over."""
        trial = select_trial_under_way(self.connection)
        if trial is None or (
            campaign is not None and campaign.state != "paused" and trial.campaign_id == campaign.id
        ):
            return
        if trial.campaign_id is not None or self.is_back:
            end_trial(self.context, trial, "stopped")
            return
        try:
            with self.drives.quiet(self.context.tell):
                if continue_trial(self.context, trial) is Outcome.LEAVING:
                    self.host.power.wait_for_the_end()
        except StoppedByPersonError:
            end_trial(self.context, trial, "stopped")
        self._note_wake()

    def _note_wake(self) -> None:
        """What was learned, not what the kernel promises."""
        trial = self.machine.find_wake_trial()
        is_known = trial is not None and trial.result == "asleep"
        self.status.can_wake = self.host.power.can_wake() and not is_known
        self.machine.publish()

    def try_wake(self, accept: Accept) -> None:
        """Whether the machine wakes by its clock: for a person."""
        if not self.host.power.can_wake():
            raise RefusedError(N_("this machine has no clock with an alarm"))
        accept(N_("the machine restarts, and is then switched off once to see whether it wakes"))
        if begin_trial(self.context, None) is Outcome.LEAVING:
            self.host.power.wait_for_the_end()

    def _look_at_drives(self) -> None:
        """What was plugged in or out while nothing runs."""
        if self._machine_drives.note():
            self._machine_drives.close_guard_of_copies()
            check_stick_plan_again(self.status, host=self.host, stick=self.stick)

    def _tidy_firmware(self) -> None:
        """What earlier starts have left: an alarm, a drive's boot entry, the note of a campaign."""
        power = self.host.power
        for tidy in (
            power.clear_alarm,
            partial(power.hand_over_set, ""),
            power.remove_boot_option,
            partial(forget_finished, self.connection),
        ):
            try:
                tidy()
            except (StepFailedError, OSError) as error:
                self._warn("not-disarmed", what=str(error))

    def _release_leftovers(self) -> None:
        """What an engine that crashed in this very boot has left behind."""
        try:
            with side_work(self.host, N_("what was left behind"), tell=ignore_progress) as hand:
                for folder in hand.do(restore_flush, _LEFT):
                    self._warn("switches-released", what=folder)
                if hand.do(self.host.release_ballast, _LEFT):
                    record(self, "ballast-released")
                hand.do(release_bounded, _LEFT)
                hand.do(release_mounts, _LEFT)
                hand.do(partial(release_arrays, tell=ignore_progress), _LEFT)
        except KaltstartError as error:
            record(self, "not-released", what=str(error), level="error")

    def _warn(self, event: str, **fields: object) -> None:
        record(self, event, campaign_id=None, level="warning", **fields)

    # What people see

    def _idle(self) -> None:
        if self.status.phase != "idle":
            self.screen.show("idle", N_("Ready"), campaign_id=None)
        elif self.host.clock.monotonic_s() - self._beat_s >= _HEARTBEAT_S:
            self._beat_s = self.host.clock.monotonic_s()
            write_status(self.status, self.host.run)
            self.machine.publish()

    # Campaigns

    def _resume_after_start(self, campaign: CampaignRow) -> None:
        self.status.campaign_id = campaign.id
        if waits := self._explain_wait(campaign):
            pause(self.context, campaign.id, waits)
            return
        # Counted before it happens: from here on a panic may restart the machine, and what resets
        # it without one, as a drive that is read may, is counted too.
        count_power_action(self.connection, campaign.id)
        try:
            self._measure_if_due(campaign)
            settle_armed(self.context, campaign.id)
        except StoppedByPersonError as error:
            pause(self.context, campaign.id, error.reason)
            return
        except KaltstartError as error:
            # The same at each later start: the user must see it, and get an answer.
            self._pause_for(campaign.id, error)
            return
        if uncounted := self._explain_restarts(campaign):
            pause(self.context, campaign.id, uncounted)
            return
        note_power_action(self.connection, self.host)
        if absence := describe_absence(
            self.connection, campaign.id, boot_id=self.this_boot.boot_id
        ):
            pause(self.context, campaign.id, absence)
            return
        boots_left = next_cycle(select_cycles(self.connection, campaign.id)) is not None
        works_here = not boots_left and has_steps_left(self.context, campaign.id)
        counts_down = works_here or campaign.state == "preparing"
        if is_pause_asked(self.connection, campaign.id):
            counts_down = False  # it pauses before it does anything
        if counts_down and self.screen.countdown(
            "resume", Phrase(N_("go on with campaign {number}"), number=campaign.id), _AUTOSTART_S
        ):
            pause(self.context, campaign.id, name_stop(self.connection, campaign.id))
            return
        self._run_campaign(campaign.id)

    def _explain_wait(self, campaign: CampaignRow) -> str:
        """Why one that was stored, and never let run, waits for a person; or empty."""
        if campaign.state != "preparing" or campaign.power_actions:
            return ""  # `_run_anew` counts before anything else
        if not _starts_automatically(campaign):
            return _NEVER_BEGAN
        try:
            self._note_start(campaign.plan_toml)
        except StickError as error:
            return str(error)
        return ""

    def _explain_restarts(self, campaign: CampaignRow) -> str:
        """Why none may follow: they are too many, or the stick forgets them; or empty."""
        if campaign.power_actions >= campaign.max_power_actions:
            return N_("too many restarts; something makes the machine restart")
        lost = find_lost_actions(campaign, self.host)
        return describe_lost_actions(lost) if lost else ""

    def _measure_if_due(self, campaign: CampaignRow) -> None:
        """Before anything else is done with a drive. Raises StickError, StoppedByPersonError."""
        campaign_id = campaign.id
        if returned := find_returned(self.context, campaign_id):
            # At the limit too: it is stored before a drive is asked, which may reset the machine.
            with self.drives.quiet(self.context.tell) as late:
                self._machine_drives.record_late(late, campaign_id)
                store_report(self.context, campaign_id, returned)
            return
        cycle = find_due_replay(self.context, campaign_id)
        if cycle is None or campaign.power_actions >= campaign.max_power_actions:
            return
        self.screen.show("running", N_("Replaying reads"), campaign_id=campaign_id)
        with self.drives.quiet(self.context.tell) as late:
            self._machine_drives.record_late(late, campaign_id)
            measure_replay(self.context, campaign_id, cycle)

    def _run_campaign(self, campaign_id: int) -> None:
        """As far as it goes in this boot. Trouble on the way pauses it."""
        self.screen.show("running", N_("Campaign"), campaign_id=campaign_id)
        load_all("workload")
        keep_in_ram()  # a step drops what is not held there, and the stick may be pulled out
        try:
            self.host.power.restart_after_panic(wanted=self._may_restart(campaign_id))
            with self.drives.quiet(self.context.tell) as late:
                self._machine_drives.record_late(late, campaign_id)
                self._advance(campaign_id)
        except StoppedByPersonError as error:
            pause(self.context, campaign_id, error.reason)
        except KaltstartError as error:
            self._pause_for(campaign_id, error)
        finally:
            self.host.power.restart_after_panic(wanted=False)

    def _run_anew(self, campaign_id: int) -> None:
        """The same for one that a person, or its plan, lets run in this boot."""
        import_pending_replay(self.context)  # before its boot, or another one, is armed
        count_power_action(self.connection, campaign_id)
        note_power_action(self.connection, self.host)
        self._run_campaign(campaign_id)

    def _pause_for(self, campaign_id: int, error: KaltstartError) -> None:
        try:
            with telling_stick_trouble(), self._waiting_for(error):
                pause(self.context, campaign_id, str(error))
        except StickError as second:
            # Of two troubles with the stick the first one says more.
            raise (error if isinstance(error, StickError) else second) from second

    def _waiting_for(self, error: Exception) -> AbstractContextManager[None]:
        """For other programs that hold the database, unless that wait has already been in vain."""
        is_trouble = isinstance(error, StickError)
        return impatient(self.connection) if is_trouble else nullcontext()

    def _advance(self, campaign_id: int) -> None:
        hold_if_asked(self.context, campaign_id)
        if not self._machine_drives.any_needed_is_here(campaign_id):
            pause(self.context, campaign_id, N_("none of the campaign's drives is in this machine"))
            return
        self._machine_drives.close_guard(tell=self.context.tell)
        is_new = load_campaign(self.context, campaign_id).state == "preparing"
        is_known = not is_new or self._may_restart(campaign_id)
        # Before any drive is written; where only what is written ends a series of starts, after it.
        outcome = rehearse(self.context, campaign_id, may_restart=is_known)
        if outcome is Outcome.LEAVING:
            self.host.power.wait_for_the_end()
        if outcome is not None:
            self._note_wake()
            return
        if is_new:
            self.screen.show("preparing", N_("Reading the drives' health"), campaign_id=campaign_id)
            store_health(self.context, campaign_id, "before")
        store_conditions(
            self.context, campaign_id, fixed=self.machine.fixed, drives=self.host.drives.find()
        )
        if is_new:
            prepare(
                self.context, campaign_id, stick=self.stick, progress=self.screen.writing_progress()
            )
        if not is_known and self._writes_nothing(campaign_id):
            pause(
                self.context,
                campaign_id,
                N_("nothing but the stick would count its restarts here: resume it to let it run"),
            )
            return
        outcome = rehearse(self.context, campaign_id) or start_next_boot(self.context, campaign_id)
        if outcome is Outcome.LEAVING:
            self.host.power.wait_for_the_end()
        if outcome is Outcome.FINISHED:
            run_steps(self.context, campaign_id, stick=self.stick, show=self.screen.step_progress())
            self._finish(campaign_id)

    def _writes_nothing(self, campaign_id: int) -> bool:
        """Whether its boots leave no trace on a drive by which a later start would know it."""
        cycle = next_cycle(select_cycles(self.connection, campaign_id))
        return cycle is not None and not cycle.installs

    def _finish(self, campaign_id: int) -> None:
        self.screen.show("finishing", N_("Reading the drives' health"))
        store_health(self.context, campaign_id, "after")
        hold_if_asked(self.context, campaign_id)  # what is done can pause no more
        with transaction(self.connection):
            store_memory_errors(self.context, campaign_id)
        self.screen.show("finishing", N_("Writing the report"))
        stops: list[StoppedByPersonError] = []

        def wait() -> None:
            try:
                self.context.tell(N_("waiting for a command that writes reports"), 0, 0)
            except StoppedByPersonError as error:
                stops.append(error)
                raise RefusedError(error.reason) from error

        finish(self.context, campaign_id, wait=wait)
        if stops:
            raise stops[0]
        on_finish = load_campaign(self.context, campaign_id).on_finish
        if on_finish == "tui":
            return
        if on_finish == "reboot" and not self._may_restart(campaign_id):
            self._warn("no-restart")
            return
        try:
            self.host.power.clear_alarm()
        except (KaltstartError, OSError) as error:
            # The campaign is done whatever the clock does.
            self._warn("not-disarmed", what=str(error))
        action = self.host.power.power_off if on_finish == "poweroff" else self.host.power.reboot
        label = N_("power off") if on_finish == "poweroff" else N_("restart")
        if not self.screen.countdown(
            "power-off" if on_finish == "poweroff" else "reboot", label, _AUTOSTART_S
        ):
            count_power_action(self.connection, campaign_id)
            note_power_action(self.connection, self.host, ended=campaign_id)
            if self.screen.is_stopped():
                return
            leave(self.context, action)
            self.host.power.wait_for_the_end()

    def _may_restart(self, campaign_id: int) -> bool:
        """Whether a restart in this campaign cannot lead to a series of uncounted restarts.

        The user let it run in this boot, and would have to do so again; or it is known afterwards.
        """
        if campaign_id in self._let_run_by_person:
            return True
        campaign = load_campaign(self.context, campaign_id)
        return is_start_remembered(self.connection, campaign, self.host)

    def pause_after_bug(self, error: Exception) -> None:
        """The last thing a bug leaves behind: a campaign that does nothing automatically."""
        reason = describe_bug(error)
        try:
            self._pause_unfinished(reason)
        except Exception as second:  # noqa: BLE001  # the bug may be in the pausing itself
            owe_pause(reason)
            take_back_departure(self.host)
            self.host.announce("campaign-paused", reason=f"{reason}; then {second}")
        # Last: where /run is full, this fails too.
        with suppress(Exception):
            self.screen.show("idle", begin_sentence(reason))

    def stop_for_trouble(self, error: StickError) -> None:
        """Nothing happens automatically from here on, whatever the stick still accepts.

        What could not be taken back is added to the hint of `error`.
        """
        # Mostly it accepts nothing, which is the trouble itself: the pause is for when it does.
        try:
            with self._waiting_for(error):
                self._pause_unfinished(str(error))
        except Exception:  # noqa: BLE001  # whatever it is, nothing may go on automatically
            owe_pause(str(error))
        obstacles = take_back_departure(self.host)
        if obstacles:
            hint = Phrase(
                N_(
                    "the machine may start automatically, or from a drive ({what}): once "
                    "it is off, leave it without mains power until you want it on"
                ),
                what=join_phrases(obstacles),
            )
            error.hint = join_phrases((error.hint, hint))

    def _pause_unfinished(self, reason: str) -> None:
        campaign = select_unfinished_campaign(self.connection)
        if campaign is not None and campaign.state != "paused":
            pause(self.context, campaign.id, reason)

    # The plan on the stick

    def _consider_plan(self, *, autostart: bool) -> None:
        """Read plan.toml; start it after a countdown unless it was run or declined before.

        Not while a paused campaign waits for a person: its drives may be the plan's.
        """
        warning = check_policy(self.context)
        plan = find_stick_plan(self.context, self.status, stick=self.stick)
        if plan is None or plan.is_known or not autostart or not plan.autostart:
            return
        if not self._is_first_start(plan.toml):
            return
        start = Phrase(N_("start campaign {name}"), name=plan.name)
        text = join_phrases((start, warning))
        if self.screen.countdown("autostart", text, _AUTOSTART_S):
            if self.screen.is_power_key_pressed():
                return  # not now; nothing was said about the plan
            declined = hash_plan(plan.toml)
            record(self, "autostart-declined", plan=plan.name, plan_sha256=declined)
            self.status.plan["is_known"] = True
            return
        try:
            campaign_id = self._admit(plan.toml)
        except KaltstartError as error:
            if isinstance(error, StickError) and not isinstance(error, RecoverableStickError):
                raise  # it may be stored all the same, and is paused then
            refuse(self, reasons_of(error))
            return
        try:
            self._note_start(plan.toml)
        except StickError as error:
            # Nothing is written to a drive before the stick keeps that it was started.
            pause(self.context, campaign_id, str(error))
            return
        self._warn_of_room(campaign_id, plan.toml)
        self._run_anew(campaign_id)

    def _is_first_start(self, text: str) -> bool:
        """Whether nothing but the database could know of an earlier one; told where not."""
        try:
            earlier = find_earlier_start(hash_plan(text)) or find_unknown_campaign(
                self.connection, self.host, parse_plan(text), self.host.drives.find()
            )
        except KaltstartError as error:
            # A drive that went, or came a second time, since the plan was found good.
            refuse(self, reasons_of(error))
            return False
        if earlier:
            self._leave_to_person(earlier)
        return not earlier

    def _warn_of_room(self, campaign_id: int, text: str) -> str:
        """What may not fit on the stick, for a person; empty where all does."""
        warnings = check_room(parse_plan(text), self.host.drives.find()).warnings
        for warning in warnings:
            record(self, "stick-room", what=warning, campaign_id=campaign_id, level="warning")
        return join_phrases(warnings)

    def _note_start(self, text: str) -> None:
        """Outside the database too. Raises StickError; the firmware may have no room for it."""
        try:
            note_start(hash_plan(text))
        except StepFailedError as error:
            self._warn("not-noted", what=str(error))

    def _leave_to_person(self, said: str) -> None:
        """The plan can still be started with a key."""
        refuse(self, (said,))
        self.status.plan["is_known"] = True
        self.screen.show("idle", said, campaign_id=None)

    def _admit(self, text: str) -> int:
        """Store a new campaign, or raise PlanError or RefusedError with all reasons."""
        check_not_upgraded()
        campaign_id = start_campaign(
            self.connection, text, host=self.host, drives=self.host.drives.find(), stick=self.stick
        )
        with self._pausing_if_it_fails(campaign_id):
            self._tell_of_start(campaign_id, text)
        return campaign_id

    @contextmanager
    def _pausing_if_it_fails(self, campaign_id: int) -> Iterator[None]:
        """A campaign that is stored, and whose start is then refused, waits for a person."""
        try:
            yield
        except KaltstartError as error:
            self._pause_for(campaign_id, error)
            raise

    def _tell_of_start(self, campaign_id: int, text: str) -> None:
        if text == self.status.plan["toml"]:
            self.status.plan["is_known"] = True
        self.host.announce(
            "campaign-start", id=campaign_id, name=load_campaign(self.context, campaign_id).name
        )
        image = Phrase("Kaltstart {version}", version=VERSION)
        record(self, "campaign-start", what=image, campaign_id=campaign_id)
        self._warn_of_silence(campaign_id)

    def _warn_of_silence(self, campaign_id: int) -> None:
        """Of released drives that report no identity: one put in their place is not noticed."""
        in_doubt = {
            (drive.serial, drive.wwn) for drive in self.host.drives.find() if drive.serial_doubt
        }
        for row in select_campaign_drives(self.connection, campaign_id):
            if row.released and noted_identity(row) is None:
                record(
                    self,
                    "identity-unknown",
                    drive=row.name,
                    campaign_id=campaign_id,
                    level="warning" if (row.serial, row.wwn) in in_doubt else "info",
                )

    # Requests

    def _answer_requests(self) -> None:
        """Each as it is by then: the campaign that one lets run refuses what waits beside it."""
        for waiting in select_new_requests(self.connection):
            request = select_request(self.connection, waiting.id)
            if request is not None and request.state == "new":
                self._answer(request)

    def _void_old_requests(self) -> None:
        for request in select_new_requests(self.connection):
            handler = HANDLERS.get(request.kind)
            if handler and handler.outlives_a_start:
                self._answer(request)
            else:
                answering = RequestContext(self.connection, self.host, request)
                answering.decline(N_("the machine was restarted"), 3)

    def _answer(self, request: Request) -> None:
        """Carry out one request; the answer is stored before anything lengthy begins."""
        answering = RequestContext(self.connection, self.host, request, idle_engine=self)
        try:
            carry_out(answering)
        except KaltstartError as error:
            # Of the other requests it says that nothing can be stored, so no answer either.
            if isinstance(error, StickError) and not (
                isinstance(error, RecoverableStickError) or HANDLERS[request.kind].writes_files
            ):
                raise
            reasons = reasons_of(error)
            refuse(self, reasons)
            answering.decline("\n".join(reasons), error.exit_code)

    def start(self, plan_toml: str, accept: Accept) -> None:
        """A new campaign, as far as it goes in this boot."""
        campaign_id = self._admit(plan_toml)
        self._let_run_by_person.add(campaign_id)
        with suppress(StickError):  # a person starts it, and sees it start
            self._note_start(plan_toml)
        with self._pausing_if_it_fails(campaign_id):
            phrases = (
                Phrase(N_("campaign {number} started"), number=campaign_id),
                check_policy(self.context),
                self._warn_of_room(campaign_id, plan_toml),
            )
        self._run_accepted(campaign_id, join_phrases(phrases), accept)

    def resume(self, campaign_id: int, accept: Accept) -> None:
        """Let a paused one go on, as far as it goes in this boot."""
        check_not_upgraded()
        resume_campaign(self.context, campaign_id)
        self._let_run_by_person.add(campaign_id)
        answer = Phrase(N_("campaign {number} goes on"), number=campaign_id)
        self._run_accepted(campaign_id, answer, accept)

    def _run_accepted(self, campaign_id: int, said: str, accept: Accept) -> None:
        """Raises RefusedError if it is no longer waited for: nothing is written then."""
        try:
            accept(said)
        except RefusedError as error:
            pause(self.context, campaign_id, error.message)
            raise
        self._run_anew(campaign_id)

    def merge(self, file_name: str, accept: Accept) -> None:
        """Import the campaigns of another stick's database."""
        import_campaigns(self.context, self.screen, file_name, accept=accept)

    def upgrade(self, file_name: str, accept: Accept) -> None:
        """The stick; ends in a restart, or in words why not. A stop ends it while it is written."""
        from appliance.service.upgrade_stick import (  # noqa: PLC0415  # no start waits for it
            check_upgrade,
            upgrade_stick,
        )

        check_upgrade(self.context, self.stick, file_name)
        accept(N_("the new version is written beside this one; then the machine restarts"))
        self.screen.show("running", N_("Upgrading the stick"), campaign_id=None, work="upgrade")
        try:
            with self.drives.quiet(self.context.tell):
                upgrade_stick(self.host, self.stick, file_name, tell=self.context.tell)
        except StoppedByPersonError:
            outcome = N_("stopped; the stick starts as before")
            refuse(self, (outcome,))
        except StickError:
            raise
        except KaltstartError as error:
            outcome = str(error)
            refuse(self, (outcome,))
        else:
            record(self, "upgraded", what=f"{VERSION}: {printable(file_name)}")
            leave(self.context, self.host.power.reboot)
            self.host.power.wait_for_the_end()
        self.screen.show("idle", begin_sentence(outcome), campaign_id=None)

    def write_report_again(self, campaign_id: int) -> str:
        """Of a campaign that has ended; the answer."""
        return write_report_again(self.context, campaign_id)

    def delete_report(self, campaign_id: int) -> str:
        """From KALTSTART; the answer."""
        return delete_report(self.context, campaign_id)

    def switch_off(self, accept: Accept, *, restart: bool) -> NoReturn:
        """The machine, at once."""
        self.host.power.clear_alarm()
        accept(N_("switching off"))
        leave(self.context, self.host.power.reboot if restart else self.host.power.power_off)
        self.host.power.wait_for_the_end()

    def locate(self, device: str, identity: str, accept: Accept) -> None:
        """Let a drive's lights show where it is; any key ends it."""
        drives = [
            drive
            for drive in self.host.drives.find()
            if (drive.name, drive.identity) == (device, identity) and drive.size_bytes > 0
        ]
        if not drives:
            raise RefusedError(N_("this drive is no longer there, or has no medium"))
        accept(N_("its light blinks as it is read; its slot's light is on, if there is one"))
        # A hybrid may keep what was read: that must be known when it is measured afterwards.
        record(self, "located", drive=device, serial=identity, seconds=SECONDS)
        then = Phrase(N_("the light of {drive} blinks"), drive=printable(device))
        with blinking(drives[0]) as find_trouble:
            self.screen.countdown("light", then, SECONDS)
        if trouble := find_trouble():
            self._warn("not-located", drive=device, why=trouble)
        self.screen.show("idle", N_("Ready"), campaign_id=None)

    def _obey_power_key(self) -> None:
        """Switch off if the key was pressed. What was running has been stopped and stored."""
        if not self.screen.is_power_key_pressed():
            return
        record(self, "power-key")
        try:
            self.host.power.clear_alarm()
        except (KaltstartError, OSError) as error:
            self._warn("not-disarmed", what=str(error))
        leave(self.context, self.host.power.power_off)
        self.host.power.wait_for_the_end()

    def dismantle(self, set_uuid: str) -> None:
        """An array that was left behind."""
        self.screen.show("running", N_("Dismantling the array"), campaign_id=None, work="dismantle")
        progress = self.screen.step_progress()
        place = StepPosition(1, 1, "array", "array")
        try:
            with self.drives.quiet(self.context.tell):
                outcome = dismantle_leftover(
                    self.context,
                    set_uuid,
                    stick=self.stick,
                    tell=lambda label, done, total: progress(place, label, done, total),
                )
        except StoppedByPersonError:
            outcome = N_("stopped; it can be dismantled later")
        except StickError:
            raise
        except KaltstartError as error:
            outcome = Phrase(N_("the array cannot be dismantled: {what}"), what=str(error))
            refuse(self, (outcome,))
        record(self, "take-apart", what=outcome)
        self.screen.show("idle", begin_sentence(outcome), campaign_id=None)

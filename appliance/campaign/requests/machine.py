# SPDX-License-Identifier: Apache-2.0
"""The machine's facts for the interface (/run/kaltstart/machine.json), and its settings.

Only the engine's idle moments are used: while a campaign runs, nothing here is read or set.
"""

import platform
import re
import sqlite3
import time
from dataclasses import asdict
from pathlib import Path

from appliance import VERSION
from appliance.campaign.context import CampaignContext
from appliance.campaign.log import record
from appliance.campaign.status import write_json
from appliance.errors import KaltstartError, PlanError, RefusedError
from appliance.machine.clock import parse_time, set_time
from appliance.machine.facts import (
    FixedFacts,
    MachineFacts,
    StickPlace,
    parse_versions,
    read_fixed,
    read_machine,
)
from appliance.machine.keyboard import BUILT_IN, LAYOUTS, load_layout, restore_layout, store_layout
from appliance.machine.language import (
    LANGUAGES,
    check_language,
    read_stored_language,
    store_language,
)
from appliance.phrases import N_, Phrase
from appliance.run import run
from appliance.stick.partitions import DATA, FAT, Stick
from appliance.store.connect import SCHEMA_VERSION
from appliance.store.tables.events import select_campaign_at_work
from appliance.store.tables.wake_trials import WakeTrialRow, select_known_trial
from appliance.sysfs import read_text

_VERSIONS = Path("/usr/share/kaltstart/versions")
_SHOWN = ("result", "skew_s", "counted", "moved", "ended_at")
"""What the interface shows of a wake trial."""
_TERMINAL = re.compile(r"tty[A-Z]*[0-9]+")


class Machine:
    """One machine with one stick in it."""

    def __init__(self, context: CampaignContext, stick: Stick) -> None:
        self._site = context
        self._place = StickPlace(
            disk=Path(stick.drive.path).name,
            data_partition=Path(stick.data_path).name,
            data=DATA,
            fat=FAT,
            model=stick.drive.model,
            serial=stick.drive.identity,
        )
        self._keyboard = BUILT_IN
        self._language = read_stored_language()
        self._fixed = read_fixed(
            firmware=context.this_boot.firmware,
            versions={
                "Kaltstart": VERSION,
                "database schema": str(SCHEMA_VERSION),
                "Python": platform.python_version(),
                "SQLite": sqlite3.sqlite_version,
                **parse_versions(read_text(_VERSIONS)),
            },
        )
        self._published: tuple[MachineFacts, WakeTrialRow | None] | None = None

    @property
    def fixed(self) -> FixedFacts:
        """What stays as it is in this boot."""
        return self._fixed

    def restore_keyboard(self) -> None:
        """The kept layout; where it cannot be loaded the kernel's own stays, and that is noted."""
        try:
            self._keyboard = restore_layout()
        except (KaltstartError, OSError) as error:
            # A stick that fails does not even let its programs be started.
            record(
                self._site, "keyboard-not-loaded", layout=BUILT_IN, what=str(error), level="warning"
            )

    def publish(self) -> None:
        """What is known of it now, where that is new."""
        facts = read_machine(self._place, keyboard=self._keyboard, language=self._language)
        trial = self.find_wake_trial()
        if (facts, trial) != self._published:
            self._published = facts, trial
            layouts = {name: layout.title for name, layout in LAYOUTS.items()}
            choices = {"layouts": layouts, "languages": LANGUAGES}
            wake = trial and {name: getattr(trial, name) for name in _SHOWN}
            write_json(
                self._site.host.run / "machine.json",
                asdict(self._fixed) | asdict(facts) | choices | {"wake": wake},
            )

    def find_wake_trial(self) -> WakeTrialRow | None:
        """What is known of whether it wakes by its clock."""
        return select_known_trial(self._site.connection, self._site.this_boot.machine)

    def set_time(self, text: str) -> str:
        """Raises RefusedError, StepFailedError, and PlanError where that is no time.

        Returns the answer.
        """
        try:
            to = parse_time(text)
        except ValueError as error:
            raise PlanError(
                Phrase(
                    N_("the request {kind} is malformed: {what}"),
                    kind="set-time",
                    what=error.args[0],
                )
            ) from error
        at_work = select_campaign_at_work(self._site.connection, self._site.this_boot.boot_id)
        if at_work is not None:
            raise RefusedError(
                Phrase(
                    N_(
                        "campaign {number} has begun to measure times since this start of the "
                        "machine"
                    ),
                    number=at_work,
                ),
                hint=N_(
                    "restart the machine and then set the time, or wait until the campaign is done"
                ),
            )
        before = time.strftime("%Y-%m-%d %H:%M", time.gmtime())
        set_time(to)
        sentence = N_("the time is {time} UTC now; it was {before}")
        answer = Phrase(sentence, time=f"{to:%Y-%m-%d %H:%M}", before=before)
        return self._note("set-time", answer)

    def set_keyboard(self, layout: str) -> str:
        """Raises RefusedError or StepFailedError. Returns the answer."""
        load_layout(layout)
        self._keyboard = layout
        try:
            store_layout(layout)
            answer: str = Phrase(
                N_("the keyboard is {layout}, now and at the next start"), layout=layout
            )
        except OSError as error:
            answer = Phrase(
                N_("the keyboard is {layout} until power-off; not kept: {error}"),
                layout=layout,
                error=error.strerror,
            )
        return self._note("set-keyboard", answer)

    def set_language(self, language: str) -> str:
        """Raises RefusedError. Returns the answer."""
        check_language(language)
        self._language = language
        try:
            store_language(language)
            answer: str = Phrase(
                N_("the language is {language}, now and at the next start"), language=language
            )
        except OSError as error:
            answer = Phrase(
                N_("the language is {language} until power-off; not kept: {error}"),
                language=language,
                error=error.strerror,
            )
        return self._note("set-language", answer)

    def open_shell(self, terminal: str) -> str:
        """On this terminal, in place of the interface, which comes back after it.

        Raises RefusedError or StepFailedError. Returns the answer.
        """
        if not _TERMINAL.fullmatch(terminal):
            raise RefusedError(
                Phrase(N_('"{terminal}" is not a terminal that can run a shell'), terminal=terminal)
            )
        run(["systemctl", "start", "--no-block", f"kaltstart-shell@{terminal}.service"])
        return self._note("shell", Phrase(N_("a shell on {terminal}"), terminal=terminal))

    def _note(self, event: str, said: str) -> str:
        record(self._site, event, what=said)
        self.publish()
        return said

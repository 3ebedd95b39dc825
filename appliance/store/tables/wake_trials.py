# SPDX-License-Identifier: Apache-2.0
"""Trials whether a machine wakes by its clock: the table `wake_trial`."""

import json
import sqlite3
from collections.abc import Mapping
from dataclasses import dataclass

from appliance.phrases import N_, Phrase
from appliance.store.clock import timestamp
from appliance.store.rows import read_row

NO_ALARM = N_("the machine does not wake from power-off: its clock accepts no alarm")


@dataclass(frozen=True, slots=True)
class WakeTrialRow:
    """One trial; for the columns see `schema.sql`."""

    id: int
    machine: str
    campaign_id: int | None
    boot_id: str
    restarted_at: str
    margin_s: float | None
    alarm_at: str | None
    counts_before: str
    result: str
    """Empty while it is under way; wakes | asleep | unclear | stopped"""
    skew_s: float | None
    counted: int
    moved: int
    ended_at: str | None

    def read_counts(self) -> dict[str, int]:
        """The drives' power-cycle counts before the power-off, by serial number and WWN."""
        try:
            counts = json.loads(self.counts_before)
        except ValueError:  # a text that the stick has spoilt
            return {}
        return counts if isinstance(counts, dict) else {}

    def describe(self) -> str:
        """What it has shown, for people."""
        skew_s = self.skew_s
        if self.result == "asleep" and skew_s is None:
            return NO_ALARM
        if skew_s is None:
            return N_("whether the machine wakes is not known: its clock does not tell")
        seconds = round(abs(skew_s))
        if self.result == "wakes":
            drives = N_("no drive counts power-ons")
            if self.counted:
                counted = N_("{moved} of {counted} drives counted a power-on")
                drives = Phrase(counted, moved=self.moved, counted=self.counted)
            awake = N_("the machine wakes from power-off, {seconds} s after its alarm; {drives}")
            return Phrase(awake, seconds=seconds, drives=drives)
        text = N_(
            "whether the machine wakes is not known: it was switched on {seconds} s before its "
            "alarm"
        )
        if self.result == "asleep":
            text = N_(
                "the machine does not wake from power-off: it was switched on {seconds} s after "
                "its alarm"
            )
        return Phrase(text, seconds=seconds)


def insert_wake_trial(
    connection: sqlite3.Connection, *, machine: str, campaign_id: int | None, boot_id: str
) -> None:
    """The restart it begins with is about to be asked for."""
    connection.execute(
        "INSERT INTO wake_trial (machine, campaign_id, boot_id, restarted_at) VALUES (?, ?, ?, ?)",
        (machine, campaign_id, boot_id, timestamp()),
    )


def select_trial_under_way(connection: sqlite3.Connection) -> WakeTrialRow | None:
    """The newest one without a result."""
    return _read(connection, "result = ''")


def select_wake_trial(connection: sqlite3.Connection, trial_id: int) -> WakeTrialRow:
    """The one with this id, which must be there."""
    trial = _read(connection, "id = ?", trial_id)
    if trial is None:
        raise AssertionError(f"there is no trial {trial_id}")
    return trial


def select_known_trial(
    connection: sqlite3.Connection, machine: str, campaign_id: int | None = None
) -> WakeTrialRow | None:
    """What is known of this machine; of one that tells no UUID, in this campaign alone."""
    return _read(
        connection,
        "result IN ('wakes', 'asleep') AND machine = ? AND (machine <> '' OR campaign_id IS ?)",
        machine,
        campaign_id,
    )


def update_trial_off(
    connection: sqlite3.Connection,
    trial_id: int,
    *,
    boot_id: str,
    margin_s: float,
    alarm_at: str,
    counts_before: Mapping[str, int],
) -> None:
    """The alarm is set, and power is about to be asked to go."""
    connection.execute(
        "UPDATE wake_trial SET boot_id = ?, margin_s = ?, alarm_at = ?, counts_before = ?"
        " WHERE id = ?",
        (boot_id, margin_s, alarm_at, json.dumps(dict(counts_before)), trial_id),
    )


def update_trial_ended(
    connection: sqlite3.Connection,
    trial_id: int,
    result: str,
    *,
    skew_s: float | None = None,
    counted: int = 0,
    moved: int = 0,
) -> None:
    """What it has shown."""
    connection.execute(
        "UPDATE wake_trial SET result = ?, skew_s = ?, counted = ?, moved = ?, ended_at = ?"
        " WHERE id = ?",
        (result, skew_s, counted, moved, timestamp(), trial_id),
    )


def _read(connection: sqlite3.Connection, wanted: str, *parameters: object) -> WakeTrialRow | None:
    query = f"SELECT * FROM wake_trial WHERE {wanted} ORDER BY id DESC LIMIT 1"
    return read_row(connection, WakeTrialRow, query, *parameters)

# SPDX-License-Identifier: Apache-2.0
"""Requests: how the interface asks and the engine answers. Only the table `request`.

The interface inserts with a connection it closes at once; the engine alone updates.
"""

import json
import sqlite3
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Self

from appliance.phrases import N_
from appliance.store.rows import insert_row, read_row, read_rows
from appliance.store.tables.events import insert_phrases

_COLUMNS = "id, kind, payload, state, answer, exit_code"


class Kind(StrEnum):
    """What can be asked for. How each is carried out: `appliance.campaign.requests.handlers`."""

    START = ("start", N_("Start"))
    RESUME = ("resume", N_("Resume"))
    STOP = ("stop", N_("Stop"))
    PAUSE = ("pause", N_("Pause"))
    KEEP_RUNNING = ("keep-running", N_("Resume"))
    PAUSE_DRIVE = ("pause-drive", N_("Pause"))
    RESUME_DRIVE = ("resume-drive", N_("Resume"))
    SKIP_STEP = ("skip-step", N_("Skipping"))
    SKIP_BOOTS = ("skip-boots", N_("Skipping"))
    WAKE_CHOICE = ("wake-choice", N_("Choice"))
    TRY_WAKE = ("try-wake", N_("Wake-up"))
    REPORT = ("report", N_("Report"))
    DELETE_REPORT = ("delete-report", N_("Deleting the report"))
    MERGE = ("merge", N_("Importing"))
    SAVE_PLAN = ("keep-plan", N_("Saving the plan"))
    DELETE_PLAN = ("delete-plan", N_("Deleting the plan"))
    DISMANTLE = ("take-apart", N_("Dismantling"))
    LOCATE = ("locate", N_("Light"))
    SET_TIME = ("set-time", N_("Setting the time"))
    SET_KEYBOARD = ("set-keyboard", N_("Keyboard"))
    SET_LANGUAGE = ("set-language", N_("Language"))
    SHELL = ("shell", N_("Shell"))
    UPGRADE = ("upgrade", N_("Upgrade"))
    POWER_OFF = ("poweroff", N_("Power off"))
    REBOOT = ("reboot", N_("Restart"))

    label: str
    """What people call it."""

    def __new__(cls, value: str, label: str) -> Self:
        """As it is stored, and for people."""
        kind = str.__new__(cls, value)
        kind._value_ = value
        kind.label = label
        return kind


@dataclass(frozen=True, slots=True)
class Request:
    """One request and, once `state` is no longer `new`, its answer."""

    id: int
    kind: str
    """A `Kind`, where this engine knows it."""
    payload: str
    """A JSON object."""
    state: str
    """new | accepted | refused"""
    answer: str
    exit_code: int | None

    def read_payload(self) -> dict[str, Any]:
        """The payload as a dict. Raises ValueError where it is not a JSON object."""
        try:
            value = json.loads(self.payload)
        except RecursionError as error:
            raise ValueError("the payload of a request is nested too deeply") from error
        if not isinstance(value, dict):
            raise ValueError("the payload of a request is not an object")  # one kind
        return value


def insert_request(
    connection: sqlite3.Connection, kind: str, payload: Mapping[str, Any], *, at: str, boot_id: str
) -> int:
    """Ask. Returns the request's id, by which `select_request` finds the answer."""
    return insert_row(
        connection, "request", at=at, boot_id=boot_id, kind=kind, payload=json.dumps(payload)
    )


def select_new_requests(connection: sqlite3.Connection) -> tuple[Request, ...]:
    """Unanswered requests, the oldest first."""
    query = f"SELECT {_COLUMNS} FROM request WHERE state = 'new' ORDER BY id"
    return tuple(read_rows(connection, Request, query))


def select_recent_requests(connection: sqlite3.Connection, *, limit: int) -> tuple[Request, ...]:
    """The last `limit` requests, answered or not, the newest first."""
    query = f"SELECT {_COLUMNS} FROM request ORDER BY id DESC LIMIT ?"
    return tuple(read_rows(connection, Request, query, limit))


def select_request(connection: sqlite3.Connection, request_id: int) -> Request | None:
    """One request, or None where there is no such row."""
    return read_row(connection, Request, f"SELECT {_COLUMNS} FROM request WHERE id = ?", request_id)


def update_request(
    connection: sqlite3.Connection, request_id: int, state: str, answer: str, exit_code: int | None
) -> bool:
    """Answer: `accepted` or `refused`, one line for people, and the exit code of contracts.md.

    What is answered already keeps its answer: False then.
    """
    # Before it: the interface may read, and show, the answer right after this statement.
    insert_phrases(connection, None, answer)
    answered = connection.execute(
        "UPDATE request SET state = ?, answer = ?, exit_code = ? WHERE id = ? AND state = 'new'",
        (state, answer, exit_code, request_id),
    )
    return answered.rowcount > 0

"""Requests: how the interface asks and the engine answers. Only the table `request`.

The interface inserts with a connection it closes at once; the engine alone updates.
"""

import json
import sqlite3
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

_COLUMNS = "id, at, boot_id, kind, payload, state, answer, exit_code"


@dataclass(frozen=True, slots=True)
class Request:
    """One request and, once `state` is no longer `new`, its answer."""

    id: int
    at: str
    boot_id: str
    kind: str
    """start | resume | stop | pause | keep-running | skip-step | skip-boots | report | merge
    | poweroff | reboot | take-apart | keep-plan | delete-plan | set-time | set-keyboard
    | set-language | shell"""
    payload: str
    """A JSON object."""
    state: str
    """new | accepted | refused"""
    answer: str
    exit_code: int | None

    def read_payload(self) -> dict[str, Any]:
        """The payload as a dict. Raises ValueError where it is not a JSON object."""
        value = json.loads(self.payload)
        if not isinstance(value, dict):
            raise ValueError("the payload of a request is not an object")  # one kind
        return value


def insert_request(
    connection: sqlite3.Connection, kind: str, payload: Mapping[str, Any], *, at: str, boot_id: str
) -> int:
    """Ask. Returns the request's id, by which `select_request` finds the answer."""
    cursor = connection.execute(
        "INSERT INTO request (at, boot_id, kind, payload) VALUES (?, ?, ?, ?)",
        (at, boot_id, kind, json.dumps(payload)),
    )
    if cursor.lastrowid is None:
        raise AssertionError("an INSERT always has a row id")
    return cursor.lastrowid


def select_new_requests(connection: sqlite3.Connection) -> tuple[Request, ...]:
    """Requests nobody has answered, the oldest first."""
    rows = connection.execute(f"SELECT {_COLUMNS} FROM request WHERE state = 'new' ORDER BY id")
    return tuple(Request(*row) for row in rows)


def select_recent_requests(connection: sqlite3.Connection, *, limit: int) -> tuple[Request, ...]:
    """The last `limit` requests, answered or not, the newest first."""
    rows = connection.execute(f"SELECT {_COLUMNS} FROM request ORDER BY id DESC LIMIT ?", (limit,))
    return tuple(Request(*row) for row in rows)


def select_request(connection: sqlite3.Connection, request_id: int) -> Request | None:
    """One request, or None where there is no such row."""
    row = connection.execute(
        f"SELECT {_COLUMNS} FROM request WHERE id = ?", (request_id,)
    ).fetchone()
    return None if row is None else Request(*row)


def update_request(
    connection: sqlite3.Connection, request_id: int, state: str, answer: str, exit_code: int | None
) -> None:
    """Answer: `accepted` or `refused`, one line for people, and the exit code of contracts.md."""
    connection.execute(
        "UPDATE request SET state = ?, answer = ?, exit_code = ? WHERE id = ?",
        (state, answer, exit_code, request_id),
    )

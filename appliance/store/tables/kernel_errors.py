# SPDX-License-Identifier: Apache-2.0
"""What the kernel reported of errors of a step's drives."""

import sqlite3
from collections.abc import Mapping
from dataclasses import dataclass

from appliance.samples.kernel_errors import KernelErrors
from appliance.store.checksums import sealing
from appliance.store.rows import read_rows


@dataclass(frozen=True, slots=True, kw_only=True)
class KernelErrorRow:
    """Of one drive in one step."""

    step_id: int
    drive_serial: str
    messages: int
    texts: str
    """The first few different ones, one per line."""
    complete: bool
    drive_wwn: str

    @property
    def errors(self) -> KernelErrors:
        """The same as it was before it was stored."""
        return KernelErrors(self.messages, tuple(self.texts.splitlines()), self.complete)


@dataclass(frozen=True, slots=True, kw_only=True)
class StepKernelErrorRow(KernelErrorRow):
    """With the kind of the step."""

    workload: str


def add_kernel_errors(
    connection: sqlite3.Connection, step_id: int, added: Mapping[int, KernelErrors]
) -> None:
    """Add what was reported to what is stored of the step; `added` is by the drives' rows."""
    if not added:
        return
    with sealing(connection, "kernel_error", f"s.step_id = {step_id:d}"):
        connection.executemany(
            """
            INSERT INTO kernel_error (step_id, drive_id, messages, texts, complete)
            VALUES (?, ?, ?, ?, ?)
            ON CONFLICT (step_id, drive_id) DO UPDATE SET
                messages = messages + excluded.messages,
                texts = iif(texts = '', excluded.texts, texts),
                complete = min(complete, excluded.complete)
            """,
            [
                (step_id, drive_id, errors.messages, "\n".join(errors.texts), errors.complete)
                for drive_id, errors in added.items()
            ],
        )


def select_kernel_errors(
    connection: sqlite3.Connection, campaign_id: int, drive_id: int
) -> tuple[StepKernelErrorRow, ...]:
    """Of a drive in all steps of a campaign, those of an array too, in their order."""
    query = """
        SELECT k.step_id, d.identity AS drive_serial, k.messages, k.texts, k.complete,
               d.wwn AS drive_wwn, t.kind AS workload
        FROM kernel_error k JOIN step t ON t.id = k.step_id JOIN drive d ON d.id = k.drive_id
        WHERE t.campaign_id = ? AND k.drive_id = ? ORDER BY t.position
        """
    return tuple(read_rows(connection, StepKernelErrorRow, query, campaign_id, drive_id))

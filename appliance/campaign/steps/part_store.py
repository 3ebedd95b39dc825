# SPDX-License-Identifier: Apache-2.0
"""Finished parts on their way into the database: short ones share a commit.

A commit costs the stick several flushes, however little is stored. So the parts that were finished
within two seconds, of whichever drives, are committed together. A power cut costs at most the parts
that wait, twenty seconds' work of each drive, and it is done again.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from sqlite3 import Connection, IntegrityError

from appliance.campaign.host import Clock
from appliance.errors import StickError
from appliance.store.connect import transaction

SHARED_S = 2.0
"""So long a finished part waits."""
LONG_S = 20.0
"""A part that took so long waits not at all: of twelve drives, a commit per second at most."""
MOST_PARTS = 64
"""So many wait at most."""


@dataclass(slots=True)
class PartStore:
    """The parts that wait, of all steps that run. For the thread that has the turn."""

    connection: Connection
    clock: Clock
    _inserts: list[Callable[[], None]] = field(default_factory=list)
    _keeps: dict[int, Callable[[], None]] = field(default_factory=dict)
    """By step: what brings the files of its last finished part onto the stick."""
    _due_s: float = 0.0
    _doubted: int = 0
    """How many of those that wait were in a commit that failed: it may have been made."""

    def add(
        self,
        step_id: int,
        insert: Callable[[], None],
        *,
        keep: Callable[[], None] | None,
        took_s: float,
    ) -> None:
        """A part was finished. `insert` stores its rows, within a transaction.

        `keep` comes before the commit; without one the part waits for no other. Raises StickError.
        """
        if not self._inserts:
            self._due_s = self.clock.monotonic_s() + SHARED_S
        self._inserts.append(insert)
        if keep is not None:
            self._keeps[step_id] = keep
        if keep is None or took_s >= LONG_S or len(self._inserts) >= MOST_PARTS:
            self.store()
        else:
            self.store_due()

    def store_due(self) -> None:
        """Commit what has waited for long enough. Raises StickError."""
        if self._inserts and self.clock.monotonic_s() >= self._due_s:
            self.store()

    def store(self) -> None:
        """Commit all that wait, in the order in which they were finished. Raises StickError."""
        if not self._inserts:
            return
        for keep in self._keeps.values():
            keep()
        try:
            self._commit()
        except IntegrityError:
            if not self._doubted:
                raise
            # The commit that failed was made: its parts, all or none, are there.
            del self._inserts[: self._doubted]
            self._doubted = 0
            self._commit()
        self._inserts.clear()
        self._keeps.clear()
        self._doubted = 0

    def _commit(self) -> None:
        try:
            with transaction(self.connection):
                for insert in self._inserts:
                    insert()
        except StickError:
            self._doubted = len(self._inserts)
            raise

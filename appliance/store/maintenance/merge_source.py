# SPDX-License-Identifier: Apache-2.0
"""Another stick's database as a source of campaigns: opened, checked, compared.

Reads only: neither that file nor this stick's database is ever changed here.
"""

import sqlite3
import sys
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from appliance.errors import LOCKED_HINT, ForeignDatabaseError, UnusableDatabaseError
from appliance.phrases import N_, Phrase
from appliance.store.connect import (
    SCHEMA_VERSION,
    GuardedConnection,
    find_header,
    is_busy,
    migrate,
)
from appliance.store.schema import APPLICATION_ID, find_difference, find_own_schema, select_schema
from appliance.store.schema_size import exceeds_schema
from appliance.units import printable

type Identity = tuple[str, str, str, str | None, int, int, str]
"""What a campaign is recognised by, on whichever stick.

When and of which plan it was made, its name, the boot id it began with; how many boots and figures
it has, and the boot id or time of the last of them: two clones of one stick go on separately.
"""

_OTHER_WAY_ROUND = N_(
    "import in the other direction, on the stick it is from, or use that stick's version of "
    "Kaltstart"
)
_COPY_AGAIN = N_("copy kaltstart.sqlite from the other stick's folder reports again")

_HELD = 3
"""Times its size that a merge takes of the memory at most: the copy, what is inserted, the rows."""

_NOT_OURS = N_("it is not a database of Kaltstart")

# The name and the plan may well be the same for ten campaigns, and a bench machine's clock may
# start at the same moment each time: only the boot id of the first event is unique. A clone of the
# stick has that too: then the boot ids of its samples tell, and when its figures were stored.
_IDENTITIES = """
    SELECT id, state, created_at, plan_sha256, name,
           (SELECT boot_id FROM event e WHERE e.campaign_id = c.id ORDER BY seq LIMIT 1) AS boot_id,
           (SELECT count(*) FROM boot_sample b JOIN cycle y ON y.id = b.cycle_id
            WHERE y.campaign_id = c.id) AS boots,
           (SELECT count(*) FROM result r JOIN step t ON t.id = r.step_id
            WHERE t.campaign_id = c.id) AS results,
           coalesce((SELECT b.boot_id FROM boot_sample b JOIN cycle y ON y.id = b.cycle_id
                     WHERE y.campaign_id = c.id ORDER BY y.position DESC LIMIT 1), '')
           || ' ' || coalesce((SELECT max(r.at) FROM result r JOIN step t ON t.id = r.step_id
                               WHERE t.campaign_id = c.id), '') AS last
    FROM campaign c ORDER BY id
"""

_MAX_VALUE_BYTES = 10 << 20
"""Of one text or row: far above what this program stores."""
_MAX_DEFINITIONS = 1000
_MAX_SCHEMA_BYTES = 1 << 20
"""Of all definitions: each of the two is some twenty times what this program makes."""
_LOOK_S = 20.0
_LOAD_S = 600.0
_EVERY_INSTRUCTIONS = 100_000


@dataclass(frozen=True, slots=True)
class CampaignThere:
    """One campaign of another stick's database."""

    id: int
    """Its number there."""
    name: str
    created_at: str


@dataclass(frozen=True, slots=True)
class Offer:
    """The campaigns of another stick's database, sorted by what a merge does with them."""

    new: tuple[CampaignThere, ...]
    """These are imported."""
    already_there: int
    """This stick has them."""
    unfinished: int
    """They stay where they can go on."""


def count_campaigns(source: Path) -> int:
    """How many campaigns are in `source`. Cheap. Raises UnusableDatabaseError, which says why."""
    with _opened(source) as other:
        return int(other.execute("SELECT count(*) FROM campaign").fetchone()[0])


def find_offer(source: Path, known: frozenset[Identity]) -> Offer:
    """What is in `source` for a stick that has the campaigns `known`.

    The file is not checked as a whole, as it is before anything is imported. Raises
    UnusableDatabaseError.
    """
    with _opened(source) as other:
        return compare(other, known)


def select_identities(connection: sqlite3.Connection) -> frozenset[Identity]:
    """Of all campaigns that this stick has."""
    return frozenset(_identify(row) for row in connection.execute(_IDENTITIES))


def compare(other: sqlite3.Connection, known: frozenset[Identity]) -> Offer:
    """The campaigns of `other`, sorted."""
    new: list[CampaignThere] = []
    already_there = unfinished = 0
    for row in other.execute(_IDENTITIES):
        if _is_here(row, known):
            already_there += 1
        elif row["state"] != "done":
            unfinished += 1
        else:
            new.append(CampaignThere(row["id"], row["name"], row["created_at"]))
    return Offer(tuple(new), already_there, unfinished)


def _is_here(row: sqlite3.Row, known: frozenset[Identity]) -> bool:
    """Whether nothing of this campaign is missing in one of those that are `known`."""
    there = _identify(row)
    if there in known:
        return True
    # One that is not done was copied on its way, and may have gone on here.
    return row["state"] != "done" and any(
        here[:4] == there[:4] and here[4] >= there[4] and here[5] >= there[5] for here in known
    )


def load(source: Path, *, room_bytes: int) -> sqlite3.Connection:
    """A copy of `source` in memory, at this program's schema version, checked to be sound.

    `room_bytes`: memory that may be taken for a merge. Raises UnusableDatabaseError.
    """
    memory = sqlite3.connect(":memory:", autocommit=True)
    memory.row_factory = sqlite3.Row
    _bound(memory, seconds=_LOAD_S)
    try:
        with _opened(source) as file:
            _check_room(file, source, room_bytes)
            file.backup(memory)
        with telling_unusable(source):
            _check_all(memory, source)
            migrate(memory, name=str(source))
    except BaseException:
        memory.close()
        raise
    return memory


@contextmanager
def telling_unusable(source: Path, *, hint: str = _COPY_AGAIN) -> Iterator[None]:
    """Around what reads `source`.

    Raises UnusableDatabaseError where SQLite has something against it.
    """
    try:
        yield
    except sqlite3.DatabaseError as error:
        advice = LOCKED_HINT if is_busy(error) else hint
        raise UnusableDatabaseError(printable(str(source)), str(error), hint=advice) from error


@contextmanager
def _opened(source: Path) -> Iterator[sqlite3.Connection]:
    """`source`, known to be one of ours of a version that is known here."""
    with telling_unusable(source):
        with suppress(OSError):  # SQLite reports it itself
            if exceeds_schema(
                source, max_definitions=_MAX_DEFINITIONS, max_bytes=_MAX_SCHEMA_BYTES
            ):
                raise _make_foreign(source, _NOT_OURS)
        uri = f"{source.absolute().as_uri()}?mode=ro"
        with closing(
            sqlite3.connect(uri, uri=True, autocommit=True, factory=GuardedConnection)
        ) as connection:
            connection.row_factory = sqlite3.Row
            _bound(connection, seconds=_LOOK_S)
            # An empty file passes for a new database everywhere else.
            header = find_header(connection)
            if header.application_id != APPLICATION_ID:
                raise _make_foreign(source, _NOT_OURS)
            version = header.version
            if version > SCHEMA_VERSION:
                raise _make_foreign(source, N_("a newer Kaltstart wrote it"), _OTHER_WAY_ROUND)
            # A view, a generated column or a check may go on for ever or fill the memory.
            if version < 1:
                raise _make_foreign(source, _NOT_OURS)
            if select_schema(connection) != find_own_schema(version):
                raise _make_foreign(source, *_explain_schema(connection, version))
            yield connection


def _explain_schema(connection: sqlite3.Connection, version: int) -> tuple[str, str]:
    """Why it is not that of the version, and what to do. The file is not read as a whole for it."""
    difference = find_difference(connection, version)
    if difference.changed or not difference.missing:
        return _NOT_OURS, _COPY_AGAIN
    return (
        N_("another Kaltstart wrote it, or it is damaged"),
        N_(
            "use the Kaltstart that wrote it, or copy kaltstart.sqlite from the other stick's "
            "folder reports again"
        ),
    )


def _bound(connection: sqlite3.Connection, *, seconds: float) -> None:
    """Nothing written into the file keeps its reader for longer, or fills the memory.

    What SQLite itself advises for files of others (sqlite.org/security.html).
    """
    connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, _MAX_VALUE_BYTES)
    connection.execute("PRAGMA trusted_schema = OFF")
    connection.execute("PRAGMA cell_size_check = ON")
    end_s = time.monotonic() + seconds
    connection.set_progress_handler(lambda: time.monotonic() > end_s, _EVERY_INSTRUCTIONS)


def _check_room(file: sqlite3.Connection, source: Path, room_bytes: int) -> None:
    pages, page_bytes = (
        file.execute(f"PRAGMA {what}").fetchone()[0] for what in ("page_count", "page_size")
    )
    needed = _HELD * pages * page_bytes
    if needed > room_bytes:
        raise UnusableDatabaseError(
            printable(str(source)),
            Phrase(
                N_("importing it needs {needed} MiB of memory, and {free} MiB are free"),
                needed=needed >> 20,
                free=room_bytes >> 20,
            ),
            hint=N_("import it on a machine with more memory"),
        )


def _check_all(memory: sqlite3.Connection, source: Path) -> None:
    problem = memory.execute("PRAGMA integrity_check(1)").fetchone()[0]
    if problem != "ok":
        raise _make_unusable(source, problem)
    if memory.execute("PRAGMA foreign_key_check").fetchone() is not None:
        raise _make_unusable(source, N_("rows point to rows that are missing"))
    for table, column in _list_real_columns(memory):
        # Infinite: SQLite has no other REAL that is no number.
        query = f"SELECT 1 FROM {table} WHERE abs({column}) > ?"
        if memory.execute(query, (sys.float_info.max,)).fetchone() is not None:
            raise _make_unusable(source, f"{table}.{column} is no number")


def _list_real_columns(memory: sqlite3.Connection) -> tuple[tuple[str, str], ...]:
    return tuple(
        memory.execute(
            """
            SELECT t.name, c.name FROM sqlite_schema t JOIN pragma_table_info(t.name) c
            WHERE t.type = 'table' AND c.type = 'REAL'
            """
        )
    )


def _make_unusable(source: Path, why: str) -> UnusableDatabaseError:
    return UnusableDatabaseError(printable(str(source)), why, hint=_COPY_AGAIN)


def _make_foreign(source: Path, why: str, hint: str = _COPY_AGAIN) -> ForeignDatabaseError:
    return ForeignDatabaseError(printable(str(source)), why, hint=hint)


def _identify(row: sqlite3.Row) -> Identity:
    return (
        row["created_at"],
        row["plan_sha256"],
        row["name"],
        row["boot_id"],
        row["boots"],
        row["results"],
        row["last"],
    )

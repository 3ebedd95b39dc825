# SPDX-License-Identifier: Apache-2.0
"""The SQL test's data and questions: a dump made from a seed, and the answers it must lead to.

Pure. The answers come from the generator's own sums and never from SQLite: a database that lost or
changed something cannot agree with itself here.
"""

import base64
import hashlib
import random
import struct
from array import array
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

DATA_VERSION = 1
"""Of everything below that a stored database depends on."""

_NUMBERS = struct.Struct(">IHI6s")
_NOTE_BYTES = 270
_NOTE_CHARS = 360
_RECORD_BYTES = _NUMBERS.size + _NOTE_BYTES
_ROW_BYTES = 404
"""About what one row takes in the dump."""
_BATCH_ROWS = 64
_BATCHES_IN_TRANSACTION = 256
_ROWS_OF_ACCOUNT = 100
_ROWS_OF_UPDATE = 200
_MIN_ROWS = 400
_REGIONS = 16
_DAYS = 365
_TOP = 3  # as in SELECTS
_ID_BITS = 40
_MAX_ID = (1 << _ID_BITS) - 1

SCHEMA = (
    "CREATE TABLE account (id INTEGER PRIMARY KEY, name TEXT NOT NULL, region INTEGER NOT NULL)",
    """CREATE TABLE entry (id INTEGER PRIMARY KEY, account INTEGER NOT NULL, day INTEGER NOT NULL,
    amount INTEGER NOT NULL, label TEXT NOT NULL, note TEXT NOT NULL)""".replace("\n", ""),
)
INDEXES = (
    "CREATE INDEX entry_account ON entry (account, day)",
    "CREATE INDEX entry_day ON entry (day, account)",
    "CREATE INDEX entry_label ON entry (label)",
)
# Touches every row in the table's order and no index: each page is read and written once.
WIDE_UPDATE = """
    UPDATE entry SET amount = amount * 3 + day, note = substr(note, 2) || substr(note, 1, 1)
"""
STRING_UPDATE = "UPDATE entry SET label = ?, note = ? WHERE id = ?"
# NOT INDEXED and CROSS JOIN keep the planner from walking the table by an index: reads stay in the
# table's order, so the time is the drive's and the sorter's and does not hang on statistics.
SELECTS = (
    """
    SELECT account.region, substr(entry.label, 1, 1) AS initial, count(*), sum(entry.amount),
           sum(length(entry.note)),
           sum(unicode(substr(entry.note, 1 + entry.day % length(entry.note), 1))),
           min(entry.label), max(entry.label)
    FROM entry NOT INDEXED CROSS JOIN account ON account.id = entry.account
    GROUP BY account.region, initial
    ORDER BY sum(entry.amount) DESC, account.region, initial
    """,
    """
    SELECT account.name, top.amount, top.id
    FROM (SELECT id, account, amount,
                 row_number() OVER (PARTITION BY account ORDER BY amount DESC, id) AS place
          FROM entry NOT INDEXED) AS top
         CROSS JOIN account ON account.id = top.account
    WHERE top.place <= 3
    ORDER BY account.name, top.place
    """,
    "SELECT day, count(*), min(account), max(account) FROM entry GROUP BY day ORDER BY day",
)


@dataclass(frozen=True, slots=True)
class Row:
    """One row of `entry` as the dump has it."""

    id: int
    account: int
    day: int
    amount: int
    label: str
    note: str


@dataclass(frozen=True, slots=True)
class SqlData:
    """The data of one seed."""

    seed: int
    rows: int

    @property
    def accounts(self) -> int:
        """How many rows `account` has."""
        return self.rows // _ROWS_OF_ACCOUNT + 1

    @property
    def updates(self) -> int:
        """How many rows `string_updates` changes."""
        return self.rows // _ROWS_OF_UPDATE

    def list_rows(self) -> Iterator[Sequence[Row]]:
        """All rows of `entry` in batches."""
        for batch, first in enumerate(range(0, self.rows, _BATCH_ROWS)):
            count = min(_BATCH_ROWS, self.rows - first)
            # A specified function: the same data for ever, and as good as incompressible.
            noise = _noise(self.seed, "rows", batch, count * _RECORD_BYTES)
            yield [
                self._row(first + place + 1, noise, place * _RECORD_BYTES) for place in range(count)
            ]

    def _row(self, number: int, noise: bytes, at: int) -> Row:
        account, day, amount, label = _NUMBERS.unpack_from(noise, at)
        return Row(
            id=number,
            account=account % self.accounts + 1,
            day=day % _DAYS,
            amount=amount % 1_000_000,
            label=_text(label),
            note=_text(noise[at + _NUMBERS.size : at + _RECORD_BYTES]),
        )

    def list_updates(self) -> Iterator[tuple[str, str, int]]:
        """The arguments of `STRING_UPDATE`: scattered rows, none twice."""
        for key in self.list_updated():
            yield *self.text_of_update(key), key

    def list_updated(self) -> Iterator[int]:
        """The ids of those rows."""
        # Python promises the same numbers for a seed from random() alone.
        numbers = random.Random(f"{self.seed}/updates")
        seen = _Bits(self.rows + 1)
        remaining = self.updates
        while remaining:
            key = int(numbers.random() * self.rows) + 1
            if key not in seen:
                seen.add(key)
                remaining -= 1
                yield key

    def text_of_update(self, key: int) -> tuple[str, str]:
        """What the label and the note of an updated row become."""
        noise = _noise(self.seed, "update", key, 6 + _NOTE_BYTES)
        return _text(noise[:6]), _text(noise[6:])


class _Bits:
    """A set of numbers below `count` that takes a bit for each, in it or not."""

    def __init__(self, count: int) -> None:
        self._bits = bytearray(count // 8 + 1)

    def __contains__(self, number: int) -> bool:
        return bool(self._bits[number >> 3] >> (number & 7) & 1)

    def add(self, number: int) -> None:
        """Put it in."""
        self._bits[number >> 3] |= 1 << (number & 7)


def data_of_size(size_bytes: int, seed: int) -> SqlData:
    """So many rows that their dump has about `size_bytes`."""
    return SqlData(seed=seed, rows=max(size_bytes // _ROW_BYTES, _MIN_ROWS))


def list_dump_lines(data: SqlData, answers: "Answers") -> Iterator[str]:
    """The dump, as `sqlite3 .dump` writes it: one statement a line, each with its newline.

    Several transactions, so that no flush waits long. `answers` gets every row on the way.
    """
    yield "PRAGMA foreign_keys=OFF;\n"
    yield "BEGIN TRANSACTION;\n"
    for statement in SCHEMA:
        yield f"{statement};\n"
    for first in range(1, data.accounts + 1, _BATCH_ROWS):
        numbers = range(first, min(first + _BATCH_ROWS, data.accounts + 1))
        values = ",".join(f"({n},'{_account_name(n)}',{_region(n)})" for n in numbers)
        yield f"INSERT INTO account VALUES{values};\n"
    for number, batch in enumerate(data.list_rows(), start=1):
        answers.add(batch)
        values = ",".join(
            f"({row.id},{row.account},{row.day},{row.amount},'{row.label}','{row.note}')"
            for row in batch
        )
        yield f"INSERT INTO entry VALUES{values};\n"
        if not number % _BATCHES_IN_TRANSACTION:
            yield "COMMIT;\n"
            yield "BEGIN TRANSACTION;\n"
    yield "PRAGMA user_version=1;\n"
    yield "COMMIT;\n"


class Answers:
    """What the selects must give after all updates, summed up without a database.

    Takes a thousandth of the data in RAM, and at the end three.
    """

    def __init__(self, data: SqlData) -> None:
        self._data = data
        self._updated = _Bits(data.rows + 1)
        for key in data.list_updated():
            self._updated.add(key)
        self._groups: dict[tuple[int, str], _Group] = {}
        # For each account its largest entries, largest first, packed: amount, then the lower id.
        self._top = array("Q", bytes(8 * _TOP * (data.accounts + 1)))
        self._days: dict[int, list[int]] = {}

    def add(self, rows: Iterable[Row]) -> None:
        """Rows as the dump has them; each once."""
        for row in rows:
            amount = row.amount * 3 + row.day
            # The wide update moves each note on by one; a string update comes after it.
            label, probe = row.label, row.note[(row.day + 1) % _NOTE_CHARS]
            if row.id in self._updated:
                label, note = self._data.text_of_update(row.id)
                probe = note[row.day % _NOTE_CHARS]
            key = (_region(row.account), label[0])
            group = self._groups.get(key)
            if group is None:
                group = self._groups[key] = _Group(label, label)
            group.count += 1
            group.amount += amount
            group.probe += ord(probe)
            group.low = min(group.low, label)
            group.high = max(group.high, label)
            self._keep_top(row.account, amount << _ID_BITS | (_MAX_ID - row.id))
            day = self._days.setdefault(row.day, [0, row.account, row.account])
            day[0] += 1
            day[1] = min(day[1], row.account)
            day[2] = max(day[2], row.account)

    def _keep_top(self, account: int, entry: int) -> None:
        first = account * _TOP
        for place in range(first, first + _TOP):
            if entry > self._top[place]:
                entry, self._top[place] = self._top[place], entry

    def checksum(self) -> str:
        """`checksum_rows` of what all `SELECTS` give, one after the other."""
        return checksum_rows(self._list_rows())

    def _list_rows(self) -> Iterator[Sequence[object]]:
        for (region, initial), group in sorted(
            self._groups.items(), key=lambda each: (-each[1].amount, each[0])
        ):
            length = group.count * _NOTE_CHARS
            yield (
                region,
                initial,
                group.count,
                group.amount,
                length,
                group.probe,
                group.low,
                group.high,
            )
        # Sorted by their names, each with its account below it.
        for named in sorted(
            _account_number(account) << 32 | account
            for account in range(1, self._data.accounts + 1)
        ):
            account = named & 0xFFFF_FFFF
            for entry in self._top[account * _TOP : (account + 1) * _TOP]:
                if entry:
                    yield _account_name(account), entry >> _ID_BITS, _MAX_ID - (entry & _MAX_ID)
        for day in sorted(self._days):
            yield day, *self._days[day]


@dataclass(slots=True)
class _Group:
    low: str
    high: str
    count: int = 0
    amount: int = 0
    probe: int = 0


def checksum_rows(rows: Iterable[Sequence[object]]) -> str:
    """SHA-256 over rows in their order, in hexadecimal."""
    total = hashlib.sha256()
    for row in rows:
        total.update("\t".join(map(str, row)).encode() + b"\n")
    return total.hexdigest()


def _noise(seed: int, what: str, number: int, count: int) -> bytes:
    return hashlib.shake_128(f"{seed}/{what}/{number}".encode()).digest(count)


def _text(noise: bytes) -> str:
    """Base64: no quotes to escape, and hardly to be compressed."""
    return base64.b64encode(noise).decode("ascii")


def _account_name(number: int) -> str:
    """Unique, and in no order: an odd factor only permutes 32-bit numbers."""
    return f"{_account_number(number):08x}"


def _account_number(number: int) -> int:
    return number * 2654435761 % (1 << 32)


def _region(account: int) -> int:
    return account * 7 % _REGIONS

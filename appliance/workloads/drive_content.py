# SPDX-License-Identifier: Apache-2.0
"""What a drive's medium holds: both its ends, and every signature.

It distinguishes a drive that was used since from one that is as a campaign left it. Reads past
all caches: after a disk was changed behind a bridge they still show the first one. Reads only.
"""

import json
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from typing import override

from appliance.drives.clear import Place, list_places
from appliance.drives.own_uuid import is_own
from appliance.errors import RefusedError, StepFailedError
from appliance.phrases import N_, Phrase
from appliance.run import run
from appliance.units import printable
from appliance.workloads.drive_ends import DriveEnds, read_ends

_GPT = frozenset({"gpt", "PMBR"})
"""Identified by its GUID, which wipefs does not print; PMBR is what precedes one."""


@dataclass(frozen=True, slots=True, order=True)
class Signature:
    """What libblkid knows: a file system, a member of an array, a partition table."""

    kind: str
    """libblkid's word."""
    uuid: str
    """Lower case; of a DOS table its number and a checksum of its entries; empty without one."""
    first_byte: int
    """On the drive."""
    in_partition: bool = False

    @override
    def __str__(self) -> str:
        uuid = f" {printable(self.uuid)}" if self.uuid else ""
        return f"{printable(self.kind)}{uuid} at byte {self.first_byte}"


@dataclass(frozen=True, slots=True, kw_only=True)
class DriveContent:
    """A drive's, at one moment."""

    sha256: str = ""
    """Of both ends; empty: not known."""
    tables: frozenset[str] = frozenset()
    """GUIDs of partition tables, lower case."""
    signatures: frozenset[Signature] = frozenset()
    making: frozenset[str] = frozenset()
    """UUIDs of tables and file systems that are being made since: each may be there or not."""
    filled: frozenset[str] = field(default=frozenset(), compare=False)
    """Those of `tables` that have partitions."""
    has_pattern: bool = field(default=False, compare=False)
    """Whether a verify wrote there."""


def read_content(path: str) -> DriveContent:
    """What lies on the drive at `path`. Raises StepFailedError where it cannot be read."""
    ends = read_ends(path)
    return make_content(ends, read_signatures(list_places(path), dos_table=ends.dos_table))


def make_content(ends: DriveEnds, signatures: Collection[Signature]) -> DriveContent:
    """Both together. Pure."""
    return DriveContent(
        sha256=ends.sha256,
        tables=ends.table_uuids,
        signatures=frozenset(signatures),
        filled=ends.filled,
        has_pattern=ends.has_pattern,
    )


def read_signatures(places: Sequence[Place], *, dos_table: str = "") -> tuple[Signature, ...]:
    """Those of a drive and of its partitions, but GPTs. Raises StepFailedError."""
    paths = [place.path for place in places]
    return parse_signatures(run(["wipefs", "--json", *paths]).stdout, places, dos_table=dos_table)


def parse_signatures(
    text: str, places: Sequence[Place], *, dos_table: str = ""
) -> tuple[Signature, ...]:
    """Out of wipefs' JSON, which is empty where it finds nothing. Pure. Raises StepFailedError."""
    if not text.strip():
        return ()
    by_name = {place.path.rpartition("/")[2]: place for place in places}
    try:
        signatures = [
            _parse_row(row, by_name[row["device"]], places[0], dos_table)
            for row in json.loads(text)["signatures"]
            if row["type"] not in _GPT
        ]
    except (KeyError, TypeError, ValueError) as error:
        raise StepFailedError(
            Phrase(N_("wipefs gave no usable list of signatures: {error}"), error=f"{error!r}")
        ) from error
    return tuple(sorted(set(signatures)))


def _parse_row(row: dict[str, str], place: Place, drive: Place, dos_table: str) -> Signature:
    uuid = str(row.get("uuid") or "").lower()
    in_partition = place is not drive
    if row["type"] == "dos" and not in_partition:
        uuid = dos_table
    first_byte = place.start_bytes + int(row["offset"], 0)
    return Signature(str(row["type"]), uuid, first_byte, in_partition)


def format_content(content: DriveContent) -> str:
    """As it is stored. Pure."""
    return json.dumps(
        {
            "sha256": content.sha256,
            "tables": sorted(content.tables),
            "signatures": [
                [signature.kind, signature.uuid, signature.first_byte, signature.in_partition]
                for signature in sorted(content.signatures)
            ],
            "making": sorted(content.making),
        }
    )


def parse_content(text: str | None) -> DriveContent | None:
    """What was stored; None where nothing was, or by a version that knew less. Pure.

    Raises RefusedError where the stick has spoilt it: nothing shows then whose content the drive
    carries.
    """
    # One bit that turned spoils one of the brackets.
    if text is None or not (text.startswith("{") or text.endswith("}")):
        return None
    try:
        stored = json.loads(text)
        return DriveContent(
            sha256=stored["sha256"],
            tables=frozenset(stored["tables"]),
            signatures=frozenset(Signature(*fields) for fields in stored["signatures"]),
            making=frozenset(stored["making"]),
        )
    except (ValueError, LookupError, TypeError) as error:
        raise RefusedError(
            N_("what the drive carried when it was released is damaged on the stick"),
            hint=N_("nothing was written; if it may be erased as it is now, start the plan again"),
        ) from error


def describe_change(found: DriveContent, noted: DriveContent) -> str:
    """In what it differs from what was noted; empty where it does not. Pure."""
    new = _describe_all(found.tables - noted.tables, found.signatures - noted.signatures)
    gone = _describe_all(noted.tables - found.tables, noted.signatures - found.signatures)
    changes = [f"it has {new} now"] if new else []
    changes += [f"{gone} is gone"] if gone else []
    if not changes and noted.sha256 and found.sha256 != noted.sha256:
        changes = ["its first or last sectors are others"]
    return " and ".join(changes)


def describe_foreign(found: DriveContent, known: DriveContent, own: Collection[str]) -> str:
    """What is there that was neither there before nor is of `own` UUIDs; empty without. Pure.

    `own` are tables and file systems; what is in the partitions of such a table is as well.
    """
    # Marks are empty tables: partitions were made in one.
    filled = {uuid for uuid in found.filled if is_own(uuid)}
    own_tables = set(own) - filled
    is_installed = any(uuid in own_tables for uuid in found.filled)
    return _describe_all(
        found.tables - (known.tables | own_tables) | filled,
        [
            signature
            for signature in found.signatures - known.signatures
            if signature.uuid not in own and not (is_installed and signature.in_partition)
        ],
    )


def _describe_all(tables: Collection[str], signatures: Collection[Signature]) -> str:
    phrases = [f"the partition table {uuid}" for uuid in sorted(tables)]
    return ", ".join([*phrases, *map(str, sorted(signatures))])

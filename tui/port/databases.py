# SPDX-License-Identifier: Apache-2.0
"""Databases of other sticks on KALTSTART: listed, with their content.

Reads only: the engine imports what is chosen.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from appliance.errors import StickError, UnusableDatabaseError
from appliance.store.maintenance.merge_source import count_campaigns, find_offer, select_identities
from tui.charset import one_line
from tui.language import N_, _
from tui.port.stored import opened
from tui.port.watch import tell

_SUFFIX = ".sqlite"
_SQLITE_SAYS = (
    *(N_("file is not a database"), N_("database disk image is malformed")),
    N_("unable to open database file"),
)
"""What it may have against a file; the store's own words are marked there."""


@dataclass(frozen=True, slots=True)
class FoundDatabase:
    """A file of KALTSTART that may be a database of another stick."""

    raw_name: str
    name: str
    size_bytes: int
    campaigns: int = 0
    problem: str = ""
    """Why it cannot be used; empty where nothing is known against it."""


@dataclass(frozen=True, slots=True)
class Offered:
    """What one of them has for this stick."""

    campaigns: tuple[tuple[str, str], ...]
    """When each that would be imported was made, and its name."""
    already_here: int
    unfinished: int
    """They stay on their stick."""


def find_files(folder: Path, suffix: str) -> Iterator[Path]:
    """Those of KALTSTART with that suffix, however another computer writes it. Raises OSError.

    FAT tells upper from lower case nowhere. Names that begin with a dot are what a Mac puts beside
    the files it copies.
    """
    for path in folder.iterdir():
        name = path.name
        if name.casefold().endswith(suffix) and not name.startswith(".") and path.is_file():
            yield path


def list_databases(folder: Path) -> tuple[FoundDatabase, ...]:
    """All in `folder`, none where there is no such folder. Raises StickError."""
    try:
        files = [(path.name, path.stat().st_size) for path in find_files(folder, _SUFFIX)]
    except FileNotFoundError:
        return ()
    except OSError as error:
        raise StickError(
            _("KALTSTART cannot be read: {reason}").format(reason=error.strerror)
        ) from error
    files.sort(key=lambda each: each[0].casefold())
    return tuple(_look_at(folder, name, size_bytes) for name, size_bytes in files)


def _look_at(folder: Path, name: str, size_bytes: int) -> FoundDatabase:
    label = one_line(name)
    try:
        count = count_campaigns(folder / name)
    except UnusableDatabaseError as error:
        return FoundDatabase(name, label, size_bytes, problem=tell(error.why))
    return FoundDatabase(name, label, size_bytes, campaigns=count)


def read_offer(folder: Path, name: str, *, own: Path) -> Offered:
    """What this file of `folder` has for a stick whose database is `own`. Raises StickError."""
    with opened(own, _("the database cannot be read: {reason}")) as connection:
        known = select_identities(connection)
    try:
        offer = find_offer(folder / name, known)
    except UnusableDatabaseError as error:
        text = _("KALTSTART: {name} cannot be used: {reason}")
        raise StickError(
            text.format(name=one_line(name), reason=tell(error.why)),
            hint=tell(error.what_to_do),
        ) from error
    return Offered(
        tuple((one_line(campaign.created_at), one_line(campaign.name)) for campaign in offer.new),
        offer.already_there,
        offer.unfinished,
    )

# SPDX-License-Identifier: Apache-2.0
"""Importing campaigns from another stick's database that was copied to KALTSTART.

The file is only read. What was imported, the answer to the request, and the event in the log are
one transaction: a power cut leaves all of it or nothing.
"""

from collections.abc import Callable
from pathlib import Path

from appliance.caches.ballast import read_memory
from appliance.campaign.context import CampaignContext
from appliance.campaign.log import record
from appliance.errors import RefusedError, UnusableDatabaseError
from appliance.phrases import N_, Phrase, join_phrases
from appliance.service.screen import Screen
from appliance.stick.partitions import FAT
from appliance.store.maintenance.merge import MergeCounts, merge_database
from appliance.units import printable

SUFFIX = ".sqlite"


def import_campaigns(
    context: CampaignContext, screen: Screen, file_name: str, *, accept: Callable[[str], None]
) -> None:
    """Import what is new in this file of KALTSTART, and store the answer with it.

    Raises RefusedError if there is no such database, UnusableDatabaseError if nothing can be
    imported from it, StickError if this stick does not accept it.
    """
    place = f"KALTSTART: {printable(file_name)}"
    if Path(file_name).name != file_name or not file_name.casefold().endswith(SUFFIX):
        raise RefusedError(
            Phrase(N_("{place} is not a database"), place=place),
            hint=Phrase(N_("its name must end in {suffix}"), suffix=SUFFIX),
        )

    def note(counts: MergeCounts) -> None:
        text = Phrase("{what} ({place})", what=describe_counts(counts), place=place)
        record(context, "merged", what=text)
        accept(text)

    screen.show("idle", N_("Importing campaigns"), campaign_id=None)
    try:
        room_bytes = read_memory("MemAvailable")
        merge_database(context.connection, FAT / file_name, room_bytes=room_bytes, note=note)
    except UnusableDatabaseError as error:
        raise UnusableDatabaseError(place, error.why, hint=error.what_to_do) from error
    finally:
        screen.show("idle", N_("Ready"), campaign_id=None)


def describe_counts(counts: MergeCounts) -> str:
    """What was imported, and what was not and why. Pure."""
    parts: list[str] = [N_("nothing imported")]
    if counts.campaigns:
        words = N_("{count} campaigns imported with {first} and {rest}")
        if counts.campaigns == 1:
            words = N_("{count} campaign imported with {first} and {rest}")
        imported = Phrase(
            words,
            count=counts.campaigns,
            first=_count(counts.boots, N_("{count} boot"), N_("{count} boots")),
            rest=_count(counts.results, N_("{count} result"), N_("{count} results")),
        )
        one = N_("{count} drive that was not known here")
        parts = [
            imported,
            _count(counts.drives, one, N_("{count} drives that were not known here")),
        ]
    if counts.damaged:
        one = N_("{count} row damaged and out of use")
        parts.append(_count(counts.damaged, one, N_("{count} rows damaged and out of use")))
    if counts.already_there:
        one = N_("{count} campaign already here")
        parts.append(_count(counts.already_there, one, N_("{count} campaigns already here")))
    if counts.unfinished:
        one = N_("{count} campaign not finished, left on its stick")
        many = N_("{count} campaigns not finished, left on its stick")
        parts.append(_count(counts.unfinished, one, many))
    return join_phrases(parts, "{first}, {rest}")


def _count(number: int, one: str, many: str) -> str:
    return Phrase(one if number == 1 else many, count=number)

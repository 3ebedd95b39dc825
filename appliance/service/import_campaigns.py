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
from appliance.phrases import N_
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
        raise RefusedError(f"{place} is not a database", hint=f"its name must end in {SUFFIX}")

    def note(counts: MergeCounts) -> None:
        text = f"{describe_counts(counts)} ({place})"
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
    parts = ["nothing imported"]
    if counts.campaigns:
        campaigns, boots = _count(counts.campaigns, "campaign"), _count(counts.boots, "boot")
        drives = "1 drive that was" if counts.drives == 1 else f"{counts.drives} drives that were"
        parts = [
            f"{campaigns} imported with {boots} and {_count(counts.results, 'result')}",
            f"{drives} not known here",
        ]
    if counts.damaged:
        parts.append(f"{_count(counts.damaged, 'row')} damaged and out of use")
    if counts.already_there:
        parts.append(f"{_count(counts.already_there, 'campaign')} already here")
    if counts.unfinished:
        parts.append(f"{_count(counts.unfinished, 'campaign')} not finished, left on its stick")
    return ", ".join(parts)


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"

"""Telling what happened.

A row in the database and, where outside programs rely on it, a console line.
"""

import sqlite3

from appliance.campaign.thisboot import ThisBoot, monotonic_s
from appliance.console import announce
from appliance.event_texts import tell
from appliance.store.events import insert_event
from appliance.units import printable


def record(
    connection: sqlite3.Connection,
    this_boot: ThisBoot,
    event: str,
    *,
    campaign_id: int | None = None,
    level: str = "info",
    **fields: object,
) -> None:
    """One line in the campaign's diary, with what `EVENT_TEXTS` puts into its sentence."""
    insert_event(
        connection,
        campaign_id=campaign_id,
        boot_id=this_boot.boot_id,
        monotonic_s=monotonic_s(),
        level=level,
        event=event,
        detail=printable(tell(event, fields)),
        fields=fields,
    )


def refuse(
    connection: sqlite3.Connection | None,
    this_boot: ThisBoot,
    reasons: tuple[str, ...],
    *,
    campaign_id: int | None = None,
) -> None:
    """Say no, one console line per reason."""
    for reason in reasons:
        announce("refused", reason=reason)
        if connection is not None:
            record(
                connection,
                this_boot,
                "refused",
                what=reason,
                campaign_id=campaign_id,
                level="error",
            )

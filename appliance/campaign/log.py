# SPDX-License-Identifier: Apache-2.0
"""Recording events.

A row in the database and, where outside programs rely on it, a console line.
"""

import sqlite3
from dataclasses import dataclass
from typing import Protocol

from appliance.campaign.host import Host
from appliance.event_texts import tell
from appliance.store.tables.events import insert_event
from appliance.store.tables.steps import StepRow
from appliance.units import printable


class Place(Protocol):
    """Where something happens: what knows the machine and its database."""

    @property
    def connection(self) -> sqlite3.Connection:
        """The database."""

    @property
    def host(self) -> Host:
        """The machine, and this boot of it."""


@dataclass(frozen=True, slots=True)
class Diary:
    """Such a place and no more."""

    connection: sqlite3.Connection
    host: Host


def record(
    place: Place,
    event: str,
    *,
    campaign_id: int | None = None,
    level: str = "info",
    **fields: object,
) -> None:
    """One line in the campaign's event log, with what `EVENT_TEXTS` puts into its sentence."""
    insert_event(
        place.connection,
        campaign_id=campaign_id,
        boot_id=place.host.this_boot.boot_id,
        monotonic_s=place.host.clock.monotonic_s(),
        level=level,
        event=event,
        detail=printable(tell(event, fields)),
        fields=fields,
    )


def record_step(
    place: Place, step: StepRow, event: str, *, level: str = "info", **fields: object
) -> None:
    """The same of a step, which its sentence begins with."""
    record(
        place,
        event,
        campaign_id=step.campaign_id,
        level=level,
        kind=step.kind,
        device=step.device,
        **fields,
    )


def refuse(place: Place, reasons: tuple[str, ...]) -> None:
    """Say no, one console line per reason."""
    for reason in reasons:
        place.host.announce("refused", reason=reason)
        record(place, "refused", what=reason, level="error")

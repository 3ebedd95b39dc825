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


class EventContext(Protocol):
    """What an event needs: the machine and its database."""

    @property
    def connection(self) -> sqlite3.Connection:
        """The database."""

    @property
    def host(self) -> Host:
        """The machine, and this boot of it."""


@dataclass(frozen=True, slots=True)
class EventLog:
    """Such a context and no more: for events outside a campaign."""

    connection: sqlite3.Connection
    host: Host


def record(
    context: EventContext,
    event: str,
    *,
    campaign_id: int | None = None,
    level: str = "info",
    **fields: object,
) -> None:
    """One line in the campaign's event log, with what `EVENT_TEXTS` puts into its sentence."""
    insert_event(
        context.connection,
        campaign_id=campaign_id,
        boot_id=context.host.this_boot.boot_id,
        monotonic_s=context.host.clock.monotonic_s(),
        level=level,
        event=event,
        detail=printable(tell(event, fields)),
        fields=fields,
    )


def record_step(
    context: EventContext, step: StepRow, event: str, *, level: str = "info", **fields: object
) -> None:
    """The same of a step, which its sentence begins with."""
    record(
        context,
        event,
        campaign_id=step.campaign_id,
        level=level,
        kind=step.kind,
        device=step.device,
        **fields,
    )


def refuse(context: EventContext, reasons: tuple[str, ...]) -> None:
    """Say no, one console line per reason."""
    for reason in reasons:
        context.host.announce("refused", reason=reason)
        record(context, "refused", what=reason, level="error")

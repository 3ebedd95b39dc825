# SPDX-License-Identifier: Apache-2.0
"""Reading the drives' health, before a campaign's first action and after its last.

Each is asked once at each of the two moments. Only asks; a drive that does not answer gives a row
with the reason. What came in between is computed where it is shown or judged.
"""

from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import partial

from appliance.campaign.context import CampaignContext
from appliance.campaign.drives.find import find_released_drive, noted_identity
from appliance.campaign.drives.work import side_work
from appliance.campaign.host import Host
from appliance.campaign.log import record
from appliance.drives.facts.farm import ask_farm
from appliance.drives.facts.health import SMARTCTL, parse_health
from appliance.drives.facts.hidden_capacity import ask_native_size
from appliance.drives.identity_query import check_asked, parse_identity
from appliance.drives.model import Drive
from appliance.errors import KaltstartError
from appliance.phrases import N_, Phrase
from appliance.run import run
from appliance.samples.health import Health
from appliance.store.clock import parse_timestamp, timestamp
from appliance.store.connect import transaction
from appliance.store.tables.campaigns import CampaignDriveRow, select_campaign_drives
from appliance.store.tables.health import HealthRow, Moment, insert_health, select_health
from appliance.units import printable

DEADLINE_S = 60
"""For everything smartctl asks of one drive: a disk that must spin up takes half of it."""

_AT_ONCE = 8
_DOES_NOT_ANSWER = N_("the drive does not answer, and is no longer queried")
_SECONDS_PER_HOUR = 3600

_MOMENTS: Mapping[Moment, str] = {"before": N_("before"), "after": N_("after")}


@dataclass(frozen=True, slots=True)
class Reading:
    """What one drive answered."""

    health: Health
    raw: str = ""
    """All smartctl said."""


def store_health(context: CampaignContext, campaign_id: int, moment: Moment) -> None:
    """Ask each drive of the campaign that was not asked at `moment` yet, and store the answers."""
    known = select_health(context.connection, campaign_id)
    asked_ids = {row.drive_id for row in known if row.moment == moment}
    rows = [
        row
        for row in select_campaign_drives(context.connection, campaign_id)
        if row.drive_id not in asked_ids
    ]
    if not rows:
        return
    silent = {row.drive_id: _DOES_NOT_ANSWER for row in rows if context.silent.knows(row)}
    with side_work(context.host, N_("the drives' health"), tell=context.tell) as hand:
        readings = hand.do(
            partial(_ask, context.host, rows, silent),
            Phrase(N_("reading the drives' health, {what}"), what=_MOMENTS[moment]),
        )
    with transaction(context.connection):
        for row, reading in zip(rows, readings, strict=True):
            health = reading.health
            if moment == "after":
                before = next((entry for entry in known if entry.drive_id == row.drive_id), None)
                health = add_hours_doubt(health, before, hours_up(context.host, before))
            insert_health(
                context.connection,
                campaign_id=campaign_id,
                drive_id=row.drive_id,
                moment=moment,
                health=health,
                raw=reading.raw,
            )
            if health.reason:
                record(
                    context,
                    "health-unknown",
                    drive=row.name,
                    **{moment: health.reason},
                    campaign_id=campaign_id,
                    level="warning",
                )


def _ask(host: Host, rows: Sequence[CampaignDriveRow], silent: Mapping[int, str]) -> list[Reading]:
    """All at the same time, except a few: one that hangs blocks no other.

    `silent`: the drives, by number, that are not asked, and why.
    """
    try:
        drives = host.drives.find_settled()
    except KaltstartError as error:
        return [_no_reading(error.message) for _ in rows]
    with ThreadPoolExecutor(max_workers=_AT_ONCE) as pool:
        return list(
            pool.map(
                lambda row: (
                    _no_reading(silent[row.drive_id])
                    if row.drive_id in silent
                    else _ask_one(drives, row)
                ),
                rows,
            )
        )


def _ask_one(found: Sequence[Drive], row: CampaignDriveRow) -> Reading:
    try:
        drive = find_released_drive(found, row)
        text = run([*SMARTCTL, drive.path], check=False, timeout_s=DEADLINE_S).stdout
        if answer := parse_identity(text):
            check_asked(drive, noted_identity(row), answer)
        text = ask_native_size(drive.path, text, timeout_s=DEADLINE_S)
        text = ask_farm(drive.path, text, timeout_s=DEADLINE_S)
    except KaltstartError as error:
        return _no_reading(error.message)
    health = parse_health(text)
    return Reading(replace(health, reason=printable(health.reason)), text)


def _no_reading(reason: str) -> Reading:
    return Reading(Health(None, (), None, None, printable(reason)))


def hours_up(host: Host, before: HealthRow | None) -> float:
    """For how long the drive has had power for certain since it was asked before the campaign.

    0 where the machine has been off in between, or may have been.
    """
    try:
        before_s = parse_timestamp(before.at) if before else 0.0
    except ValueError:  # a time that the stick has spoilt
        return 0.0
    if before_s < host.clock.kernel_started_at():
        return 0.0
    return (parse_timestamp(timestamp()) - before_s) / _SECONDS_PER_HOUR


def add_hours_doubt(health: Health, before: HealthRow | None, up_hours: float) -> Health:
    """Doubt power-on hours that rose by less than the hours that passed. Pure.

    An NVMe drive need not count what it spends in its lowest power states (NVM Express base
    specification, "Power On Hours"), and some count a sixteenth of them.
    """
    old = before.counters.get("power_on_hours") if before else None
    counters = {counter.name: counter for counter in health.counters}
    new = counters.get("power_on_hours")
    # Both ends are cut off to full hours.
    if old is None or new is None or new.doubt or new.value - old.value >= int(up_hours) - 1:
        return health
    rise = Phrase(N_("it rose by {count}"), count=f"{new.value - old.value:.0f}")
    doubt = Phrase(
        N_("{what} while the machine was running for {hours} hours"),
        what=rise,
        hours=f"{up_hours:.0f}",
    )
    counters["power_on_hours"] = replace(new, doubt=doubt)
    return replace(health, counters=tuple(counters.values()))

# SPDX-License-Identifier: Apache-2.0
"""A draft as a plan's text, and the result of the plan's checks."""

import os

from appliance.campaign.stick_room import check_room
from appliance.drives.model import Drive
from appliance.errors import KaltstartError
from appliance.phrases import Phrase
from appliance.plan.compose import compose_plan
from appliance.plan.machine_rules import find_conflicts
from appliance.plan.read import parse_plan
from appliance.problem import Problem
from tui.charset import one_line
from tui.model.draft import DraftCampaign, Mistake
from tui.model.drives import DriveRow
from tui.port.releases import find_released, starts_installed
from tui.port.watch import tell


def compose_text(draft: DraftCampaign, *, released: bool = True) -> str:
    """The plan's text; it releases the drives that it writes to. Raises RefusedError.

    Not `released`: to be saved, until the user releases them.
    """
    starts, boot = starts_installed(draft.boot, draft.more_settings), draft.boot
    if starts and boot is not None:  # another system draws no charts, and reads what it reads
        boot = {key: value for key, value in boot.items() if key not in {"charts", "boot_set"}}
    return compose_plan(
        name=draft.name,
        on_finish=draft.on_finish,
        drives=[_to_drive(drive) for drive in draft.drives],
        roles=draft.roles,
        boot=boot,
        release_key="start" if starts else "erase",
        array=draft.array,
        workloads=draft.workloads,
        more_settings=draft.more_settings,
        labels=draft.labels,
        typed={drive.raw_identity: drive.raw_identity for drive in find_released(draft)}
        if released
        else {},
    )


def check_draft(draft: DraftCampaign) -> tuple[Mistake, ...]:
    """What the plan's own checks have against it, and whether the stick has room for it."""
    try:
        plan = parse_plan(compose_text(draft))
    except KaltstartError as error:
        return tuple(map(find_mistake, error.problems or [Problem((), str(error))]))
    drives = [_to_drive(drive) for drive in draft.drives]
    ram_bytes = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    conflicts = find_conflicts(plan, drives, stick=None, ram_bytes=ram_bytes)
    refusal = check_room(plan, drives).refusal
    problems = (*conflicts, *(Problem((), text) for text in [refusal] if text))
    return tuple(map(find_mistake, problems))


def find_mistake(problem: Problem) -> Mistake:
    """Where it belongs in the form: the table, which of those there are several of, and the key."""
    path = problem.path
    table = str(path[0]) if path else ""
    index = path[1] if len(path) > 1 and isinstance(path[1], int) else 0
    key = next((part for part in path[1:] if isinstance(part, str)), "")
    text = problem.text
    if key and problem.file:
        text = Phrase("{key}: {what}", key=key, what=text)
    return Mistake(table, index, one_line(key), tell(text))


def _to_drive(row: DriveRow) -> Drive:
    return Drive(
        path=f"/dev/{row.device}",
        serial=row.raw_serial,
        wwn=row.raw_wwn,
        model=row.raw_model,
        firmware=row.firmware,
        size_bytes=row.size_bytes,
        rotational=row.rotational,
        transport=row.bus,
        logical_block_bytes=row.logical_block_bytes,
        physical_block_bytes=row.physical_block_bytes,
        write_protected=row.write_protected,
        serial_doubt=row.serial_doubt,
    )

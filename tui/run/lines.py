# SPDX-License-Identifier: Apache-2.0
"""A campaign's progress in a few lines of the page Run. Pure."""

import re
from collections.abc import Mapping
from dataclasses import dataclass

from appliance.workloads.contention.keys import ContentionVariant
from appliance.workloads.surface.keys import SLICES, SurfaceVariant
from appliance.workloads.verify.keys import READ, READ_COLD, WRITE, VerifyVariant
from tui.charset import shorten, shorten_name
from tui.format import show_number
from tui.language import N_, _
from tui.model.campaigns import Campaign, CampaignDrive, Step
from tui.model.engine_words import measure_roles, name_role, say
from tui.model.status import ARRAY, StepNow
from tui.model.verdicts import WORDS, find_sign

_AT = {"boot": N_("boot {number} of {count}"), "step": N_("step {number} of {count}")}
_BEHIND = {"boot": N_("{number} of {count} boots"), "step": N_("{number} of {count} steps")}
_ENDED = {
    "done": N_("{count} done"),
    "failed": N_("{count} failed"),
    "skipped": N_("{count} skipped"),
}
_STATES = (N_("PREPARING"), N_("RUNNING"), N_("PAUSED"), N_("DONE"))
"""As a campaign has them, in capitals."""
_PHASES = {
    WRITE: N_("writing"),
    READ: N_("reading back"),
    READ_COLD: N_("reading back after a power-off"),
}
"""Of a verify step."""
_COMPANIES = (N_("alone"), N_("together"))
"""Of the drives in a part of a contention step."""


def describe_campaign(campaign: Campaign, width: int) -> str:
    """Name, state and how far it is; a count is not torn apart where it fits into a line."""
    parts = []
    if campaign.planned or not campaign.steps:
        ended = {"done": campaign.done, "failed": campaign.failed, "skipped": campaign.skipped}
        parts.append(_describe_count("boot", campaign, campaign.planned, ended))
    if campaign.steps:
        ended = {state: _count(campaign.steps, state) for state in ("done", "failed", "skipped")}
        parts.append(_describe_count("step", campaign, len(campaign.steps), ended))
    text = _('Campaign {id} "{name}": {state}').format(
        id=campaign.id, name=campaign.name, state=_(campaign.state.upper())
    )
    first = f", {parts[0]}" + ("," if len(parts) > 1 else "")
    text += first if len(text + first) <= width else first.replace(", ", ",\n", 1)
    text += "".join(f"\n{part}" for part in parts[1:])
    if campaign.is_pausing:
        text += "\n" + _("PAUSES once the current part is stored")
    if campaign.reason:
        text += "\n" + _("Reason: {reason}").format(reason=say(campaign.reason))
    return text


def _describe_count(what: str, campaign: Campaign, planned: int, ended: Mapping[str, int]) -> str:
    behind = sum(ended.values())
    number = min(behind + 1, planned)
    if what == "step":
        # Steps of several drives need not end in their order: the one that the next line names.
        states = [step.state for step in campaign.steps]
        number = states.index("running") + 1 if "running" in states else number
    where = _(_AT[what]).format(number=number, count=planned)
    if campaign.state == "done" or behind == planned:
        where = _(_BEHIND[what]).format(number=behind, count=planned)
    texts = [
        _(_ENDED[state]).format(count=count)
        for state, count in ended.items()
        if count or state != "skipped"
    ]
    return f"{where} ({', '.join(texts)})"


def _count(steps: tuple[Step, ...], state: str) -> int:
    return sum(step.state == state for step in steps)


@dataclass(frozen=True, slots=True)
class _Subject:
    """A drive, or the array, with what is done on it."""

    identity: str
    name: str
    """What it begins with, and its label or model."""
    role: str
    steps: tuple[Step, ...]
    booted: CampaignDrive | None
    """Whose boots these are."""
    drive_id: int | None
    """None: it is the array."""


def _list_subjects(campaign: Campaign) -> list[_Subject]:
    """Each drive, and behind its backing drive the array, to which that one's boots belong."""
    subjects = []
    serial = max((len(drive.name) for drive in campaign.drives), default=0)
    for drive in campaign.drives:
        steps = tuple(step for step in campaign.steps if step.drive_id == drive.drive_id)
        name = f"{drive.name:{serial}} {drive.label or drive.model}"
        if drive.role not in {"backing", "cache"}:
            subjects.append(_Subject(drive.name, name, drive.role, steps, drive, drive.drive_id))
            continue
        subjects.append(_Subject(drive.name, name, drive.role, steps, None, drive.drive_id))
        if drive.role == "backing":
            on_array = tuple(step for step in campaign.steps if step.on_array)
            subjects.append(_Subject(drive.booted, drive.booted, ARRAY, on_array, drive, None))
    return subjects


def describe_drives(campaign: Campaign, width: int) -> str:
    """A line per drive: steps and boots done, last and best time, and once judged its verdict."""
    subjects, has_boots = _list_subjects(campaign), campaign.planned or not campaign.steps
    signs = _find_signs(campaign)
    words = {drive_id: _(WORDS[sign]) for drive_id, sign in signs.items()}
    verdict = max([len(_("Verdict")), *map(len, words.values())])
    steps = max(7, len(_("Steps")))
    role = max(len(_("Role")), measure_roles())
    fixed = 10 + role + (27 if has_boots else 0) + (1 + steps if campaign.steps else 0)
    fixed += 4 + verdict if signs else 0
    least = max(6, len(_("Drive")))
    longest = max([least, *(len(subject.name) for subject in subjects)])
    name = max(least, min(longest, width - fixed))
    head = f"{_('Drive'):{name}}  {_('Role'):{role}}"
    head += f" {_('Steps'):>{steps}}" if campaign.steps else ""
    head += f" {_('Boots'):>7}  {_('Last s'):>8} {_('Best s'):>8}" if has_boots else ""
    bad = len(_("Failed"))
    head += f"  {_('Failed')}"
    lines = [f"  {head}  {_('Verdict')}" if signs else head]
    for subject in subjects:
        boots = subject.booted.boots if subject.booted else ()
        failed = sum(not boot.valid for boot in boots) + _count(subject.steps, "failed")
        # Cut as little as possible, and a serial number never at its end.
        called = shorten_name(subject.identity, name)
        if len(subject.identity) < name:
            called = shorten(subject.name, name)
        line = f"{called:{name}}  {name_role(subject.role):{role}}"
        if campaign.steps:
            over = sum(step.state not in {"planned", "running"} for step in subject.steps)
            line += f" {f'{over}/{len(subject.steps)}' if subject.steps else '-':>{steps}}"
        if has_boots:
            line += _describe_times(subject.booted)
        reason = subject.booted.failed_reason if subject.booted else ""
        gave_up = "  " + _("GAVE UP: {reason}").format(reason=say(reason)) if reason else ""
        line += f"  {failed or '-':>{bad}}"
        if signs:
            sign, word = signs.get(subject.drive_id, " "), words.get(subject.drive_id, "-")
            line = f"{sign} {line}  {word:{verdict}}".rstrip()
        lines.append(f"{line}{gave_up}")
    return "\n".join(lines)


def _find_signs(campaign: Campaign) -> dict[int | None, str]:
    """Of the verdict on each drive by its id; empty while no large letters count them."""
    if not campaign.is_judged or campaign.state != "done" or campaign.judging_problem:
        return {}
    return {verdict.drive_id: find_sign(verdict) for verdict in campaign.verdicts}


def _describe_times(drive: CampaignDrive | None) -> str:
    if drive is None:
        return f" {'-':>7}  {'-':>8} {'-':>8}"
    times = drive.times_s
    last, best = "-", "-"
    if times:
        last, best = show_number(times[-1], ".2f"), show_number(min(times), ".2f")
    return f" {f'{len(drive.boots)}/{drive.planned}':>7}  {last:>8} {best:>8}"


def name_part(step: StepNow) -> str:
    """What the step's part is, where its stored name does not say that alone."""
    match step.kind:
        case "surface" if found := re.fullmatch(SurfaceVariant.PATTERN, step.part):
            if found["slice"] is None:
                return _("adding up")
            percent = int(found["slice"]) * 100 // SLICES
            return _("from {share} of the drive").format(share=f"{percent} %")
        case "verify" if found := re.fullmatch(VerifyVariant.PATTERN, step.part):
            phase = _(_PHASES[found["phase"]])
            if found["stretch"] is None:
                return f"{phase}, {_('adding up')}"
            number = int(found["stretch"]) + 1
            return _("{phase}, stretch {number}").format(phase=phase, number=number)
        case "contention" if found := re.fullmatch(ContentionVariant.PATTERN, step.part):
            company, number = _(found["company"]), int(found["round"])
            return _("{company}, round {number}").format(company=company, number=number)
    return step.part

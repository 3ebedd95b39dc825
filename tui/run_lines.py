"""How far a campaign is, in a few lines of the page Run. Pure."""

from collections.abc import Mapping
from dataclasses import dataclass

from tui.campaigns import ARRAY, Campaign, CampaignDrive, Step
from tui.charset import shorten
from tui.language import _


def describe_campaign(campaign: Campaign) -> str:
    """Name, state and how far it is."""
    parts = []
    if campaign.planned or not campaign.steps:
        ended = {"done": campaign.done, "failed": campaign.failed}
        parts.append(_describe_count("boot", campaign, campaign.planned, ended))
    if campaign.steps:
        ended = {state: _count(campaign.steps, state) for state in ("done", "failed", "skipped")}
        parts.append(_describe_count("step", campaign, len(campaign.steps), ended))
    text = f'Campaign {campaign.id} "{campaign.name}": {campaign.state.upper()}, '
    text += (",\n" if len(parts) > 1 else "").join(parts)
    if campaign.is_pausing:
        text += "\n" + _("PAUSES when what runs now is done and stored")
    return f"{text}\nReason: {campaign.reason}" if campaign.reason else text


def _describe_count(what: str, campaign: Campaign, planned: int, ended: Mapping[str, int]) -> str:
    behind = sum(ended.values())
    where = f"{what} {min(behind + 1, planned)} of {planned}"
    if campaign.state == "done" or behind == planned:
        where = f"{behind} of {planned} {what}s"
    said = [f"{count} {state}" for state, count in ended.items() if count or state != "skipped"]
    return f"{where} ({', '.join(said)})"


def _count(steps: tuple[Step, ...], state: str) -> int:
    return sum(step.state == state for step in steps)


@dataclass(frozen=True, slots=True)
class _Subject:
    """A drive, or the array, with what is done on it."""

    name: str
    role: str
    steps: tuple[Step, ...]
    booted: CampaignDrive | None
    """Whose boots these are."""


def _list_subjects(campaign: Campaign) -> list[_Subject]:
    """Each drive, and behind its backing drive the array, to which that one's boots belong."""
    subjects = []
    for drive in campaign.drives:
        own = tuple(step for step in campaign.steps if step.device == drive.identity)
        name = f"{drive.identity} {drive.model}"
        if drive.role not in {"backing", "cache"}:
            subjects.append(_Subject(name, drive.role, own, drive))
            continue
        subjects.append(_Subject(name, drive.role, own, None))
        if drive.role == "backing":
            on_array = tuple(step for step in campaign.steps if step.on_array)
            subjects.append(_Subject(drive.booted, ARRAY, on_array, drive))
    return subjects


def describe_drives(campaign: Campaign, width: int) -> str:
    """A line per drive: steps and boots done, last and best time."""
    subjects, has_boots = _list_subjects(campaign), campaign.planned or not campaign.steps
    fixed = 17 + (27 if has_boots else 0) + (8 if campaign.steps else 0)
    longest = max([6, *(len(each.name) for each in subjects)])
    name = max(6, min(longest, width - fixed))
    head = f"{'Drive':{name}}  {'Role':7}"
    head += f" {'Steps':>7}" if campaign.steps else ""
    head += f" {'Boots':>7}  {'Last s':>8} {'Best s':>8}" if has_boots else ""
    lines = [f"{head}  Failed"]
    for each in subjects:
        boots = each.booted.boots if each.booted else ()
        failed = sum(not boot.valid for boot in boots) + _count(each.steps, "failed")
        line = f"{shorten(each.name, name):{name}}  {each.role:7}"
        if campaign.steps:
            over = sum(step.state not in {"planned", "running"} for step in each.steps)
            line += f" {f'{over}/{len(each.steps)}' if each.steps else '-':>7}"
        if has_boots:
            line += _describe_times(each.booted)
        reason = each.booted.failed_reason if each.booted else ""
        lines.append(f"{line}  {failed or '-'}{'  GAVE UP: ' + reason if reason else ''}")
    return "\n".join(lines)


def _describe_times(drive: CampaignDrive | None) -> str:
    if drive is None:
        return f" {'-':>7}  {'-':>8} {'-':>8}"
    times = drive.times_s
    last, best = (f"{times[-1]:.2f}", f"{min(times):.2f}") if times else ("-", "-")
    return f" {f'{len(drive.boots)}/{drive.planned}':>7}  {last:>8} {best:>8}"

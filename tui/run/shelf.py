# SPDX-License-Identifier: Apache-2.0
"""A campaign on many drives: a line for each, to be sorted. Pure."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from tui.charset import shorten, shorten_name
from tui.format import show_number
from tui.language import N_, _
from tui.model.campaigns import Campaign, CampaignDrive, Step
from tui.model.drives import DriveRow
from tui.model.engine_words import say
from tui.model.estimate import DriveLeft, name_span
from tui.model.snapshot import Rate, Snapshot
from tui.model.status import Progress, RunningStep, StepNow
from tui.model.verdicts import (
    SIGNS,
    WORDS,
    describe_depth,
    describe_share,
    find_sign,
    say_reasons,
)
from tui.run.lines import name_part
from tui.widgets.figures import draw_bar

LEAST_DRIVES = 3
"""Fewer are shown with their charts."""

# In the order of urgency: what needs the user comes first.
_STATES = (
    *(N_("GAVE UP"), N_("FAILED"), N_("REJECT"), N_("missing"), N_("no answer")),
    *(N_("remarks"), N_("paused"), N_("pausing"), N_("running"), N_("waiting")),
    *(N_("quick look"), N_("accept"), N_("done"), N_("skipped"), N_("not judged")),
)
_FAILED_SIGN = "×"
_LOOK_SIGN = "!"
_SIGN_OF_STATE = {
    "GAVE UP": _FAILED_SIGN,
    "FAILED": _FAILED_SIGN,
    "REJECT": SIGNS["reject"],
    "missing": _LOOK_SIGN,
    "no answer": _LOOK_SIGN,
    "remarks": SIGNS["accept with remarks"],
    "quick look": SIGNS["quick look"],
    "accept": SIGNS["accept"],
}
_OPEN = {"planned", "running"}
_STEP = 8
_LABEL = 8
_LABEL_MOST = 24
_DRIVE = 15
_DRIVE_MOST = 24
_FIXED = 50
"""Columns of all the rest, a state of ten letters with its sign among it."""
_BAR, _BAR_MOST, _MODEL_MOST = 12, 40, 24


@dataclass(frozen=True, slots=True)
class ShelfLine:
    """What there is to say of one drive now."""

    slot: int
    """Its place in the plan."""
    drive_id: int
    identity: str
    bay: str
    """The plan's words for it; else where it is plugged in."""
    model: str
    step: str
    """The kind of what it is at, or has before it."""
    place: str
    """`2/3`: which of its steps."""
    share: float | None
    """How far the running step is; None: that is not known."""
    rate: Rate | None
    celsius: float | None
    left: DriveLeft | None
    state: str
    """One of _STATES."""
    judged: str | None = None
    """How deep a drive that is judged was looked at, and why it is not accepted as it is."""
    has_failed: bool = False
    """A step on it has failed, whatever it is at now."""
    now: RunningStep | None = None
    """The step that runs on it."""

    @property
    def sign(self) -> str:
        """The sign of the state beside its word; a blank if the user need not look."""
        sign = _SIGN_OF_STATE.get(self.state, "")
        return sign or (_FAILED_SIGN if self.has_failed else " ")


@dataclass(frozen=True, slots=True)
class Order:
    """What lines are sorted by."""

    name: str
    """In a word, to be translated."""
    key: Callable[[ShelfLine], tuple[float | str, ...]]


def _lowest_first(value: float | None) -> tuple[float | str, ...]:
    return (1.0, 0.0) if value is None else (0.0, value)


def _highest_first(value: float | None) -> tuple[float | str, ...]:
    return _lowest_first(None if value is None else -value)


ORDERS = (
    Order(N_("plan"), lambda line: (line.slot,)),
    Order(N_("bay"), lambda line: (not line.bay, *_split_numbers(line.bay))),
    Order(N_("state"), lambda line: (_STATES.index(line.state),)),
    Order(N_("least done"), lambda line: _lowest_first(line.share)),
    Order(N_("slowest"), lambda line: _lowest_first(_sum_rate(line))),
    Order(N_("warmest"), lambda line: _highest_first(line.celsius)),
    Order(N_("time left"), lambda line: _highest_first(_left_s(line))),
)


def _split_numbers(text: str) -> tuple[str, ...]:
    """So that bay 10 comes behind bay 9."""
    words = "".join(c if c.isdigit() else f" {c} " for c in text.casefold()).split()
    return tuple(word.zfill(12) if word.isdigit() else word for word in words)


def _sum_rate(line: ShelfLine) -> float | None:
    if line.rate is None or line.now is None:
        return None
    return line.rate.read_bytes_s + line.rate.write_bytes_s


def _left_s(line: ShelfLine) -> float | None:
    if line.left is None or (line.left.unknown and not line.left.seconds):
        return None
    return line.left.seconds


def is_shelf(campaign: Campaign | None) -> bool:
    """Whether it is about so many drives that each gets a line only."""
    return (
        campaign is not None
        and len(campaign.drives) >= LEAST_DRIVES
        and bool(campaign.steps)
        and not campaign.planned
        and not any(step.on_array for step in campaign.steps)
    )


def list_shelf(campaign: Campaign, snapshot: Snapshot, order: Order) -> list[ShelfLine]:
    """A line for each of its drives."""
    status = snapshot.status if snapshot.busy else None
    running: dict[int, RunningStep] = {}
    if status is not None and status.step is not None and status.campaign_id == campaign.id:
        alone = RunningStep(status.step, status.progress or Progress("", 0, 0))
        running = {entry.step.step_id: entry for entry in status.steps or (alone,)}
    celsius = dict(status.temperatures) if status else {}
    rates = {rate.name.rpartition(" ")[2]: rate for rate in snapshot.activity}
    remaining = {(drive.identity, drive.wwn): drive for drive in snapshot.drives_left}
    here: dict[str, list[DriveRow]] = {}
    for row in snapshot.drives:
        here.setdefault(row.identity, []).append(row)
    steps: dict[int | None, list[Step]] = {}
    for step in campaign.steps:
        steps.setdefault(step.drive_id, []).append(step)
    lines = []
    for slot, drive in enumerate(campaign.drives):
        drive_steps = steps.get(drive.drive_id, [])
        now = next((running[step.id] for step in drive_steps if step.id in running), None)
        same = here.get(drive.identity, ())
        rows = [row for row in same if row.is_drive(drive.identity, drive.wwn)]
        is_gone = bool(here) and not snapshot.looking and not rows
        at = next(
            (number for number, step in enumerate(drive_steps) if step.state in _OPEN),
            len(drive_steps),
        )
        lines.append(
            ShelfLine(
                slot=slot,
                drive_id=drive.drive_id,
                identity=drive.name,
                bay=drive.label or _find_place(rows[0] if rows else None),
                model=drive.model,
                step=drive_steps[min(at, len(drive_steps) - 1)].kind if drive_steps else "",
                place=f"{min(at + 1, len(drive_steps))}/{len(drive_steps)}" if drive_steps else "",
                share=_find_share(now),
                rate=_find_rate(rows, rates),
                celsius=celsius.get(drive.name),
                left=remaining.get((drive.identity, drive.wwn)),
                state=_name_state(campaign, drive, drive_steps, now, is_gone=is_gone),
                judged=_describe_verdict(campaign, drive.drive_id),
                has_failed=any(step.state == "failed" for step in drive_steps),
                now=now,
            )
        )
    return sorted(lines, key=lambda line: (*order.key(line), line.slot))


def _describe_verdict(campaign: Campaign, drive_id: int) -> str | None:
    if campaign.state != "done":
        return None
    for verdict in campaign.verdicts:
        if verdict.drive_id == drive_id:
            # Its state names a quick look already, if it is not rejected.
            is_named = find_sign(verdict) == SIGNS["quick look"]
            depth = (describe_share if is_named else describe_depth)(verdict)
            return "; ".join(filter(None, (depth, say_reasons(verdict))))
    return None


def find_order(number: int, campaign: Campaign) -> Order:
    """As the user wants it; of a campaign that has ended, what is to be acted on comes first."""
    return ORDERS[2] if number == 0 and campaign.state == "done" else ORDERS[number]


def _find_rate(rows: Sequence[DriveRow], rates: Mapping[str, Rate]) -> Rate | None:
    """Of a drive that is reached over two paths the one at work: nothing goes over the other."""
    active = [rates[row.device] for row in rows if row.device in rates]
    return max(active, key=lambda rate: rate.read_bytes_s + rate.write_bytes_s, default=None)


def _find_place(row: DriveRow | None) -> str:
    if row is None:
        return ""
    return (row.details.location if row.details else "") or row.device


def _find_share(now: RunningStep | None) -> float | None:
    """Parts that are done and the one that runs; of the last one, that no part is missing."""
    if now is None or not now.step.parts:
        return None
    done, total = now.progress.done_bytes, now.progress.total_bytes
    of_part = min(done / total, 1.0) if total > 0 and not _is_silent(now) else 0.0
    return min((max(now.step.part_number - 1, 0) + of_part) / now.step.parts, 0.99)


def _is_silent(now: RunningStep) -> bool:
    """The drive does not answer: what is counted is seconds."""
    return now.progress.label.endswith(": no answer from the drive; seconds")


def _name_state(
    campaign: Campaign,
    drive: CampaignDrive,
    steps: Sequence[Step],
    now: RunningStep | None,
    *,
    is_gone: bool,
) -> str:
    is_open = any(step.state in _OPEN for step in steps)
    if now is not None:
        state = "no answer" if _is_silent(now) else "pausing" if drive.paused else "running"
    elif verdict := next((v for v in campaign.verdicts if v.drive_id == drive.drive_id), None):
        if campaign.is_judged and not is_open:
            return WORDS[find_sign(verdict)]
        state = _name_ended(campaign, drive, steps, is_open=is_open)
    elif is_gone and is_open:
        state = "missing"
    elif is_open and (drive.paused or campaign.state == "paused"):
        state = "paused"
    else:
        state = _name_ended(campaign, drive, steps, is_open=is_open)
    return state


def _name_ended(
    campaign: Campaign, drive: CampaignDrive, steps: Sequence[Step], *, is_open: bool
) -> str:
    states = {step.state for step in steps}
    if drive.failed_reason:
        return "GAVE UP"
    if "failed" in states:
        return "FAILED"
    if is_open:
        return "waiting"
    if campaign.is_judged and campaign.verdicts and campaign.state == "done":
        return "not judged"
    return "skipped" if "skipped" in states else "done"


@dataclass(frozen=True, slots=True)
class Layout:
    """How wide what is of no fixed width may be."""

    bay: int
    drive: int
    model: int
    """0, as `bar`: no room."""
    bar: int
    place: int
    width: int
    is_over: bool
    """Nothing runs any more: what it came to is shown instead."""


_WORD = 10


def lay_out(lines: Sequence[ShelfLine], width: int) -> Layout:
    """The bay comes first: it is what people look for."""
    place = max((len(line.place) for line in lines), default=3)
    drive = min(max((len(line.identity) for line in lines), default=0), _DRIVE_MOST)
    drive = max(drive, len(_("Drive")))
    least_drive = min(drive, _DRIVE)
    free = max(0, width - _LABEL - least_drive - place - _FIXED)
    bay = min(max((len(line.bay) for line in lines), default=0), _LABEL_MOST)
    bay = min(max(bay, len(_("Bay"))), _LABEL + free)
    drive = min(drive, least_drive + _LABEL + free - bay)
    is_over = any(line.judged is not None for line in lines)
    free = 0 if is_over else width - bay - drive - place - _FIXED
    bar = min(free - 1, _BAR_MOST) if free > _BAR else 0
    model = min(max((len(line.model) for line in lines), default=0), _MODEL_MOST)
    model = model if 0 < model < free - bar - 1 else 0
    return Layout(bay, drive, model, bar, place, width, is_over)


def describe_head(layout: Layout) -> str:
    """The names of the columns."""
    head = f"{_('Bay'):{layout.bay}} {_('Drive'):{layout.drive}} "
    if layout.is_over:
        return shorten(f"{head}  {_('State'):{_WORD}} {_('Depth, reasons')}", layout.width)
    model = f"{_('Model'):{layout.model}} " if layout.model else ""
    bar = " " * (layout.bar + 1) if layout.bar else ""
    return shorten(
        f"{head}{model}"
        f"{_('Step'):{_STEP + 1 + layout.place}} {bar}"
        f"{'%':>5} {'MB/s':>5} {'°C':>3} {_('Left'):>9}   {_('State')}",
        layout.width,
    )


def describe_line(line: ShelfLine, layout: Layout) -> str:
    """One drive."""
    head = (
        f"{_shorten_bay(line.bay, layout.bay):{layout.bay}} "
        f"{shorten_name(line.identity, layout.drive):{layout.drive}} "
    )
    if layout.is_over:
        state = shorten(_(line.state), _WORD)
        return shorten(f"{head}{line.sign} {state:{_WORD}} {line.judged or ''}", layout.width)
    share = "" if line.share is None else f"{100 * line.share:.0f} %"
    rate = _sum_rate(line)
    moved = "" if rate is None else show_number(rate / 1e6, ".1f" if rate < 999.9e6 else ".0f")
    celsius = "" if line.celsius is None else f"{line.celsius:.0f}"
    model = f"{shorten(line.model, layout.model):{layout.model}} " if layout.model else ""
    bar = f"{draw_bar(line.share or 0.0, 1.0, layout.bar):{layout.bar}} " if layout.bar else ""
    return shorten(
        f"{head}{model}"
        f"{shorten(line.step, _STEP):{_STEP}} {line.place:{layout.place}} {bar}"
        f"{share:>5} {moved:>5} {celsius:>3} {describe_left(line.left):>9} "
        f"{line.sign} {_(line.state)}",
        layout.width,
    )


def _shorten_bay(bay: str, columns: int) -> str:
    """A place is cut behind its port, which tells the drives of one controller apart."""
    controller, comma, port = bay.rpartition(", ")
    if len(bay) > columns and comma and bay.startswith("PCI "):
        return shorten(f"{port}, {controller}", columns)
    return shorten_name(bay, columns)


def describe_left(left: DriveLeft | None) -> str:
    """`2 d 4 h`; with a + where not all of it is known."""
    if left is None:
        return ""
    if not left.seconds:
        return "?" if left.unknown else ""
    return name_span(left.seconds, short=True) + (" +" if left.unknown else "")


def describe_drive_now(line: ShelfLine, campaign: Campaign) -> str:
    """All that is known of one drive of the campaign, for who wants more than its line."""
    texts = [f"{line.identity}  {line.model}"]
    if line.bay:
        texts.append(_("Bay: {bay}").format(bay=line.bay))
    texts.append(_("State: {state}").format(state=_(line.state)))
    if line.now is not None:
        texts.append(_describe_step_now(line.now.step))
        if line.now.progress.label:
            texts.append(say(line.now.progress.label))
    if line.rate is not None:
        texts.append(
            _("Now: read {read} MB/s, write {write} MB/s, busy {busy} %").format(
                read=show_number(line.rate.read_bytes_s / 1e6, ".1f"),
                write=show_number(line.rate.write_bytes_s / 1e6, ".1f"),
                busy=f"{line.rate.busy * 100:.0f}",
            )
        )
    if line.celsius is not None:
        texts.append(_("Temperature: {all}").format(all=f"{line.celsius:.0f} °C"))
    if remaining := _describe_left_of(line):
        texts.append(remaining)
    texts.append("")
    for number, step in enumerate(
        (step for step in campaign.steps if step.drive_id == line.drive_id), start=1
    ):
        reason = f": {say(step.reason)}" if step.reason else ""
        texts.append(f"{number}  {step.kind:{_STEP}} {_(step.state)}{reason}")
    for verdict in campaign.verdicts:
        if verdict.drive_id == line.drive_id and verdict.reasons:
            texts += ["", _("Reasons: {reasons}").format(reasons=say_reasons(verdict))]
    return "\n".join(texts)


def _describe_step_now(step: StepNow) -> str:
    if not step.part:
        return f"{step.kind}: {_('preparing')}"
    part = _("part {number} of {count}: {part}").format(
        number=step.part_number, count=step.parts, part=name_part(step)
    )
    left_s = step.left_s
    if left_s is None:
        return f"{step.kind}, {part}"
    remaining = _("{span} left at the drive's own rate").format(span=name_span(left_s))
    return f"{step.kind}, {part}; {remaining}"


def _describe_left_of(line: ShelfLine) -> str:
    if line.left is None:
        return ""
    if not line.left.seconds and line.left.unknown:
        return _("Time left: unknown")
    text = _("Time left (estimate): {all}").format(all=name_span(line.left.seconds))
    if line.left.unknown:
        text += " " + _("+ {count} not estimated").format(count=line.left.unknown)
    return text

# SPDX-License-Identifier: Apache-2.0
"""The lottery: rate by number of reads of a file, one line per pass. Pure.

The curve of the article, and beside it who answered: a pass whose repeats come out of RAM says
nothing about the drive.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from appliance.report import plain
from appliance.report.blocks import (
    DASH,
    BlockView,
    ChartView,
    FoldView,
    LegendView,
    LineView,
    TableView,
    count,
    explain_invalid,
    format_bytes,
    format_rate,
    format_share,
    format_times,
    view_caches,
)
from appliance.report.boots.findings import Finding
from appliance.report.charts.plots import Line, draw_lines, make_chart
from appliance.report.figures import Figure, StepFigures, Workload
from appliance.report.section import Row, Section, Values, say_times
from appliance.samples.first_touch import Chance
from appliance.store.read.workloads import TicketRow
from appliance.workloads.lottery.keys import AFTER_INTERRUPTED, LotteryVariant
from appliance.workloads.lottery.touches import (
    CHANCE,
    DEAL_CHANCE,
    DRIVE_SHARE,
    GAIN,
    PassComparison,
    Touches,
    compare_touches,
    find_rate,
    find_touches,
    split_touches,
)

NOTE = (
    "Each ticket names a file; tickets are drawn without replacement and the named file is "
    "read. First touch: a file's first read in its pass, or in this repetition of it, after "
    "the cache was set. Repeats: all later reads, except those directly after a read of the "
    "same file or of the one before it, because the head is already there. Rates are bytes "
    "over seconds. The rate of first touches weights each file by its number of "
    "repeats, because files differ in their place on the drive. If RAM answered, the curve "
    "is the page cache's and not the drive's."
)
_SHARED_DOTS = "Files on equally many tickets share a dot: the mean of their rates."

_GAIN_BETWEEN = 1.3
"""From one pass to the next: a drive or a machine that warms up changes by up to a fifth or so."""
_OPEN_CHANCE, _LARGE = 0.05, 2.0
"""Up to that chance so large a factor is not called chance's either."""
_DRIVE_RAM_BYTES = 512 << 20
"""The largest cache of RAM in data sheets of disks; what lies there is lost without power."""

_OF_DRIVE = ": this is the drive's"

_PAST_RAM = {"direct"}
"""Passes whose reads go past the page cache."""


@dataclass(frozen=True, slots=True)
class Pass:
    """One pass, or one repetition of it, of one drive."""

    name: str
    repetition: int
    """From 1."""
    files: Mapping[str, Figure]
    """By their names."""
    tickets: tuple[TicketRow, ...]
    """Its draws, in their order."""
    served_before: Mapping[str, int]
    """By file: the bytes the drive has served for it in earlier passes of the step."""

    @property
    def figures(self) -> tuple[Figure, ...]:
        """Its files'."""
        return tuple(self.files.values())

    @property
    def is_again(self) -> bool:
        """Whether it was begun before: the drive may have learned from reads that none stored."""
        states = (cache.drive_state for figure in self.figures for cache in figure.caches)
        return any(state.endswith(AFTER_INTERRUPTED) for state in states)

    @property
    def label(self) -> str:
        """`direct`, or `direct, repetition 2`."""
        return self.name if self.repetition == 1 else f"{self.name}, repetition {self.repetition}"

    def find_touches(self) -> Touches | None:
        """First touches against repeats; None where one of both is missing."""
        return find_touches(self.tickets, served_before=self.served_before, is_again=self.is_again)


def find_passes(step: StepFigures) -> tuple[Pass, ...]:
    """The passes of a step in the order in which they ran."""
    names = {ticket.file for ticket in step.tickets}
    by_pass: dict[tuple[str, int], dict[str, Figure]] = {}
    for figure in step.figures:
        this = figure.variant
        if isinstance(this, LotteryVariant) and this.file in names:
            by_pass.setdefault((this.reading, this.repetition), {})[this.file] = figure
    repetitions = Counter(name for name, _ in by_pass)
    passes: list[Pass] = []
    served: Counter[str] = Counter()
    for (name, repetition), files in by_pass.items():
        tickets = _slice(step.tickets, name, repetition=repetition, of=repetitions[name])
        if name == "warm":
            # It is filled from the drive, except for what was in RAM; that is not recorded.
            served.update({t.file: max(0, t.bytes - served[t.file]) for t in tickets if t.nth == 1})
        passes.append(Pass(name, repetition, files, tickets, dict(served)))
        for ticket in tickets:
            served[ticket.file] += ticket.device_read_bytes
    return tuple(passes)


def _slice(
    tickets: Sequence[TicketRow], name: str, *, repetition: int, of: int
) -> tuple[TicketRow, ...]:
    """A repetition's draws: `seq` runs on over repetitions, and each draws every ticket once."""
    draws = sorted((t for t in tickets if t.pass_name == name), key=lambda t: t.seq)
    length = len(draws) // of
    return tuple(draws[(repetition - 1) * length : repetition * length])


def make_block(workload: Workload) -> BlockView:
    """The curves of all drives in one chart per pass; each drive's own, and over the nth read."""
    return BlockView(
        planned=workload.planned,
        charts=_draw_drives(workload),
        tables=(_make_table(workload),),
        folds=(
            *(
                FoldView(summary=f"{step.label}: its passes side by side", charts=charts)
                for step in workload.steps
                if (charts := _draw(step))
            ),
            *plain.make_folds(workload),
        ),
    )


def _draw_drives(workload: Workload) -> tuple[ChartView, ...]:
    """Rate against tickets, a line per drive: one chart per pass, those of the drive first."""
    passes = [(step, one) for step in workload.steps for one in find_passes(step)]
    names = list(dict.fromkeys(one.name for _, one in passes))
    names.sort(key=lambda name: name not in _PAST_RAM)
    charts: list[ChartView] = []
    for number, name in enumerate(names):
        lines = [
            Line(
                LegendView(
                    step.label if one.repetition == 1 else f"{step.label} ({one.repetition})",
                    step.color,
                    f"line-{(one.repetition - 1) % 4}",
                ),
                _over_reads(one),
            )
            for step, one in passes
            if one.name == name
        ]
        svg = draw_lines(
            lines,
            name=f"lottery-drives-{workload.index}-{number}",
            title=f"Mean rate against number of reads of a file, one line per drive, {name} pass",
            x_title="reads of the file (its tickets)",
            y_title="MB/s",
        )
        title = f"{name} pass, all drives: rate against how often a file is read"
        charts += make_chart(title, svg, lines, note=_SHARED_DOTS)
    return tuple(charts)


def _draw(step: StepFigures) -> tuple[ChartView, ...]:
    passes = find_passes(step)
    names = list(dict.fromkeys(one.name for one in passes))
    legends = [
        LegendView(one.label, names.index(one.name), f"line-{(one.repetition - 1) % 4}")
        for one in passes
    ]
    reads = [Line(legend, _over_reads(one)) for one, legend in zip(passes, legends, strict=True)]
    nth = [
        Line(legend, _over_nth(one))
        for one, legend in zip(passes, legends, strict=True)
        # Draws of an invalid pass are in no mean.
        if all(figure.valid for figure in one.figures)
    ]
    over_reads = draw_lines(
        reads,
        name=f"lottery-reads-{step.step.id}",
        title=f"Mean rate against number of reads of a file, one line per pass, {step.label}",
        x_title="reads of the file (its tickets)",
        y_title="mean rate in MB/s",
    )
    over_nth = draw_lines(
        nth,
        name=f"lottery-nth-{step.step.id}",
        title=f"Rate over the nth read of a file, one line per pass, {step.label}",
        x_title="nth read of a file",
        y_title="rate in MB/s",
    )
    often = f"{step.label}: rate against how often a file is read"
    every = "All files that were read at least that often."
    return (
        *make_chart(often, over_reads, reads, note=_SHARED_DOTS),
        *make_chart(f"{step.label}: rate over the nth read", over_nth, nth, note=every),
    )


def _over_reads(one: Pass) -> tuple[tuple[float, float, str], ...]:
    rates: dict[int, list[tuple[str, float]]] = {}
    for file, figure in one.files.items():
        rate = figure.get("rate_bytes_s")
        reads = sum(ticket.file == file for ticket in one.tickets)
        if rate is not None:
            rates.setdefault(reads, []).append((file, rate / 1e6))
    points = []
    for reads, pairs in sorted(rates.items()):
        mean = sum(rate for _, rate in pairs) / len(pairs)
        files = ", ".join(file for file, _ in pairs)
        text = f"{one.label}, {files} ({count(reads, 'read')}): {format_rate(mean * 1e6)} MB/s"
        points.append((float(reads), mean, text))
    return tuple(points)


def _over_nth(one: Pass) -> tuple[tuple[float, float, str], ...]:
    by_nth: dict[int, list[TicketRow]] = {}
    for ticket in one.tickets:
        by_nth.setdefault(ticket.nth, []).append(ticket)
    return tuple(
        (float(nth), rate / 1e6, f"{one.label}, read {nth}: {format_rate(rate)} MB/s")
        for nth, tickets in sorted(by_nth.items())
        if (rate := find_rate(tickets)) is not None
    )


def _make_table(workload: Workload) -> TableView:
    return TableView(
        heads=("Drive", "Pass"),
        columns=("Reads", "First touch, MB/s", "Repeats, MB/s", "Repeats to first", "Major faults"),
        lines=tuple(_make_line(step, one) for step in workload.steps for one in find_passes(step)),
    )


def _make_line(step: StepFigures, one: Pass) -> LineView:
    invalid = explain_invalid(one.figures)
    touches = one.find_touches()
    return LineView(
        heads=(step.label, one.label),
        values=(
            str(len(one.tickets)),
            format_rate(touches.first_bytes_s) if touches else DASH,
            format_rate(touches.repeat_bytes_s) if touches else DASH,
            format_times(touches.ratio) if touches and not invalid else DASH,
            str(sum(ticket.major_faults for ticket in one.tickets)),
        ),
        cache=view_caches(one.figures),
        invalid=invalid,
        struck=bool(invalid),
    )


def _read_rows(step: StepFigures) -> Iterator[Row]:
    for one in find_passes(step):
        touches = one.find_touches()
        if touches is None or not all(figure.valid for figure in one.figures):
            continue
        yield f"{one.label}, first touch", "MB/s", False, touches.first_bytes_s, one.figures
        # Repeats that RAM answered say nothing about any of the three.
        yield (
            f"{one.label}, repeats",
            "MB/s",
            touches.is_of_drive,
            touches.repeat_bytes_s,
            one.figures,
        )


def _read_values(step: StepFigures) -> Iterator[Values]:
    for one in find_passes(step):
        touches = one.find_touches()
        if touches is None or not touches.proven or not all(f.valid for f in one.figures):
            continue
        firsts, repeats = (
            [ticket.bytes / ticket.seconds for ticket in tickets if ticket.seconds > 0]
            for tickets in split_touches(one.tickets)
        )
        # Files that the drive served before show what it has learned, which is another test.
        if touches.served_before_share <= DRIVE_SHARE:
            yield Values(f"{one.label}, first touches", "MB/s", firsts, one.figures)
        if touches.is_of_drive:
            yield Values(f"{one.label}, repeats", "MB/s", repeats, one.figures)


def _judge(workload: Workload) -> Iterable[Finding]:
    for step in workload.steps:
        untrained: tuple[Pass, Touches] | None = None
        for one in find_passes(step):
            touches = one.find_touches()
            if one.tickets and not split_touches(one.tickets)[1]:
                text = f"the lottery's {one.label} pass shows nothing: no file was read again from"
                yield Finding("remark", step.label, f"{text} elsewhere. More tickets would tell.")
            if touches is None or not touches.proven or not all(f.valid for f in one.figures):
                continue
            if touches.served_before_share <= DRIVE_SHARE:
                untrained = untrained or (one, touches)
            yield _judge_pass(step.label, one, touches, untrained)


def _judge_pass(
    label: str,
    one: Pass,
    touches: Touches,
    untrained: tuple[Pass, Touches] | None,
) -> Finding:
    """`untrained` is the first pass whose first touches the drive had not served before."""
    times, share = touches.ratio, touches.repeat_ram_share
    text = (
        f"in the lottery's {one.label} pass repeats were {say_times(times)} first touches"
        f" ({format_rate(touches.first_bytes_s)} MB/s, then"
        f" {format_rate(touches.repeat_bytes_s)} MB/s; n = {touches.firsts} and"
        f" {touches.repeats} reads); {_say_start(one)}RAM answered {format_share(share)} of the"
        f" repeats{_say_faults(touches)}"
    )
    if share > DRIVE_SHARE:
        return Finding("flat", label, f"{text}, so this does not show the drive.", is_aside=True)
    if touches.is_of_drive:
        return _judge_within(label, text, touches)
    if one.is_again:
        text += (
            ". The pass had been begun before and was interrupted, so these first touches do not"
            " show what the drive learns by reading."
        )
        return Finding("flat", label, text)
    text = (
        f"{text}. The drive had served {format_share(touches.served_before_share)} of the files"
        " before, so these first touches do not show what it learns by reading"
    )
    if untrained is None:
        return Finding("flat", label, f'{text}: that takes "direct" as the first pass.')
    first, at_first = untrained
    times = touches.first_bytes_s / at_first.first_bytes_s
    text += (
        f": they were {say_times(times)} those of the {first.label} pass"
        f" ({format_rate(at_first.first_bytes_s)} MB/s)"
    )
    if first.name == one.name:
        between = compare_touches(one.tickets, first.tickets, learned_in_pass=at_first.has_gain)
        return _judge_between(label, text, times, between, of_bytes=touches.files_bytes)
    text += ', which reads in another way; with "direct" as the first pass both read alike.'
    return Finding("flat", label, text)


def _judge_within(label: str, text: str, touches: Touches) -> Finding:
    """Whether a pass shows that repeats are faster than first touches, and not chance."""
    text += _OF_DRIVE
    doubt = _doubt_chance(touches.ratio, touches.chance)
    if doubt:
        return Finding("flat", label, text + doubt)
    if not touches.has_gain:
        text += (
            ", and not decided: most first touches come early, and whatever is slow for a while"
            f" then does as much in {_percent(touches.deal_chance)} of all draws of these tickets."
            " Another seed, or more files or tickets, would tell."
        )
        return Finding("flat", label, text)
    return _make_gain(label, text, of_bytes=touches.files_bytes)


def _judge_between(
    label: str, text: str, times: float, between: PassComparison, *, of_bytes: int
) -> Finding:
    """Whether a pass shows that the drive has learned since an earlier one."""
    text += _OF_DRIVE
    doubt = _doubt_chance(times, between.chance)
    if doubt:
        return Finding("flat", label, text + doubt)
    if between.ratio < _GAIN_BETWEEN:
        text += (
            f", and not decided: against all reads of that pass it is {between.ratio:.2f} times,"
            " and a drive or a machine that warms up may do as much from one pass to the next."
        )
        return Finding("flat", label, text)
    return _make_gain(label, text, of_bytes=of_bytes)


def _doubt_chance(times: float, chance: Chance) -> str:
    """The end of a sentence about what is no gain, or chance's; empty where it is neither."""
    if times < GAIN:
        return ", and no gain."
    if chance.least > CHANCE:
        few = "with so few reads chance may do as much. More files or tickets would tell."
        return f", and not decided: {few}"
    if chance.value > CHANCE:
        orders = f"chance does as much in {_percent(chance.value)} of all orders of these reads"
        if chance.value <= _OPEN_CHANCE and times >= _LARGE:
            return f", and not decided: {orders}. More would tell."
        return f", and no proof of a gain: {orders}."
    return ""


def _make_gain(label: str, text: str, *, of_bytes: int) -> Finding:
    if of_bytes <= _DRIVE_RAM_BYTES:
        text += f", though its own RAM may hold the {format_bytes(of_bytes)} that were read"
    return Finding("gain", label, f"{text}.")


def _say_faults(touches: Touches) -> str:
    """Reads through memory alone make faults: elsewhere there are none to tell."""
    if not touches.first_faults and not touches.later_faults:
        return ""
    first = count(touches.first_faults, "major page fault")
    return f" ({first} at the first touches, {touches.later_faults} later)"


def _percent(share: float) -> str:
    """One digit below ten, as these are small."""
    return f"{share * 100:.{0 if share >= 0.1 else 1}f} %"


def _say_start(one: Pass) -> str:
    """Of a pass through the page cache, of which `find_touches` has the proof by its draws."""
    is_direct = all(ticket.page_cache == "bypass" for ticket in one.tickets)
    return "" if is_direct else "the pass began cold, proven; "


_RULE = (
    "Lottery: bytes over seconds of repeats divided by those of first touches, each file"
    " weighted by its number of repeats. A repeat right behind a read of the same file, or of"
    " the one that lies before it, is not counted. It is called the drive's gain from a factor"
    f" of {GAIN:.1f} on, if in no more than {CHANCE * 100:g} % of all orders of a file's"
    " reads the first ones would be as slow (Wilcoxon's test within each file), in a pass whose"
    f" repeats RAM answered by no more than {DRIVE_SHARE * 100:.0f} %, and whose files"
    " the drive had not served before. The first touches alone must have come from the drive."
    f" And if in no more than {DEAL_CHANCE * 100:g} % of all draws of the same tickets the first"
    " read of each file, or the first two, would meet the slow moments as they did: first touches"
    " come early, and what is slow for a while is no gain. From one pass to the next a gain must"
    f" be {_GAIN_BETWEEN:.1f} times, against the median of all reads of a file in the earlier pass,"
    " or its first touch where that pass itself showed a gain. It is not decided where only these"
    " two are missing, where the reads are too few for so small a share whatever the drive does, or"
    f" where the factor is {_LARGE:.1f} at least and the share no more than"
    f" {_OPEN_CHANCE * 100:g} %."
)
SECTION = Section(
    title="Lottery",
    note=NOTE,
    make_blocks=partial(map, make_block),
    read_rows=_read_rows,
    read_values=_read_values,
    judge=_judge,
    rules=(_RULE,),
)

"""Conclusions from workloads' figures, in plain sentences, each by a stated rule. Pure.

Only figures speak that are valid and proven, at least in how they began; each says how much of it
RAM answered, which is never told as the drive's.
"""

from collections.abc import Iterable, Sequence

from appliance.report import sustained
from appliance.report.arrays.findings import (
    ARRAY_RULES,
    find_array_findings,
    find_covered,
    find_order_findings,
)
from appliance.report.blocks import (
    count,
    format_bytes,
    format_number,
    format_rate,
    format_share,
    say_start,
)
from appliance.report.boots.findings import Finding
from appliance.report.figures import Figure, Workload
from appliance.samples.first_touch import Chance
from appliance.samples.steady_state import WINDOW
from appliance.samples.variants import OTHER, TOTAL
from appliance.statistics import stats
from appliance.workloads.fio import report as fio
from appliance.workloads.lottery import report as lottery
from appliance.workloads.matrix import report as matrix
from appliance.workloads.sql import report as sql
from appliance.workloads.surface import report as surface
from appliance.workloads.sweep import report as sweep

_GAIN = 1.0 + stats.TOLERANCE
_CHANCE = 0.005
"""Less than elsewhere: how long a disk takes also depends on where its head was before."""
_OPEN_CHANCE, _LARGE = 0.05, 2.0
"""Up to that chance so large a factor is not called chance's either."""
_DRIVE_RAM_BYTES = 512 << 20
"""The largest cache of RAM in data sheets of disks; what lies there is lost without power."""

WORKLOAD_RULES = (
    (
        "Of workloads only figures speak that are valid, whose cache state is proven, or which"
        " are proven to have begun with an empty page cache and say how much RAM answered since;"
        " n is how many."
    ),
    (
        "Lottery: bytes over seconds of repeats divided by those of first touches, each file"
        " counted as often as it was repeated. A repeat right behind a read of the same file, or of"
        " the one that lies before it, is not counted. It is called the drive's gain from a factor"
        f" of {_GAIN:.1f} on, if in no more than {_CHANCE * 100:g} % of all orders of a file's"
        " reads the first ones would be as slow (Wilcoxon's test within each file), in a pass whose"
        f" repeats RAM answered by no more than {lottery.DRIVE_SHARE * 100:.0f} %, and whose files"
        " the drive had not served before. The first touches alone must have come from the drive."
        " It is not decided where the reads are too few for so small a share whatever the drive"
        f" does, or where the factor is {_LARGE:.1f} at least and the share no more than"
        f" {_OPEN_CHANCE * 100:g} %."
    ),
    "Matrix: the median over all record sizes of the largest file.",
    (
        "Writing falls: all that was written is cut into pieces of equal size. Three quarters of"
        f" the pieces before the fall are at least {sustained.DROP:.1f} times as fast as three"
        " quarters of those behind, and so is the median of the three right before it to that of"
        " the three right behind. Only of steps that wrote in one way."
    ),
)


def list_rules(workloads: Sequence[Workload]) -> tuple[str, ...]:
    """The rules behind the sentences about these workloads."""
    arrays = any(step.place == "array" for workload in workloads for step in workload.steps)
    return (*WORKLOAD_RULES, *(ARRAY_RULES if arrays else ()))


def find_workload_findings(workloads: Sequence[Workload]) -> tuple[Finding, ...]:
    """What each workload showed, the array's place and gains first; then failures and doubts.

    Drives that did the same stand in one sentence, so that many drives stay readable.
    """
    found = list(find_order_findings(workloads))
    for workload in workloads:
        judge = _JUDGES.get(workload.kind)
        covered = find_covered(workload)
        told = judge(workload) if judge else ()
        found += [finding for finding in told if finding.subject not in covered]
        found += _judge_writing(workload)
    found += find_array_findings(workloads)
    found.sort(key=lambda finding: finding.kind != "gain")
    for workload in workloads:
        found += _judge_states(workload)
        found += _judge_proofs(workload)
    return tuple(found)


def _judge_lottery(workload: Workload) -> Iterable[Finding]:
    for step in workload.steps:
        untrained: tuple[lottery.Pass, lottery.Touches] | None = None
        for one in lottery.find_passes(step):
            touches = lottery.find_touches(one)
            if one.tickets and not lottery.split_touches(one)[1]:
                text = f"the lottery's {one.label} pass shows nothing: no file was read again from"
                yield Finding("remark", step.label, f"{text} elsewhere. More tickets would tell.")
            if touches is None or not touches.proven or not _all_valid(one.figures):
                continue
            if touches.served_before_share <= lottery.DRIVE_SHARE:
                untrained = untrained or (one, touches)
            yield _judge_pass(step.label, one, touches, untrained)


def _judge_pass(
    label: str,
    one: lottery.Pass,
    touches: lottery.Touches,
    untrained: tuple[lottery.Pass, lottery.Touches] | None,
) -> Finding:
    """`untrained` is the first pass whose first touches the drive had not served before."""
    times, share = touches.ratio, touches.repeat_ram_share
    text = (
        f"in the lottery's {one.label} pass repeats were {_say_times(times)} first touches"
        f" ({format_rate(touches.first_bytes_s)} MB/s, then"
        f" {format_rate(touches.repeat_bytes_s)} MB/s; n = {touches.firsts} and"
        f" {touches.repeats} reads); {_say_start(one)}RAM answered {format_share(share)} of the"
        " repeats"
    )
    if share > lottery.DRIVE_SHARE:
        return Finding("flat", label, f"{text}, so this does not show the drive.", is_aside=True)
    if touches.is_of_drive:
        return _judge_times(label, text, times, touches.chance, of_bytes=touches.files_bytes)
    text = (
        f"{text}. The drive had served {format_share(touches.served_before_share)} of the files"
        " before, so these first touches do not show what it learns by reading"
    )
    if untrained is None:
        return Finding("flat", label, f'{text}: that takes "direct" as the first pass.')
    first, at_first = untrained
    times = touches.first_bytes_s / at_first.first_bytes_s
    text += (
        f": they were {_say_times(times)} those of the {first.label} pass"
        f" ({format_rate(at_first.first_bytes_s)} MB/s)"
    )
    if first.name == one.name:
        chance = lottery.find_chance_against(one, first)
        return _judge_times(label, text, times, chance, of_bytes=touches.files_bytes)
    text += ', which reads in another way; with "direct" as the first pass both read alike.'
    return Finding("flat", label, text)


def _judge_times(label: str, text: str, times: float, chance: Chance, *, of_bytes: int) -> Finding:
    """Whether the drive's later reads show a gain over its earlier ones."""
    text += ": this is the drive's"
    if times < _GAIN:
        return Finding("flat", label, f"{text}, and no gain.")
    if chance.least > _CHANCE:
        few = "with so few reads chance may do as much. More files or tickets would tell."
        return Finding("flat", label, f"{text}, and not decided: {few}")
    if chance.value > _CHANCE:
        orders = f"chance does as much in {_percent(chance.value)} of all orders of these reads"
        if chance.value <= _OPEN_CHANCE and times >= _LARGE:
            return Finding("flat", label, f"{text}, and not decided: {orders}. More would tell.")
        return Finding("flat", label, f"{text}, and no proof of a gain: {orders}.")
    if of_bytes <= _DRIVE_RAM_BYTES:
        text += f", though its own RAM may hold the {format_bytes(of_bytes)} that were read"
    return Finding("gain", label, f"{text}.")


def _percent(share: float) -> str:
    """One digit below ten, as these are small."""
    return f"{share * 100:.{0 if share >= 0.1 else 1}f} %"


def _say_start(one: lottery.Pass) -> str:
    """Of a pass through the page cache, of which `find_touches` has the proof by its draws."""
    is_direct = all(ticket.page_cache == "bypass" for ticket in one.tickets)
    return "" if is_direct else "the pass began cold, proven; "


def _say_times(times: float) -> str:
    value, how = (times, "fast") if times >= 0.95 else (1 / times, "slow")
    # A tenth would call 1.08 as much as a gain has to be.
    return f"{value:.{2 if 1.05 <= value < 1.15 else 1}f} times as {how} as"


def _judge_fio(workload: Workload) -> Iterable[Finding]:
    tests = [
        (legend.label, test)
        for legend, own in fio.find_series(workload)
        for test in own
        if _all_tellable(test.window)
    ]
    # Of one array in several modes the modes are told, not the array each time.
    several = len({label for label, _ in tests}) > 1 and all(test.mode for _, test in tests)
    for name in dict.fromkeys(test.name for _, test in tests):
        told = []
        for label, test in tests:
            if test.name == name:
                iops, rate = format_number(test.get("iops")), format_rate(test.get("bw_bytes_s"))
                figure = f"{iops} IOPS" if test.random else f"{rate} MB/s"
                place = test.mode if several else label
                told.append((f"{place}: {figure}{_say_rounds(test)}", test.window))
        subject = f"fio, {name}, the array in its cache modes" if several else f"fio, {name}"
        yield _compare(subject, told)


def _say_rounds(test: fio.Test) -> str:
    if test.steady is None:
        return ""
    ran, first = len(test.rounds), _say_first_round(test)
    if test.steady:
        return f" (last {WINDOW} of {ran} rounds{first})"
    mean = f"; mean of the last {WINDOW}" if ran > WINDOW else ""
    return f" (not steady after {count(ran, 'round')}{mean}{first})"


def _say_first_round(test: fio.Test) -> str:
    """What the last rounds hide: the drive was another one before it was as it is now."""
    metric = "iops" if test.random else "bw_bytes_s"
    first, last = test.rounds[0].get(metric), test.get(metric)
    if not first or not last or 1 / sustained.DROP < first / last < sustained.DROP:
        return ""
    return f"; the first was {_say_times(first / last).removesuffix(' as')}"


def _judge_matrix(workload: Workload) -> Iterable[Finding]:
    cells = [(step.label, matrix.find_cells(step)) for step in workload.steps]
    everything = [cell for _, own in cells for cell in own]
    largest = matrix.find_largest(everything)
    for operation in dict.fromkeys(cell.operation for cell in everything):
        told = []
        for label, own in cells:
            figures = [
                cell.figure
                for cell in own
                if (cell.size, cell.operation) == (largest, operation) and cell.figure.is_tellable
            ]
            rates = [figure.values["rate_bytes_s"] for figure in figures]
            median = stats.find_median(rates)
            if median is not None:
                spread = f"{format_rate(min(rates))} to {format_rate(max(rates))}"
                text = f"{label}: {format_rate(median)} MB/s ({spread}, n = {len(rates)})"
                told.append((text, figures))
        if told:
            yield _compare(f"matrix, {operation} of {largest}, median over record sizes", told)


def _judge_sweep(workload: Workload) -> Iterable[Finding]:
    points = [
        (step.label, point)
        for step in workload.steps
        for point in sweep.find_points(step)
        if point.figure.is_tellable
    ]
    for test, access in dict.fromkeys((point.test, point.access) for _, point in points):
        metric, factor, unit = sweep.find_metric(test)
        told = []
        for label in dict.fromkeys(label for label, _ in points):
            own = [
                (point.size, value / factor, point.figure)
                for other, point in points
                if (other, point.test, point.access) == (label, test, access)
                and (value := point.figure.get(metric)) is not None
            ]
            if len(own) >= 2:
                (small, first, _), (large, last, _) = own[0], own[-1]
                text = (
                    f"{label}: {format_number(first)} {unit} on {small}, {format_number(last)} on"
                    f" {large} (n = {len(own)})"
                )
                told.append((text, [figure for _, _, figure in own]))
        if told:
            yield _compare(f"sweep, {test}, {access}", told)


def _judge_sql(workload: Workload) -> Iterable[Finding]:
    told = []
    for step in workload.steps:
        figures = sql.find_phases(step)
        total = sql.find_seconds(step)["total"]
        if total is not None and len(figures) == len(sql.PHASES) and _all_tellable(figures):
            minutes = f" ({int(total) // 60} min {int(total) % 60} s)" if total >= 60 else ""
            told.append((f"{step.label}: {total:.1f} s{minutes}", figures))
    if told:
        yield _compare("SQL, all phases", told)


def _judge_surface(workload: Workload) -> Iterable[Finding]:
    told = []
    for step in workload.steps:
        whole = surface.find_whole(step)
        # What is wrong is told of a scan without an end, too.
        for text in surface.tell_troubles(step):
            yield Finding("remark", step.label, text)
        if whole is not None and _all_tellable([whole]) and whole.get("bw_bytes_s") is not None:
            rates = (whole.get(f"{name}_slice_bytes_s") for name in ("min", "max"))
            low, high = (format_rate(rate) for rate in rates)
            mean = format_rate(whole.get("bw_bytes_s"))
            ways = "; a sample, with the ways to it" if whole.values.get("sampled_places") else ""
            text = f"{step.label}: {mean} MB/s (slices from {low} to {high}{ways})"
            told.append((text, [whole]))
    if told:
        yield _compare("surface", told)


_JUDGES = {
    "lottery": _judge_lottery,
    "fio": _judge_fio,
    "matrix": _judge_matrix,
    "sweep": _judge_sweep,
    "sql": _judge_sql,
    "surface": _judge_surface,
}


def _compare(subject: str, told: Sequence[tuple[str, Sequence[Figure]]]) -> Finding:
    """All drives in one sentence; where their caches differ, each has its own.

    A colon stands behind each drive's name: a serial number may look like a figure.
    """
    states = [_say_cache(figures) for _, figures in told]
    if len(set(states)) == 1:
        return Finding("flat", subject, f"{', '.join(text for text, _ in told)}; {states[0]}.")
    each = (f"{text}, {state}" for (text, _), state in zip(told, states, strict=True))
    return Finding("flat", subject, f"{'; '.join(each)}.")


def _judge_writing(workload: Workload) -> Iterable[Finding]:
    """Where a drive began to write more slowly; why it did, the figures do not say."""
    for step in workload.steps:
        drop = sustained.find_drop(step) if workload.kind in sustained.KINDS else None
        if drop is not None:
            at_least = "at least " if drop.is_brief else ""
            text = (
                f"writing fell from {at_least}{format_rate(drop.fast_bytes_s)} to"
                f" {format_rate(drop.slow_bytes_s)} MB/s once {format_bytes(drop.after_bytes)} were"
                f" written, and stayed there ({workload.kind}; medians)."
            )
            yield Finding("flat", step.label, text)


def _judge_states(workload: Workload) -> Iterable[Finding]:
    for step in workload.steps:
        if step.step.state in {"failed", "skipped"}:
            reason = step.step.reason or "no reason recorded"
            kind = step.step.kind
            yield Finding("remark", step.label, f"{kind} {step.step.state}: {reason}.")


def _judge_proofs(workload: Workload) -> Iterable[Finding]:
    figures = [
        (step.label, figure)
        for step in workload.steps
        for figure in step.figures
        # The total of SQL is a sum without caches of its own.
        if figure.variant not in {OTHER, TOTAL}
    ]
    invalid = [label for label, figure in figures if not figure.valid]
    unproven = [label for label, figure in figures if figure.valid and not figure.is_tellable]
    kind, total = workload.kind, count(len(figures), "figure")
    if invalid:
        text = f"{kind}: {len(invalid)} of {total} invalid and in no mean."
        yield Finding("remark", ", ".join(dict.fromkeys(invalid)), text)
    if unproven:
        text = (
            f"{kind}: of {len(unproven)} of {total} neither the cache state is proven nor that"
            " they began cold; no sentence here is built on them."
        )
        yield Finding("proof", ", ".join(dict.fromkeys(unproven)), text)


def _all_valid(figures: Iterable[Figure]) -> bool:
    return all(figure.valid for figure in figures)


def _all_tellable(figures: Iterable[Figure]) -> bool:
    return all(figure.is_tellable for figure in figures)


def _say_cache(figures: Sequence[Figure]) -> str:
    dirty_bytes = max((figure.dirty_bytes for figure in figures), default=0)
    busy = f"; the array not clean, up to {format_bytes(dirty_bytes)} dirty" if dirty_bytes else ""
    return f"{say_start(figures)}{busy}"

"""What the figures of workloads say, in plain sentences, each by a stated rule. Pure.

Only figures that are valid and whose cache state is proven speak; what RAM answered is never told
as the drive's.
"""

from collections.abc import Iterable, Sequence

from appliance import stats
from appliance.report.blocks import (
    count,
    find_ram_share,
    format_number,
    format_rate,
    format_share,
)
from appliance.report.figures import OTHER, Figure, StepFigures, Workload, size_key
from appliance.report.findings import Finding
from appliance.report.kinds import fio, lottery, matrix, sql, sweep
from appliance.report.workload_rows import TicketRow
from appliance.units import printable

_GAIN = 1.0 + stats.TOLERANCE
_DRIVE_SHARE = 0.05

WORKLOAD_RULES = (
    (
        "Of workloads only figures speak that are valid and whose cache state is proven; n is how"
        " many."
    ),
    (
        "Lottery: bytes over seconds of all repeats divided by those of all first touches. It is"
        f" called the drive's gain from a factor of {_GAIN:.1f} on in a pass whose repeats RAM"
        f" answered by no more than {_DRIVE_SHARE * 100:.0f} %."
    ),
    "Matrix: the median over all record sizes of the largest file.",
)


def find_workload_findings(workloads: Sequence[Workload]) -> tuple[Finding, ...]:
    """What each workload showed, gains first; then what failed and what is not proven."""
    found: list[Finding] = []
    for workload in workloads:
        for step in workload.steps:
            judge = _JUDGES.get(workload.kind)
            found += judge(step) if judge else ()
    found.sort(key=lambda finding: finding.kind != "gain")
    for workload in workloads:
        for step in workload.steps:
            found += _judge_state(step)
            found += _judge_proofs(step)
    return tuple(found)


def _judge_lottery(step: StepFigures) -> Iterable[Finding]:
    for one in lottery.find_passes(step):
        touches = lottery.find_touches(one.tickets)
        if touches is None or not all(figure.proven for figure in one.figures):
            continue
        share = find_ram_share(one.figures)
        times = touches.ratio
        asked = sum(ticket.bytes for ticket in _list_repeats(one))
        served = sum(ticket.device_read_bytes for ticket in _list_repeats(one))
        repeats_share = max(0.0, 1.0 - served / asked) if asked else None
        from_drive = repeats_share is not None and repeats_share <= _DRIVE_SHARE
        how = (
            f"{times:.1f} times as fast as" if times >= 1.0 else f"{1 / times:.1f} times as slow as"
        )
        text = (
            f"lottery, {one.label} pass: repeats were {how} first touches"
            f" ({format_rate(touches.first_bytes_s)} MB/s, then"
            f" {format_rate(touches.repeat_bytes_s)} MB/s;"
            f" n = {touches.firsts} first touches, {count(touches.repeats, 'repeat')})."
            f" RAM answered {format_share(repeats_share)} of the repeats"
            f" and {format_share(share)} of all reads"
        )
        if from_drive:
            yield Finding("gain" if times >= _GAIN else "flat", step.label, f"{text}.")
        else:
            yield Finding("flat", step.label, f"{text}: not the drive alone.")


def _list_repeats(one: lottery.Pass) -> list[TicketRow]:
    seen: set[str] = set()
    repeats = []
    for ticket in one.tickets:
        if ticket.file in seen:
            repeats.append(ticket)
        seen.add(ticket.file)
    return repeats


def _judge_fio(step: StepFigures) -> Iterable[Finding]:
    for test in fio.find_tests(step):
        if not all(figure.proven for figure in test.window):
            continue
        rate, iops = test.get("bw_bytes_s"), test.get("iops")
        figure = f"{format_number(iops)} IOPS" if test.random else f"{format_rate(rate)} MB/s"
        rounds = f", mean of the last {len(test.window)} rounds" if len(test.rounds) > 1 else ""
        yield Finding(
            "flat",
            step.label,
            f"fio, {test.name}: {figure}{rounds}, {_say_cache(test.window)}.",
        )


def _judge_matrix(step: StepFigures) -> Iterable[Finding]:
    cells = matrix.find_cells(step)
    largest = matrix.find_largest(cells)
    for operation in dict.fromkeys(cell.operation for cell in cells):
        figures = [
            cell.figure
            for cell in cells
            if cell.size == largest and cell.operation == operation and cell.figure.proven
        ]
        rates = [figure.values["rate_bytes_s"] for figure in figures]
        median = stats.find_median(rates)
        if median is not None:
            yield Finding(
                "flat",
                step.label,
                f"matrix, {operation} of {largest}: median {format_rate(median)} MB/s"
                f" ({format_rate(min(rates))} to {format_rate(max(rates))}; n ="
                f" {count(len(rates), 'record size')}), {_say_cache(figures)}.",
            )


def _judge_sweep(step: StepFigures) -> Iterable[Finding]:
    points = [point for point in sweep.find_points(step) if point.figure.proven]
    for test, access in dict.fromkeys((point.test, point.access) for point in points):
        metric, factor, unit = sweep.find_metric(test)
        own = [
            (point.size, value / factor, point.figure)
            for point in points
            if (point.test, point.access) == (test, access)
            and (value := point.figure.get(metric)) is not None
        ]
        own.sort(key=lambda one: size_key(one[0]))
        if len(own) >= 2:
            (small, first, _), (large, last, _) = own[0], own[-1]
            yield Finding(
                "flat",
                step.label,
                f"sweep, {test}, {access}: {format_number(first)} {unit} on {small},"
                f" {format_number(last)} {unit} on {large} (n = {len(own)} set sizes),"
                f" {_say_cache([figure for _, _, figure in own])}.",
            )


def _judge_sql(step: StepFigures) -> Iterable[Finding]:
    figures = sql.find_phases(step)
    total = sql.find_seconds(step)["total"]
    if total is not None and all(figure.proven for figure in figures):
        minutes = f" ({int(total) // 60} min {int(total) % 60} s)" if total >= 60 else ""
        yield Finding(
            "flat",
            step.label,
            f"SQL: {total:.1f} s{minutes} for all phases, {_say_cache(figures)}.",
        )


_JUDGES = {
    "lottery": _judge_lottery,
    "fio": _judge_fio,
    "matrix": _judge_matrix,
    "sweep": _judge_sweep,
    "sql": _judge_sql,
}


def _judge_state(step: StepFigures) -> Iterable[Finding]:
    if step.step.state in {"failed", "skipped"}:
        reason = printable(step.step.reason) or "no reason recorded"
        yield Finding("remark", step.label, f"{step.step.kind} {step.step.state}: {reason}.")


def _judge_proofs(step: StepFigures) -> Iterable[Finding]:
    measured = [figure for figure in step.figures if figure.variant != OTHER]
    invalid = sum(not figure.valid for figure in measured)
    unproven = sum(figure.valid and not figure.proven for figure in measured)
    if invalid:
        yield Finding(
            "remark",
            step.label,
            f"{step.step.kind}: {invalid} of {count(len(measured), 'figure')} invalid and in no"
            " mean.",
        )
    if unproven:
        yield Finding(
            "proof",
            step.label,
            f"{step.step.kind}: the cache state of {unproven} of"
            f" {count(len(measured), 'figure')} is not proven; no sentence here is built on them.",
        )


def _say_cache(figures: Sequence[Figure]) -> str:
    states = dict.fromkeys(cache.page_cache for figure in figures for cache in figure.caches)
    share = find_ram_share(figures)
    ram = "" if share is None else f"; RAM answered {format_share(share)}"
    return f"page cache {', '.join(states)}, proven{ram}"

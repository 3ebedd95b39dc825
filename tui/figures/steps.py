# SPDX-License-Identifier: Apache-2.0
"""The main figures of a step from its rows in `results` and `tickets`. Pure.

No figure leaves here without the cache state it was taken under.
"""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import get_args

from appliance.samples.model import PageCache
from appliance.samples.variants import CACHE_MODES, OTHER, TOTAL, ArrayVariant
from appliance.store.read.figures import FigureRow, TicketSum
from appliance.workloads.fio.keys import TESTS, FioVariant
from appliance.workloads.lottery.keys import LotteryPass, LotteryVariant
from appliance.workloads.matrix.keys import MatrixVariant, Operation
from appliance.workloads.sql.keys import PHASES
from appliance.workloads.sweep.keys import SweepVariant
from tui.charset import one_line
from tui.figures.array import add_hits, is_inner
from tui.figures.drive_tests import METRICS as FIELD_METRICS
from tui.figures.drive_tests import Draft, draft_selftest, draft_surface, draft_verify
from tui.format import show_count, show_iops, show_number, show_rate
from tui.language import _
from tui.model.campaigns import Figure

METRICS = ("bw_bytes_s", "iops", "rate_bytes_s", "seconds", "touch_ratio", *FIELD_METRICS)
"""What of `results` is looked at here."""

_STATES = get_args(PageCache)
_PASSES = get_args(LotteryPass)
_OPERATIONS = get_args(Operation)


def find_figures(
    kind: str,
    rows: Sequence[FigureRow],
    tickets: Sequence[TicketSum] = (),
    power_offs: Sequence[str] = (),
) -> tuple[Figure, ...]:
    """What a person wants to know of the step first, in lines. `power_offs`: each one's proof."""
    figure_rows = [row for row in rows if row.metric in METRICS and not is_inner(row)]
    match kind:
        case "surface":
            return _finish(draft_surface(figure_rows))
        case "verify":
            return _finish(draft_verify(figure_rows, power_offs))
        case "selftest":
            return _finish(draft_selftest(figure_rows))
        case _:
            return add_hits(_find_own(kind, figure_rows, tickets), rows)


def is_shown(row: FigureRow) -> bool:
    """Whether something is made of it, here, of the array, or in a picture."""
    return row.variant != OTHER and (
        row.metric in {*METRICS, "warm_up_rounds"}
        or row.variant == ArrayVariant()
        or (is_inner(row) and row.metric == "hit_ratio")
    )


def _finish(drafts: Iterable[Draft]) -> tuple[Figure, ...]:
    return tuple(_figure(name, text, rows) for name, text, rows in drafts)


def _find_own(
    kind: str, rows: Sequence[FigureRow], tickets: Sequence[TicketSum]
) -> Iterable[Figure]:
    match kind:
        case "lottery":
            return _lottery(rows, tickets)
        case "fio":
            return _fio(rows)
        case "matrix":
            return _matrix(rows)
        case "sweep":
            return _sweep(rows)
        case "sql":
            return _sql(rows)
        case _:
            return _plain(rows)


def _plain(rows: Sequence[FigureRow]) -> Iterable[Figure]:
    """Of a kind about which no more is known here: the rates of each part."""
    for this in dict.fromkeys(row.variant for row in rows):
        part_rows = [row for row in rows if row.variant == this]
        for metric, text in [*_show_rates(part_rows).items()][:1]:
            value = next(row.value for row in part_rows if row.metric == metric)
            yield _figure(str(this), f"{text:>12}", part_rows, value=value)


def _show_rates(rows: Sequence[FigureRow]) -> dict[str, str]:
    """Bytes and requests a second, by metric, as far as there are any."""
    return {
        row.metric: show(row.value)
        for metric, show in (("bw_bytes_s", show_rate), ("iops", show_iops))
        for row in rows
        if row.metric == metric
    }


def _lottery(rows: Sequence[FigureRow], tickets: Sequence[TicketSum]) -> Iterable[Figure]:
    for name in _ordered({ticket.pass_name for ticket in tickets}, _PASSES):
        pass_tickets = [ticket for ticket in tickets if ticket.pass_name == name]
        pass_rows = [
            row
            for row in rows
            if isinstance(row.variant, LotteryVariant) and row.variant.reading == name
        ]
        seconds = sum(ticket.seconds for ticket in pass_tickets)
        rate = sum(ticket.bytes for ticket in pass_tickets) / seconds if seconds else 0.0
        # `direct`, and `direct/2` from the second repetition on
        ratios = [row.value for row in pass_rows if row.metric == "touch_ratio"]
        ends = ratios if len(ratios) < 2 else [ratios[0], ratios[-1]]
        ratio = " -> ".join(show_number(ratio, ".2f") for ratio in ends)
        touch = _("repeat/first {ratio}").format(ratio=f"{ratio:>5}") if ends else ""
        yield Figure(
            one_line(name),
            f"{show_rate(rate):>12}  {touch}".rstrip(),
            name_cache([ticket.page_cache for ticket in pass_tickets], pass_rows),
            valid=all(row.valid for row in pass_rows),
            short=show_rate(rate),
            value=rate,
        )


def _fio(rows: Sequence[FigureRow]) -> Iterable[Figure]:
    # Rounds, passes of preconditioning and the ways of a mixed job: `seq-read/round-3`.
    variants = {this: row for row in rows if isinstance(this := row.variant, FioVariant)}
    whole = [this for this in variants if this == this.whole] or list(variants)

    def place(this: FioVariant) -> tuple[int, int, str]:
        return _place(this.mode, CACHE_MODES), _place(this.test, TESTS), str(this)

    for this in sorted(whole, key=place):
        test_rows = [row for row in rows if row.variant == this]
        if texts := _show_rates(test_rows):
            text = "  ".join(f"{rate:>12}" for rate in texts.values())
            metric = "iops" if this.test.startswith(("rand", "rnd")) else "bw_bytes_s"
            main = metric if metric in texts else next(iter(texts))
            value = next(row.value for row in test_rows if row.metric == main)
            yield replace(_figure(str(this), text, test_rows), short=texts[main], value=value)


def _matrix(rows: Sequence[FigureRow]) -> Iterable[Figure]:
    by_operation: dict[str, list[FigureRow]] = {}
    for row in rows:
        if isinstance(row.variant, MatrixVariant) and row.metric == "rate_bytes_s":
            by_operation.setdefault(row.variant.operation, []).append(row)
    for name in _ordered(by_operation, _OPERATIONS):
        cells = by_operation[name]
        values = [row.value for row in cells]
        most = max(values)
        text = _("{least} to {most}").format(
            least=f"{show_rate(min(values)):>12}", most=show_rate(most)
        )
        short = _("up to {most}").format(most=show_rate(most))
        yield replace(_figure(name, text, cells), short=short, value=most)


def _sweep(rows: Sequence[FigureRow]) -> Iterable[Figure]:
    lines: dict[str, dict[SweepVariant, FigureRow]] = {}
    for row in rows:
        if isinstance(this := row.variant, SweepVariant) and row.metric == "iops":
            lines.setdefault(f"{this.test}/{this.access}", {})[this] = row
    for name in _ordered(lines, TESTS):
        sets = sorted(lines[name], key=lambda this: this.set_bytes)
        least_and_most = sets if len(sets) == 1 else [sets[0], sets[-1]]
        ends = [lines[name][this] for this in least_and_most]
        counts = " -> ".join(show_count(row.value) for row in ends)
        sizes = " -> ".join(one_line(this.size) for this in least_and_most)
        figure = _figure(name, f"{counts} IOPS ({sizes})", ends)
        yield replace(figure, short=counts, value=ends[-1].value)


def _sql(rows: Sequence[FigureRow]) -> Iterable[Figure]:
    times = [row for row in rows if row.metric == "seconds"]
    total = [row for row in times if row.variant == TOTAL]
    phases = [row for name in PHASES for row in times if str(row.variant) == name]
    if total:
        yield _figure("total", _show_seconds(total[0]), total, value=total[0].value)
    for row in phases:
        yield _figure(str(row.variant), _show_seconds(row), [row], value=row.value)


def _show_seconds(row: FigureRow) -> str:
    return f"{show_number(row.value, '10,.1f')} s"


def _figure(name: str, text: str, rows: Sequence[FigureRow], *, value: float = 0.0) -> Figure:
    return Figure(
        one_line(name),
        text,
        name_cache([row.page_cache for row in rows], rows),
        valid=all(row.valid for row in rows),
        short=text.strip(),
        value=value,
    )


def name_cache(states: Iterable[str], rows: Sequence[FigureRow]) -> str:
    """`cold`, `cold+warm` where parts of it met different states, `cold unproven`.

    And how many other drives were tested meanwhile, where any was.
    """
    word = "+".join(map(_, _ordered(set(states), _STATES)))
    is_proven = bool(rows) and all(row.page_cache_proof == "proven" for row in rows)
    parts = [word if is_proven else f"{word} {_('unproven')}"]
    if beside := max((row.beside for row in rows), default=0):
        parts.append(_("others tested: {count}").format(count=beside))
    return one_line(", ".join(parts))


def _ordered(names: Iterable[str], order: Sequence[str]) -> list[str]:
    """The names we know in their order, then the others; what follows a `/` comes second."""

    def place(name: str) -> tuple[int, str]:
        first = name if name in order else name.split("/", maxsplit=1)[0]
        return _place(first, order), name

    return sorted(names, key=place)


def _place(name: str, order: Sequence[str]) -> int:
    return order.index(name) if name in order else len(order)

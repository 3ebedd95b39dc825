"""One module per kind of workload: its figures become one block of a page. Pure.

A module has `make_block(workload)`; a kind without one is shown as plain tables.
"""

from collections.abc import Callable, Sequence
from functools import partial

from appliance.report import plain, sustained
from appliance.report.arrays import cache_modes
from appliance.report.arrays import tables as array
from appliance.report.arrays.compare import make_comparison
from appliance.report.blocks import BlockView, SectionView
from appliance.report.charts.activity import make_activity_fold
from appliance.report.figures import Workload
from appliance.workloads.fio import report as fio
from appliance.workloads.lottery import report as lottery
from appliance.workloads.matrix import report as matrix
from appliance.workloads.selftest import report as selftest
from appliance.workloads.sql import report as sql
from appliance.workloads.surface import report as surface
from appliance.workloads.sweep import report as sweep
from appliance.workloads.verify import report as verify

_KINDS: dict[str, tuple[str, str, Callable[[Workload], BlockView]]] = {
    "lottery": ("Lottery", lottery.NOTE, lottery.make_block),
    "fio": ("fio", fio.NOTE, fio.make_block),
    "matrix": ("Matrix", matrix.NOTE, matrix.make_block),
    "sweep": ("Working-set sweep", sweep.NOTE, sweep.make_block),
    "sql": ("SQL", sql.NOTE, sql.make_block),
    "surface": ("Surface", surface.NOTE, surface.make_block),
    "verify": ("Verify", verify.NOTE, verify.make_block),
    "selftest": ("Self-test", selftest.NOTE, selftest.make_block),
}


def make_sections(workloads: tuple[Workload, ...]) -> tuple[SectionView, ...]:
    """A section per kind, known kinds first, in it a block per [[workload]]."""
    kinds = dict.fromkeys((*_KINDS, *(workload.kind for workload in workloads)))
    sections = []
    for kind in kinds:
        title, note, make_block = _KINDS.get(kind, (kind, plain.NOTE, plain.make_block))
        if make_block is sql.make_block:
            # Bars of the same length mean the same in the whole section.
            make_block = partial(sql.make_block, highest_s=sql.find_highest(workloads))
        blocks = tuple(
            _with_activity(make_block(workload), workload)
            for workload in workloads
            if workload.kind == kind and any(step.figures for step in workload.steps)
        )
        if blocks:
            sections.append(SectionView(title=title, note=note, blocks=blocks))
    return tuple(sections)


def _name_tables(indexes: Sequence[int]) -> str:
    """`Workload 2 of the plan`, `Workloads 2, 3 and 4 of the plan`."""
    *first, last = (str(index + 1) for index in indexes)
    many = f"Workloads {', '.join(first)} and {last}" if first else f"Workload {last}"
    return f"{many} of the plan"


def _with_activity(block: BlockView, workload: Workload) -> BlockView:
    activity = make_activity_fold(workload)
    return BlockView(
        title=_name_tables(workload.indexes),
        index=workload.index,
        planned=block.planned,
        comparison=make_comparison(workload),
        marks=array.make_marks(workload),
        charts=(
            *block.charts,
            *cache_modes.make_charts(workload),
            *sustained.make_charts(workload),
        ),
        panels=array.make_panels(workload),
        tables=(
            *cache_modes.make_tables(workload),
            *block.tables,
            *array.make_tables(workload),
        ),
        folds=(
            *array.make_folds(workload),
            *block.folds,
            *((activity,) if activity else ()),
        ),
    )

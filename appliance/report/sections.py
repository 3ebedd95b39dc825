# SPDX-License-Identifier: Apache-2.0
"""The sections of a page, one per kind of workload, with what is drawn of all kinds. Pure."""

from collections.abc import Sequence

from appliance.kinds import KINDS
from appliance.report import sustained
from appliance.report.arrays import cache_modes
from appliance.report.arrays import tables as array
from appliance.report.arrays.compare import make_comparison
from appliance.report.blocks import BlockView, SectionView
from appliance.report.charts.activity import make_activity_fold
from appliance.report.figures import Workload
from appliance.report.section import find_section


def make_sections(workloads: tuple[Workload, ...]) -> tuple[SectionView, ...]:
    """A section per kind, known kinds first, in it a block per [[workload]]."""
    sections = []
    for kind in dict.fromkeys((*KINDS, *(workload.kind for workload in workloads))):
        group = [workload for workload in workloads if workload.kind == kind]
        section = find_section(kind)
        blocks = tuple(
            _with_activity(block, workload)
            for workload, block in zip(group, section.make_blocks(group), strict=True)
            if any(step.figures for step in workload.steps)
        )
        if blocks:
            sections.append(SectionView(title=section.title, note=section.note, blocks=blocks))
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

# SPDX-License-Identifier: Apache-2.0
"""The drives' own self-tests: how each ended, and how long it took. Pure."""

from functools import partial

from appliance.report.blocks import DASH, BlockView, LineView, TableView, view_caches
from appliance.report.figures import Figure, Workload
from appliance.report.section import Section
from appliance.samples.variants import OTHER
from appliance.units import format_seconds

NOTE = (
    "The result of the drive's own self-test. A test that passed only means that the drive "
    "found nothing; the event log has the drive's own words."
)


def make_block(workload: Workload) -> BlockView:
    """One line per drive and test."""
    return BlockView(
        planned=workload.planned,
        tables=(
            TableView(
                heads=("Drive", "Test"),
                columns=("Result", "Seconds"),
                lines=tuple(
                    LineView(
                        heads=(step.label, figure.name),
                        values=(_say(figure), format_seconds(figure.values.get("seconds"))),
                        cache=view_caches([figure]),
                    )
                    for step in workload.steps
                    for figure in step.figures
                    if figure.variant != OTHER
                ),
                with_caches=False,
            ),
        ),
    )


def _say(figure: Figure) -> str:
    passed = figure.values.get("selftest_passed")
    return DASH if passed is None else "passed" if passed else "failed"


SECTION = Section(
    title="Self-test",
    note=NOTE,
    make_blocks=partial(map, make_block),
)

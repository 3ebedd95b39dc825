# SPDX-License-Identifier: Apache-2.0
"""What a page tells of a lottery on a modelled drive, without a machine. Pure."""

import random
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain, repeat
from math import exp
from pathlib import Path

from appliance.report.figures import Cache, Figure, StepFigures, Workload
from appliance.report.workload_findings import find_workload_findings
from appliance.store.read.workloads import ReportedStep, TicketRow
from appliance.workloads.lottery.draw import draw_tickets, spread_regions
from appliance.workloads.lottery.keys import LotteryVariant
from tests.lab.drives import ModelledDrive
from tests.lab.report_page import Finding, Page
from tests.lab.simulated_boots import make_clockwork

TICKETS = (
    ("a", 4), ("b", 6), ("c", 8), ("d", 10), ("e", 12),
    ("f", 24), ("g", 18), ("h", 10), ("i", 6), ("j", 2),
)  # fmt: skip
"""Those of the plan's default."""
_REQUEST_BYTES = 512 << 10
_WORK_S = 0.0002
"""The processor's part of a request."""
_FIRST = 256 << 20
_BYPASS = Cache("bypass", "proven", "O_DIRECT", 0, "first step on it", "", None, "")


@dataclass(frozen=True, slots=True, kw_only=True)
class Draw:
    """One pass of the default tickets."""

    file_bytes: int
    seed: int = 1
    """The plan's."""
    noise_seed: int = 0
    noise: float = 0.2
    """Standard deviation of the logarithms of a request's time."""
    tickets: tuple[tuple[str, int], ...] = TICKETS
    in_a_row: bool = False
    """As a file system lays files out; or over the bare drive, from its first byte to its last."""
    slow: tuple[float, ...] = ()
    """How many times as long each read takes for what is not the drive's, in their order."""


def make_page(drive: ModelledDrive, draw: Draw) -> Page:
    """The words about one direct pass."""
    tickets = tuple(_draw(drive, draw))
    figures = tuple(
        Figure(
            LotteryVariant(reading="direct", file=name),
            {"rate_bytes_s": 1.0},
            (_BYPASS,),
            valid=True,
        )
        for name, _ in draw.tickets
    )
    step = StepFigures(
        step=ReportedStep(1, 1, 0, "lottery", 1, drive.serial, "done", "", 1, 0, parts=("direct",)),
        label=drive.serial,
        color=0,
        reference=False,
        place="drive",
        figures=figures,
        cache_figures=(),
        tickets=tickets,
        activity=(),
        dirty=(),
        slices=(),
        ranges=(),
        devices={},
    )
    findings = find_workload_findings((Workload("lottery", (0,), "", (step,)),))
    return Page("", tuple(Finding(each.kind, each.subject, each.text) for each in findings))


def _draw(drive: ModelledDrive, draw: Draw) -> Iterator[TicketRow]:
    clockwork, now_s = make_clockwork(drive), 0.0
    chance = random.Random(f"{draw.seed}/{draw.noise_seed}")
    offsets = _place(drive, draw)
    tickets = draw_tickets(draw.tickets, seed=draw.seed, repetition=1)
    for ticket, slow in zip(tickets, chain(draw.slow, repeat(1.0)), strict=False):
        start_s = now_s
        for place in range(0, draw.file_bytes, _REQUEST_BYTES):
            length = min(_REQUEST_BYTES, draw.file_bytes - place)
            access = clockwork.read(offsets[ticket.file] + place, length, now_s=now_s)
            now_s += (access.seconds + _WORK_S) * exp(chance.gauss(0, draw.noise)) * slow
        yield TicketRow(
            step_id=1,
            pass_name="direct",  # noqa: S106 - of the lottery
            page_cache="bypass",
            seq=ticket.seq,
            file=ticket.file,
            nth=ticket.nth,
            bytes=draw.file_bytes,
            seconds=now_s - start_s,
            major_faults=0,
            device_read_bytes=draw.file_bytes,
            resident_before_bytes=0,
        )


def _place(drive: ModelledDrive, draw: Draw) -> dict[str, int]:
    """Where each file begins."""
    names = [name for name, _ in draw.tickets]
    if draw.in_a_row:
        return {name: _FIRST + number * draw.file_bytes for number, name in enumerate(names)}
    regions = spread_regions(
        names,
        device=Path("/dev/sda"),
        file_bytes=draw.file_bytes,
        device_bytes=drive.size_bytes,
    )
    return {region.name: region.offset for region in regions}

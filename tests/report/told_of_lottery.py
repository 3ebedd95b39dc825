"""What a page tells of a lottery on a modelled drive, without a machine. Pure."""

from collections.abc import Iterator
from pathlib import Path

from appliance.report.figures import Cache, Figure, StepFigures, Workload
from appliance.report.workload_findings import find_workload_findings
from appliance.report.workload_rows import StepRow, TicketRow
from appliance.workloads.lottery_draw import draw_tickets, spread_regions
from tests.lab.drives import ModelledDrive
from tests.lab.simulated_boots import make_clockwork
from tests.lab.told import Finding, Page

TICKETS = (
    ("a", 4), ("b", 6), ("c", 8), ("d", 10), ("e", 12),
    ("f", 24), ("g", 18), ("h", 10), ("i", 6), ("j", 2),
)  # fmt: skip
"""Those of the plan's default."""
_REQUEST_BYTES = 512 << 10
_WORK_S = 0.0002
"""The processor's part of a request."""
_BYPASS = Cache("bypass", "proven", "O_DIRECT", 0, "first step on it", "", None, "")


def make_page(drive: ModelledDrive, *, file_bytes: int, seed: int) -> Page:
    """The words about one direct pass over stretches of the bare drive."""
    tickets = tuple(_draw(drive, file_bytes=file_bytes, seed=seed))
    figures = tuple(
        Figure(f"direct/{name}", {"rate_bytes_s": 1.0}, (_BYPASS,), valid=True)
        for name, _ in TICKETS
    )
    step = StepFigures(
        step=StepRow(1, 0, "lottery", 1, drive.serial, "done", "", 1, 0, None, None, ("direct",)),
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


def _draw(drive: ModelledDrive, *, file_bytes: int, seed: int) -> Iterator[TicketRow]:
    clockwork, now_s = make_clockwork(drive), 0.0
    files = spread_regions(
        [name for name, _ in TICKETS],
        device=Path("/dev/sda"),
        file_bytes=file_bytes,
        device_bytes=drive.size_bytes,
    )
    offsets = {file.name: file.offset for file in files}
    for draw in draw_tickets(TICKETS, seed=seed, repetition=1):
        start_s = now_s
        for place in range(0, file_bytes, _REQUEST_BYTES):
            length = min(_REQUEST_BYTES, file_bytes - place)
            access = clockwork.read(offsets[draw.file] + place, length, now_s=now_s)
            now_s += access.seconds + _WORK_S
        yield TicketRow(
            step_id=1,
            pass_name="direct",  # noqa: S106 - of the lottery
            page_cache="bypass",
            seq=draw.seq,
            file=draw.file,
            nth=draw.nth,
            bytes=file_bytes,
            seconds=now_s - start_s,
            major_faults=0,
            device_read_bytes=file_bytes,
            resident_before_bytes=0,
        )

# SPDX-License-Identifier: Apache-2.0
"""The lottery (A2–A4): files drawn by tickets and read whole, in passes with known caches.

Owns the passes' preparation and what their tickets add up to. Must never call a read cold or warm
that was not looked at, and never read a file but for a ticket or to warm it. An array goes idle
before each pass: even a warm one asks the drive for what does not fit into RAM.
"""

import json
import resource
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import override

from appliance.caches.ballast import read_memory
from appliance.caches.cachestat import Target, page_stats
from appliance.caches.judge import hit_ratio, judge_reads
from appliance.caches.page_cache import drop_page_cache, kept_open, warm_page_cache
from appliance.errors import StepFailedError
from appliance.phrases import N_, Phrase
from appliance.samples.first_touch import pair_touches
from appliance.samples.model import CacheState, PageCache, Result, Ticket
from appliance.workloads.base import Bench, PartResult, Workload
from appliance.workloads.idle_wait import rest_array
from appliance.workloads.lottery.draw import Draw, LotteryFile, PassPart, draw_tickets, list_parts
from appliance.workloads.lottery.files import prepare_files
from appliance.workloads.lottery.keys import AFTER_INTERRUPTED, LotteryPass, LotteryPlan
from appliance.workloads.lottery.passes import Pulse, Reader, make_reader
from appliance.workloads.raw_files import keep, read_list

_BEGUN = "passes-begun.json"
_REQUESTED: dict[LotteryPass, PageCache] = {
    "cold": "cold",
    "warm": "warm",
    "direct": "bypass",
    "mmap": "cold",
    "buffered-app": "cold",
}


class LotteryWorkload(Workload):
    """One step: each pass, and each repetition of it, is a part."""

    def __init__(self, plan: LotteryPlan) -> None:
        self._plan = plan
        self._parts = {part.name: part for part in list_parts(plan)}
        self._files: dict[str, LotteryFile] = {}

    @property
    @override
    def parts(self) -> tuple[str, ...]:
        """`cold`, `direct` and so on; with repetitions `cold/1`, `direct/1`, `cold/2`."""
        return tuple(self._parts)

    @override
    def prepare(self, bench: Bench) -> None:
        """Lay the files out, or find them. Raises StepFailedError."""
        self._files = {file.name: file for file in prepare_files(self._plan, bench)}

    @override
    def run_part(self, bench: Bench, part: str, *, finished: Mapping[str, int]) -> PartResult:
        """Draw every ticket of one pass. Raises StepFailedError."""
        this = self._parts[part]
        bench, remarks = rest_array(bench)
        memory = bench.raw / _BEGUN
        begun = read_list(memory)
        keep(memory, json.dumps([*begun, part]))
        targets = self._targets(bench)
        # The kernel drops a bare drive's pages once it is no longer open.
        with kept_open(targets):
            proven, reason = self._set_cache(bench, this, targets)
            tickets, hits = self._read_all(bench, this, proven=proven)
        notes = [*remarks] if proven else [*remarks, reason]
        if hits:
            notes.append(
                Phrase(
                    N_(
                        "the program's own cache answered {count} of {total} tickets; they "
                        "are called warm, and the kernel was not asked"
                    ),
                    count=hits,
                    total=len(tickets),
                )
            )
        rows = _Rows(
            part=this,
            proven=proven,
            reason=reason,
            drive_state=bench.drive_state,
            served_before=self._count_served(bench, this, finished),
            is_again=part in begun,
        )
        return PartResult(
            rows.of_files(tickets) + rows.of_pass(tickets),
            tickets=tuple(tickets),
            notes=tuple(notes),
        )

    def _count_served(
        self, bench: Bench, part: PassPart, finished: Mapping[str, int]
    ) -> dict[str, int]:
        """By file: the bytes its drive has served for it in this step before the part's tickets.

        Warming reads each file from the drive, except for what was in RAM; how much that was is
        not stored, so a file that has been warmed counts as read.
        """
        warmed = part.kind == "warm" or any(self._parts[name].kind == "warm" for name in finished)
        return {
            name: max(bench.served_before.get(name, 0), file.length if warmed else 0)
            for name, file in self._files.items()
        }

    def _targets(self, bench: Bench) -> list[Target]:
        if bench.folder is None:
            return [Path(bench.device)]
        return [*(file.target for file in self._files.values()), Path(bench.device)]

    def _set_cache(
        self, bench: Bench, part: PassPart, targets: Sequence[Target]
    ) -> tuple[bool, str]:
        """Bring the page cache into the pass's state; whether that is proven, and how."""
        if part.kind == "warm":
            files = [file.target for file in self._files.values()]
            return warm_page_cache(files, progress=bench.progress)
        bench.progress(N_("dropping the page cache"), 0, 0)
        return drop_page_cache(targets)

    def _read_all(self, bench: Bench, part: PassPart, *, proven: bool) -> tuple[list[Ticket], int]:
        """The tickets in their order, and how many the program's own buffer answered."""
        available = read_memory("MemAvailable")
        reader = make_reader(part.kind, available_bytes=available)
        plan = self._plan
        draws = draw_tickets(plan.tickets, seed=plan.seed, repetition=part.repetition)
        total = sum(self._files[draw.file].length for draw in draws)
        pulse = Pulse(bench.progress, Phrase(N_("lottery: {part}"), part=part.name), total)
        tickets: list[Ticket] = []
        hits = 0
        for draw in draws:
            file = self._files[draw.file]
            ticket, answered = _take_ticket(
                bench, part, draw, file, reader=reader, pulse=pulse, proven=proven
            )
            tickets.append(ticket)
            hits += answered
            pulse.end_file(file.length)
        return tickets, hits


def _take_ticket(
    bench: Bench,
    part: PassPart,
    draw: Draw,
    file: LotteryFile,
    *,
    reader: Reader,
    pulse: Pulse,
    proven: bool,
) -> tuple[Ticket, bool]:
    """Read one file, timed; True when the program's own buffer answered."""
    resident = page_stats(file.path, offset=file.offset, length=file.length).resident_bytes
    device_before = bench.read_counters().read_bytes
    faults_before = resource.getrusage(resource.RUSAGE_THREAD).ru_majflt
    start_s = time.perf_counter()
    answered = reader.read(file, pulse)
    seconds = time.perf_counter() - start_s
    faults = resource.getrusage(resource.RUSAGE_THREAD).ru_majflt - faults_before
    ticket = Ticket(
        pass_name=part.kind,
        page_cache="warm"
        if answered
        else judge_ticket(part.kind, resident, length=file.length, proven=proven),
        seq=draw.seq,
        file=file.name,
        nth=draw.nth,
        bytes=file.length,
        seconds=seconds,
        major_faults=faults,
        device_read_bytes=bench.read_counters().read_bytes - device_before,
        resident_before_bytes=resident,
    )
    return ticket, answered


def judge_ticket(kind: LotteryPass, resident_bytes: int, *, length: int, proven: bool) -> PageCache:
    """The state a ticket met, from the pages that were in RAM right before it.

    `proven` says whether the pass's drop was: without it nothing is called cold.
    """
    if kind == "direct":
        return "bypass"
    if resident_bytes >= length:
        return "warm"
    return "cold" if not resident_bytes and proven else "partial"


class _Rows:
    """The rows of one part."""

    def __init__(
        self,
        *,
        part: PassPart,
        proven: bool,
        reason: str,
        drive_state: str,
        served_before: Mapping[str, int],
        is_again: bool,
    ) -> None:
        self._part = part
        self._proven = proven
        self._reason = reason
        self._drive_state = drive_state
        self._served_before = served_before
        self._is_again = is_again

    def of_files(self, tickets: Sequence[Ticket]) -> tuple[Result, ...]:
        """Per file: its mean rate, and who answered."""
        results: list[Result] = []
        by_file: dict[str, list[Ticket]] = {}
        for ticket in tickets:
            by_file.setdefault(ticket.file, []).append(ticket)
        for name, file_tickets in sorted(by_file.items()):
            cache = self._judge(file_tickets)
            app, device, seconds = _sums(file_tickets)
            variant = self._part.variant(name)
            results += [
                Result(variant, "rate_bytes_s", app / seconds, cache),
                Result(variant, "seconds", seconds, cache),
                Result(variant, "app_read_bytes", app, cache),
                Result(variant, "device_read_bytes", device, cache),
                Result(variant, "hit_ratio", hit_ratio(app, device), cache),
            ]
        return tuple(results)

    def of_pass(self, tickets: Sequence[Ticket]) -> tuple[Result, ...]:
        """How much faster a repeat was than the first touch; nothing where none was repeated.

        First touches count as many times as their files are among the repeats.
        """
        pairs = pair_touches([ticket.file for ticket in tickets])
        first = [tickets[place] for place, later in pairs for _ in later]
        repeats = [tickets[place] for _, later in pairs for place in later]
        if not repeats:
            return ()
        ratio = _rate(repeats) / _rate(first)
        return (Result(self._part.variant(), "touch_ratio", ratio, self._judge(tickets)),)

    def _judge(self, tickets: Sequence[Ticket]) -> CacheState:
        app, device, _ = _sums(tickets)
        files = {ticket.file: ticket.bytes for ticket in tickets}
        served = sum(self._served_before.get(file, 0) for file in files)
        words = [self._drive_state]
        if served:
            words.append(f"trained {served / sum(files.values()):.3g} times")
        words.append(AFTER_INTERRUPTED * self._is_again)
        return judge_reads(
            requested=_REQUESTED[self._part.kind],
            proven_before=self._proven,
            reason=self._reason,
            app_read_bytes=app,
            device_read_bytes=device,
            drive_state=", ".join(word for word in words if word),
        )


def _sums(tickets: Sequence[Ticket]) -> tuple[int, int, float]:
    """Bytes the program read, bytes the device served, seconds."""
    seconds = sum(ticket.seconds for ticket in tickets)
    if seconds <= 0:
        raise StepFailedError(N_("the clock did not advance while files were read"), blame="other")
    return (
        sum(ticket.bytes for ticket in tickets),
        sum(ticket.device_read_bytes for ticket in tickets),
        seconds,
    )


def _rate(tickets: Sequence[Ticket]) -> float:
    app, _, seconds = _sums(tickets)
    return app / seconds


make_workload = LotteryWorkload

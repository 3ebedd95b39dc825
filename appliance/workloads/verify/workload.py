# SPDX-License-Identifier: Apache-2.0
"""The workload `verify`: a pattern is written all over the drive, flushed, and read back.

Only when all of it is written does the reading begin: an address that aliases shows by what came
after it. With a power-off, blocks that were written and flushed right before it are read as well.
"""

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import partial
from itertools import islice
from pathlib import Path
from random import SystemRandom
from typing import override

from appliance.caches.judge import judge_reads, judge_writes
from appliance.errors import RefusedError, StepFailedError
from appliance.phrases import N_, Phrase
from appliance.samples.model import CacheState, LbaRange, Result
from appliance.samples.variants import parse_part
from appliance.units import format_size
from appliance.workloads.base import Bench, Leftover, PartResult, Workload
from appliance.workloads.raw_files import keep, seal, unseal
from appliance.workloads.verify.io import (
    StretchResult,
    carries_run,
    is_last_write_missing,
    opened_direct,
    read_stretch,
    write_last,
    write_stretch,
)
from appliance.workloads.verify.keys import READ, READ_COLD, WRITE, VerifyPlan, VerifyVariant
from appliance.workloads.verify.layout import (
    STRETCHES,
    cut_stretch,
    plan_last_blocks,
    plan_pieces,
    stretch_bytes,
)
from appliance.workloads.verify.pattern import Extent, Pattern, cut_old_losses, join_ranges

_MEMORY = "verify.json"
_DIRECT = "O_DIRECT"
_LOOKS = 4
"""Requests of each stretch whose beginning is looked at after an interruption."""
_DOUBT = N_(
    "after the first power-off the last write was not on the drive; whether it had "
    "been made is not known, so the power was cut again"
)
_LABELS = {WRITE: "writing", READ: "reading back", READ_COLD: "reading back after the power-off"}


@dataclass(slots=True)
class _Stretch:
    """One part, as its sum needs it."""

    done_bytes: int
    failed_bytes: int
    wrong_bytes: int
    seconds: float
    proof: str
    drive_state: str
    unsteady_bytes: int = 0


@dataclass(frozen=True, slots=True)
class _Hopeless:
    """Why a phase was abandoned, and in which part: what comes after that one is left out."""

    part: str
    reason: str


@dataclass(slots=True)
class _Memory:
    """What must survive an interruption: in the step's raw folder."""

    run_id: int
    stretches: dict[str, _Stretch] = field(default_factory=dict)
    bad: list[tuple[int, int]] = field(default_factory=list)
    """First byte and the byte after the last of what was wrong before any power-off."""
    hopeless: dict[str, _Hopeless] = field(default_factory=dict)
    """By phase."""
    doubted: bool = False
    """Whether a power-off was made again, because its last write was not on the drive."""

    def save(self, raw: Path) -> None:
        self.freeze(raw)()

    def freeze(self, raw: Path) -> Callable[[], None]:
        """Saves it as it is now, when that is called."""
        return partial(keep, raw / _MEMORY, seal(asdict(self)))


class VerifyWorkload(Workload):
    """Every phase in as many stretches, then its sum."""

    def __init__(self, plan: VerifyPlan) -> None:
        self._plan = plan
        self._memory = _Memory(0)
        self._pattern = Pattern(seed=plan.seed, run_id=0)
        self._pieces: tuple[Extent, ...] = ()
        self._is_known = False
        """Whether what was written before an interruption was seen on the drive."""
        self._under_way: StretchResult | None = None
        """What the part that runs has found until now."""

    @property
    @override
    def parts(self) -> tuple[str, ...]:
        phases = (WRITE, READ, READ_COLD) if self._plan.power_cycle else (WRITE, READ)
        return tuple(
            str(VerifyVariant(phase, stretch))
            for phase in phases
            for stretch in (*range(STRETCHES), None)
        )

    @property
    @override
    def cold_parts(self) -> frozenset[str]:
        return (
            frozenset({str(VerifyVariant(READ_COLD, 0))}) if self._plan.power_cycle else frozenset()
        )

    @override
    def prepare(self, bench: Bench) -> None:
        if self._plan.size_bytes > bench.size_bytes:
            raise StepFailedError(
                Phrase(
                    N_("{size} are to be written, and the drive has {share} less"),
                    size=format_size(self._plan.size_bytes),
                    share=format_size(self._plan.size_bytes - bench.size_bytes),
                ),
                blame="other",
            )
        # Not from the seed: what an earlier run has left must not pass for this one's.
        self._memory = _read_memory(bench.raw) or _Memory(SystemRandom().getrandbits(64))
        self._memory.save(bench.raw)
        self._pattern = Pattern(seed=self._plan.seed, run_id=self._memory.run_id)
        self._pieces = plan_pieces(bench.size_bytes, self._plan.size_bytes, seed=self._plan.seed)

    @override
    def part_bytes(self, part: str) -> int:
        stretch = _parse(part).stretch
        return 0 if stretch is None else stretch_bytes(self._pieces, stretch)

    @override
    def run_part(self, bench: Bench, part: str, *, finished: Mapping[str, int]) -> PartResult:
        stretches = {name: _parse(name) for name in finished}
        writes = {
            name: this.stretch
            for name, this in stretches.items()
            if this.phase == WRITE and this.stretch is not None
        }
        if not writes.keys() <= self._memory.stretches.keys():
            raise StepFailedError(
                Phrase(
                    N_("{path} is gone or damaged: what was written is not known"),
                    path=bench.raw / _MEMORY,
                ),
                blame="other",
            )
        self._under_way = None
        this = _parse(part)
        if this.stretch is None:
            return self._sum_up(this.phase)
        if writes and not self._is_known:
            self._check_drive(bench, sorted(writes.values()))
        self._is_known = True
        if this.phase == WRITE:
            return self._write(bench, part, this.stretch)
        return self._read(bench, this.phase, part, this.stretch)

    def _check_drive(self, bench: Bench, written: Sequence[int]) -> None:
        """After an interruption: the disk behind a bridge's serial number may be another one.

        Raises RefusedError where nothing shows that this step wrote to it.
        """
        firsts = (
            request
            for number in written
            for request in islice(cut_stretch(self._pieces, number), _LOOKS)
        )
        with opened_direct(bench.device, os.O_RDONLY) as fd:
            if not carries_run(fd, self._pattern, firsts):
                raise RefusedError(
                    Phrase(
                        N_(
                            "{device} carries nothing that this step has written to it: it is "
                            "another disk, or it has lost all of it"
                        ),
                        device=bench.device,
                    ),
                    blame="drive",
                )

    @override
    def give_up_part(self, bench: Bench, part: str, *, is_silent: bool) -> Leftover:
        """What was found in the stretch under way."""
        tally, self._under_way = self._under_way, None
        if tally is None:
            return Leftover()
        tally.finish()
        ranges = self._cut_old_losses(tally)
        if not ranges:
            return Leftover()
        state = CacheState(
            page_cache="bypass",
            proof="unproven",
            proof_reason=f"{_DIRECT}, in a stretch that was not done to its end",
            drive_state=bench.drive_state,
        )
        results = {
            "unreadable_bytes": tally.failed_bytes,
            "mismatch_bytes": tally.wrong_bytes,
            "unsteady_bytes": tally.unsteady_bytes,
        }
        note = Phrase(
            N_(
                "not done to its end: {failed} of it gave errors until then and {wrong} "
                "were wrong, {done} did not give errors; no rate of it is stored"
            ),
            failed=format_size(tally.failed_bytes),
            wrong=format_size(tally.wrong_bytes),
            done=format_size(tally.done_bytes),
        )
        return Leftover(
            tuple(Result(part, metric, value, state) for metric, value in results.items() if value),
            ranges=tuple(ranges),
            notes=(note, *_explain(tally)),
        )

    def _cut_old_losses(self, found: StretchResult) -> list[LbaRange]:
        """What was wrong before the power-off was not lost by it."""
        bad = sorted(self._memory.bad)
        return join_ranges(
            [cut for lba_range in found.ranges for cut in cut_old_losses(lba_range, bad)]
        )

    @override
    def write_last(self, bench: Bench) -> None:
        with opened_direct(bench.device, os.O_RDWR) as fd:
            write_last(fd, self._pattern, self._last_blocks)

    @override
    def doubt_power_off(self, bench: Bench) -> str:
        """The first time that the last write is missing: mains power may have gone before it.

        Only the second time the drive has lost it. What a drive has lost of before is no such case.
        """
        if self._memory.doubted:
            return ""
        blocks = [
            block
            for block in self._last_blocks
            if not any(
                first < block.end_byte and block.first_byte < end for first, end in self._memory.bad
            )
        ]
        with opened_direct(bench.device, os.O_RDONLY) as fd:
            if not is_last_write_missing(fd, self._pattern, blocks):
                return ""
        return _DOUBT

    @override
    def believe_next_power_off(self, bench: Bench) -> None:
        self._memory.doubted = True
        self._memory.save(bench.raw)

    @property
    def _last_blocks(self) -> tuple[Extent, ...]:
        return plan_last_blocks(self._pieces, seed=self._plan.seed)

    def _write(self, bench: Bench, part: str, number: int) -> PartResult:
        before = bench.read_counters()
        total = stretch_bytes(self._pieces, number)
        tally = self._under_way = StretchResult()
        with opened_direct(bench.device, os.O_RDWR) as fd:
            write_stretch(
                fd,
                self._pattern,
                cut_stretch(self._pieces, number),
                tally,
                tell=lambda done: bench.progress(_LABELS[WRITE], done, total),
                check_identity=bench.check_identity,
            )
        after = bench.read_counters()
        state = judge_writes(
            requested="bypass",
            proven_before=True,
            reason=f"{_DIRECT}, flushed",
            app_write_bytes=tally.done_bytes,
            device_write_bytes=after.write_bytes - before.write_bytes,
            lacks_writes=after.lacks_writes,
            drive_state=bench.drive_state,
        )
        self._remember(part, tally, state)
        results = _figures(part, self._memory.stretches[part], state)
        if (written_bytes := after.written_since(before)) is not None:
            results += (Result(part, "device_write_bytes", written_bytes, state),)
        return PartResult(
            results,
            ranges=tuple(tally.ranges),
            notes=_explain(tally),
            keep=self._memory.freeze(bench.raw),
        )

    def _read(self, bench: Bench, phase: str, part: str, number: int) -> PartResult:
        hopeless = self._memory.hopeless.get(phase)
        # The part itself comes again where power went before it was stored.
        if hopeless and hopeless.part != part:
            notes = (Phrase(N_("left out: {what}"), what=hopeless.reason),)
            return PartResult((), notes=notes, keep=self._memory.freeze(bench.raw))
        is_cold = phase == READ_COLD
        before = bench.read_counters().read_bytes
        total = stretch_bytes(self._pieces, number)
        tally = self._under_way = StretchResult()
        with opened_direct(bench.device, os.O_RDONLY) as fd:
            read_stretch(
                fd,
                self._pattern,
                cut_stretch(self._pieces, number),
                tally,
                last=self._last_blocks if is_cold else (),
                is_cold=is_cold,
                tell=lambda done: bench.progress(_LABELS[phase], done, total),
            )
        device_bytes = bench.read_counters().read_bytes - before
        state = judge_reads(
            requested="bypass",
            proven_before=True,
            reason=_DIRECT,
            app_read_bytes=tally.done_bytes,
            device_read_bytes=device_bytes,
            drive_state=bench.drive_state,
        )
        ranges = self._cut_old_losses(tally)
        self._memory.hopeless.pop(phase, None)
        if tally.hopeless:
            self._memory.hopeless[phase] = _Hopeless(part, tally.hopeless)
        if not is_cold:
            self._memory.bad += [
                (lba_range.first_byte, lba_range.first_byte + lba_range.size_bytes)
                for lba_range in ranges
                if lba_range.kind != "unsteady"
            ]
        self._remember(part, tally, state)
        results = (
            *_figures(part, self._memory.stretches[part], state),
            Result(part, "device_read_bytes", device_bytes, state),
        )
        return PartResult(
            results,
            ranges=tuple(ranges),
            notes=_explain(tally),
            keep=self._memory.freeze(bench.raw),
        )

    def _remember(self, part: str, found: StretchResult, state: CacheState) -> None:
        """Under the part's name: one that is repeated takes the place of its first try."""
        self._memory.stretches[part] = _Stretch(
            done_bytes=found.done_bytes,
            failed_bytes=found.failed_bytes,
            wrong_bytes=found.wrong_bytes,
            unsteady_bytes=found.unsteady_bytes,
            seconds=found.seconds,
            proof=state.proof,
            drive_state=state.drive_state,
        )

    def _sum_up(self, phase: str) -> PartResult:
        stretches = [
            stretch
            for part, stretch in self._memory.stretches.items()
            if (this := _parse(part)).phase == phase and this.stretch is not None
        ]
        if not stretches:
            return PartResult((), notes=("nothing was read",))
        total = _Stretch(
            done_bytes=sum(stretch.done_bytes for stretch in stretches),
            failed_bytes=sum(stretch.failed_bytes for stretch in stretches),
            wrong_bytes=sum(stretch.wrong_bytes for stretch in stretches),
            unsteady_bytes=sum(stretch.unsteady_bytes for stretch in stretches),
            seconds=sum(stretch.seconds for stretch in stretches),
            proof="proven"
            if all(stretch.proof == "proven" for stretch in stretches)
            else "unproven",
            drive_state=stretches[-1].drive_state,
        )
        state = CacheState(
            page_cache="bypass",
            proof="proven" if total.proof == "proven" else "unproven",
            proof_reason=f"the sum of {len(stretches)} stretches",
            drive_state=total.drive_state,
        )
        hopeless = self._memory.hopeless.get(phase)
        notes = (
            (Phrase(N_("not all of it was read: {what}"), what=hopeless.reason),)
            if hopeless
            else ()
        )
        return PartResult(_figures(phase, total, state), notes=notes)


def _parse(part: str) -> VerifyVariant:
    return parse_part("verify", part, VerifyVariant)


def _figures(variant: str, stretch: _Stretch, state: CacheState) -> tuple[Result, ...]:
    if _parse(variant).phase == WRITE:
        # What it holds is not known before it is read.
        figures: dict[str, float] = {"app_write_bytes": stretch.done_bytes}
    else:
        figures = {"app_read_bytes": stretch.done_bytes, "mismatch_bytes": stretch.wrong_bytes}
    figures["unreadable_bytes"] = stretch.failed_bytes
    if stretch.unsteady_bytes:
        figures["unsteady_bytes"] = stretch.unsteady_bytes
    if stretch.seconds > 0 and stretch.done_bytes:
        figures["bw_bytes_s"] = stretch.done_bytes / stretch.seconds
    return tuple(Result(variant, metric, value, state) for metric, value in figures.items())


def _explain(found: StretchResult) -> tuple[str, ...]:
    notes = []
    if found.left_out:
        notes.append(
            Phrase(N_("{count} further ranges are counted, but not listed"), count=found.left_out)
        )
    if found.hopeless:
        notes.append(Phrase(N_("abandoned: {what}"), what=found.hopeless))
    return tuple(notes)


def _read_memory(raw: Path) -> _Memory | None:
    try:
        values = unseal((raw / _MEMORY).read_bytes())
        return _Memory(
            run_id=int(values["run_id"]),
            stretches={part: _Stretch(**stretch) for part, stretch in values["stretches"].items()},
            bad=[(int(first), int(end)) for first, end in values["bad"]],
            hopeless={phase: _Hopeless(**fields) for phase, fields in values["hopeless"].items()},
            doubted=bool(values.get("doubted", False)),
        )
    except (OSError, ValueError, KeyError, TypeError):
        return None


make_workload = VerifyWorkload

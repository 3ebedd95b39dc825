# SPDX-License-Identifier: Apache-2.0
"""The surface scan: the drive read from its first to its last byte, or a sample of it.

Each of 100 slices is a part; the last part, `whole`, adds them up. Never writes. What was not read
is never called readable: slices that were left out have no figures.
"""

from collections.abc import Mapping
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import override

from appliance.caches.judge import judge_reads
from appliance.errors import StepFailedError
from appliance.phrases import N_, Phrase
from appliance.samples.model import CacheState, Result, SliceSample
from appliance.units import format_size
from appliance.workloads.base import Bench, Leftover, PartResult, Workload
from appliance.workloads.progress_meter import ProgressMeter
from appliance.workloads.surface.drive import DirectDrive
from appliance.workloads.surface.keys import SLICES, SurfacePlan, SurfaceVariant
from appliance.workloads.surface.progress_log import (
    StoredSlice,
    add_latencies,
    append_slice,
    load_slices,
    sync_slices,
)
from appliance.workloads.surface.reader import MAX_NARROWING_TOTAL_S, Reading, SliceReader
from appliance.workloads.surface.slices import (
    Piece,
    describe_sample,
    draw_chunks,
    find_percentile,
    make_slices,
    part_name,
)

WHOLE = str(SurfaceVariant())
_FEW_BYTES = 1_000_000
_REASON = "read past the page cache with O_DIRECT"
_PERCENTILES = {"lat_p50_ns": 0.5, "lat_p99_ns": 0.99}


class SurfaceWorkload(Workload):
    """One step: the slices `000` to `099`, then `whole`."""

    def __init__(self, plan: SurfacePlan) -> None:
        self._plan = plan
        self._numbers = {part_name(number): number for number in range(SLICES)}
        self._slices: tuple[Piece, ...] = ()
        self._kept: dict[str, StoredSlice] | None = None
        """By part, as the stick keeps them; None until it was asked."""
        self._opened = ExitStack()
        self._reader: SliceReader | None = None
        self._watch: ProgressMeter | None = None

    @property
    @override
    def parts(self) -> tuple[str, ...]:
        """The slices in the order of the drive, then all of them."""
        return (*self._numbers, WHOLE)

    @override
    def prepare(self, bench: Bench) -> None:
        """Cut the drive into slices. Raises StepFailedError where it is too small."""
        try:
            self._slices = make_slices(bench.size_bytes)
        except ValueError as error:
            raise StepFailedError(
                Phrase(
                    N_("{device} cannot be scanned: {what}"),
                    device=bench.device,
                    what=error.args[0],
                ),
                blame="other",
            ) from None

    @override
    def part_bytes(self, part: str) -> int:
        number = self._numbers.get(part)
        return 0 if number is None else sum(chunk.size_bytes for chunk in self._draw(number))

    @override
    def run_part(self, bench: Bench, part: str, *, finished: Mapping[str, int]) -> PartResult:
        """Read one slice, or add all up. Raises StepFailedError."""
        if self._kept is None:
            self._kept = load_slices(bench.raw)
        slices = {name: record for name, record in self._kept.items() if name in finished}
        if any(record.size_bytes != bench.size_bytes for record in slices.values()):
            raise StepFailedError(
                Phrase(
                    N_("{device} had a different size when its first slices were read"),
                    device=bench.device,
                ),
                hint=N_("start a new campaign for it"),
            )
        if part == WHOLE:
            return self._add_up(bench, slices)
        if any(record.hopeless for record in slices.values()):
            return PartResult((), keep=partial(sync_slices, bench.raw))
        result, self._kept[part] = self._read_slice(bench, part, slices)
        return result

    @override
    def give_up_part(self, bench: Bench, part: str, *, is_silent: bool) -> Leftover:
        """What was found in the slice under way."""
        self._watch = None  # what could be asked for by now is no more than that it ends
        if self._reader is None:
            return Leftover()
        reading = self._reader.break_off(is_silent=is_silent)
        results = []
        if reading.unreadable:
            results.append(
                Result(part, "unreadable_bytes", reading.unreadable_bytes, _broken(bench))
            )
        ranges = (*reading.unreadable, *reading.slow)
        note = Phrase(
            N_(
                "not read to its end: {size} of it could not be read until then, {read} "
                "could; no rate of it is stored"
            ),
            size=format_size(reading.unreadable_bytes),
            read=format_size(reading.read_bytes),
        )
        return Leftover(
            tuple(results),
            ranges=ranges,
            notes=(note,) if ranges else (),
            silent=reading.silent,
        )

    @override
    def close(self) -> None:
        """Release the drive."""
        self._opened.close()

    def _draw(self, number: int) -> tuple[Piece, ...]:
        seed = f"{self._plan.seed}/surface/{number}"
        return draw_chunks(self._slices[number], sample=self._plan.sample, seed=seed)

    def _read_slice(
        self, bench: Bench, part: str, kept: Mapping[str, StoredSlice]
    ) -> tuple[PartResult, StoredSlice]:
        number = self._numbers[part]
        this = self._slices[number]
        chunks = self._draw(number)
        total = sum(chunk.size_bytes for chunk in chunks)
        slice_number = number + 1
        if total < _FEW_BYTES:  # of them no bar is drawn, and what is counted not named
            phrase = Phrase(
                N_("surface: slice {number} of {count}, in bytes"),
                number=slice_number,
                count=SLICES,
            )
        else:
            phrase = Phrase(
                N_("surface: slice {number} of {count}"), number=slice_number, count=SLICES
            )
        watch = ProgressMeter(bench.progress, phrase)
        phrase = Phrase(
            N_("surface: slice {number} of {count}: narrowing down bad places"),
            number=slice_number,
            count=SLICES,
        )
        narrowing = ProgressMeter(bench.progress, phrase)

        def tell(done: int) -> None:
            self._watch = watch
            watch.tell(done, total)

        def tell_narrowing() -> None:
            self._watch = narrowing
            narrowing.tell(0, 0)  # how many reads it takes is not known

        def tell_reread(place: int, places: int) -> None:
            phrase = Phrase(
                N_(
                    "surface: slice {number} of {count}: reading slow places again,"
                    " {place} of {places}"
                ),
                number=slice_number,
                count=SLICES,
                place=place,
                places=places,
            )
            self._watch = ProgressMeter(bench.progress, phrase)
            self._watch.tell(0, 0)  # a full bar would look like the end

        reader = self._open(bench, kept)
        self._watch = watch
        before = bench.read_counters().read_bytes
        reading = reader.read(
            chunks, tell=tell, tell_narrowing=tell_narrowing, tell_reread=tell_reread
        )
        device_read_bytes = bench.read_counters().read_bytes - before
        rates = reading.tally.find_rates()
        this_slice = StoredSlice(
            part=part,
            size_bytes=bench.size_bytes,
            chunks=len(chunks),
            read_bytes=reading.read_bytes,
            rated_bytes=reading.tally.bytes,
            seconds=reading.tally.total_s,
            mean_bytes_s=rates.mean,
            unreadable_bytes=reading.unreadable_bytes,
            device_read_bytes=device_read_bytes,
            slow_ranges=len(reading.slow),
            narrowing_s=reading.narrowing_s,
            hopeless=reading.hopeless,
            latencies=dict(reading.tally.count_latencies()),
        )
        append_slice(bench.raw, this_slice)
        cache = _judge(bench, reading.read_bytes, device_read_bytes)
        results = [
            Result(part, "app_read_bytes", reading.read_bytes, cache),
            Result(part, "device_read_bytes", device_read_bytes, cache),
        ]
        if rates.mean:
            results.insert(0, Result(part, "bw_bytes_s", rates.mean, cache))
        if reading.unreadable_bytes:
            # At once: a scan may never come to `whole`, which adds them up.
            results.append(Result(part, "unreadable_bytes", reading.unreadable_bytes, cache))
        sample = SliceSample(
            slice=number,
            first_byte=this.first_byte,
            end_byte=this.end_byte,
            read_bytes=reading.read_bytes,
            unreadable_bytes=reading.unreadable_bytes,
            min_bytes_s=rates.lowest,
            mean_bytes_s=rates.mean,
            max_bytes_s=rates.highest,
        )
        result = PartResult(
            tuple(results),
            slices=(sample,),
            ranges=(*reading.unreadable, *reading.slow),
            notes=(*reading.notes, *self._explain_end(reading)),
            keep=partial(sync_slices, bench.raw),
        )
        return result, this_slice

    def _explain_end(self, reading: Reading) -> tuple[str, ...]:
        if not reading.hopeless:
            return ()
        allowed = format_size(self._plan.max_unreadable_bytes)
        return (Phrase(N_("more than {size} cannot be read: the rest is not read"), size=allowed),)

    def _open(self, bench: Bench, kept: Mapping[str, StoredSlice]) -> SliceReader:
        """The drive stays open from slice to slice."""
        if self._reader is None:
            drive = self._opened.enter_context(DirectDrive(Path(bench.device), poll=self._poll))
            unreadable = sum(record.unreadable_bytes for record in kept.values())
            spent_s = sum(record.narrowing_s for record in kept.values())
            self._reader = SliceReader(
                drive,
                allowed_bytes=self._plan.max_unreadable_bytes - unreadable,
                narrowing_left_s=max(MAX_NARROWING_TOTAL_S - spent_s, 0.0),
            )
        return self._reader

    def _poll(self) -> None:
        """While a drive keeps us waiting: a stop may be asked for."""
        if self._watch is not None:
            self._watch.repeat()

    def _add_up(self, bench: Bench, kept: dict[str, StoredSlice]) -> PartResult:
        """The figures over all slices that were read.

        Without the device's bytes: they stand with the slices, and each may stand once only.
        """
        read_bytes = sum(record.read_bytes for record in kept.values())
        unreadable_bytes = sum(record.unreadable_bytes for record in kept.values())
        cache = _judge(bench, read_bytes, sum(record.device_read_bytes for record in kept.values()))
        values: dict[str, float] = {
            "app_read_bytes": read_bytes,
            "unreadable_bytes": unreadable_bytes,
            "slow_ranges": sum(record.slow_ranges for record in kept.values()),
        }
        seconds = sum(record.seconds for record in kept.values())
        if seconds:
            means = [record.mean_bytes_s for record in kept.values() if record.mean_bytes_s]
            values |= {
                "bw_bytes_s": sum(record.rated_bytes for record in kept.values()) / seconds,
                "min_slice_bytes_s": min(means),
                "max_slice_bytes_s": max(means),
            }
        latencies = add_latencies(kept)
        for metric, share in _PERCENTILES.items():
            latency_ns = find_percentile(latencies, share)
            if latency_ns is not None:
                values[metric] = latency_ns
        notes = []
        if self._plan.sample < 1:
            chunks = sum(record.chunks for record in kept.values())
            values["sampled_places"] = chunks
            notes.append(
                describe_sample(chunks, read_bytes=read_bytes, size_bytes=bench.size_bytes)
            )
        if len(kept) < SLICES:
            why = (
                Phrase(
                    N_("more than {size} were unreadable by then"),
                    size=format_size(self._plan.max_unreadable_bytes),
                )
                if any(record.hopeless for record in kept.values())
                else "what the stick kept of the others is missing"
            )
            notes.append(
                Phrase(
                    N_("only {count} of {total} slices are in these figures: {what}"),
                    count=len(kept),
                    total=SLICES,
                    what=why,
                )
            )
        return PartResult(
            tuple(Result(WHOLE, metric, value, cache) for metric, value in values.items()),
            notes=tuple(notes),
        )


def _broken(bench: Bench) -> CacheState:
    return CacheState(
        page_cache="bypass",
        proof="unproven",
        proof_reason=f"{_REASON}, in a slice that was not read to its end",
        drive_state=bench.drive_state,
    )


def _judge(bench: Bench, read_bytes: int, device_read_bytes: int) -> CacheState:
    return judge_reads(
        requested="bypass",
        proven_before=True,
        reason=_REASON,
        app_read_bytes=read_bytes,
        device_read_bytes=device_read_bytes,
        drive_state=bench.drive_state,
    )


make_workload = SurfaceWorkload

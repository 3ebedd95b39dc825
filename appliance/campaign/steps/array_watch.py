# SPDX-License-Identifier: Apache-2.0
"""An array's counters in each part of a step, and the control a workload has over it."""

import shlex
from dataclasses import replace
from pathlib import Path

from appliance.arrays.model import CacheCounters
from appliance.arrays.replace_cache import empty_cache
from appliance.arrays.settings import set_cache_mode
from appliance.arrays.state import (
    check_cache,
    clear_counters,
    read_counters_settled,
    read_dirty_bytes,
    read_state,
)
from appliance.arrays.write_back import wait_clean
from appliance.campaign.drives.array import OpenArray
from appliance.campaign.host import Announce
from appliance.drives.file_system import find_folder
from appliance.errors import StepFailedError
from appliance.phrases import N_, Phrase
from appliance.plan.model import ArrayPlan
from appliance.progress import Progress
from appliance.run import run_watched
from appliance.samples.diskstats import DiskStats, parse_stat
from appliance.samples.model import CacheState, Result
from appliance.samples.variants import ArrayVariant, CacheMode
from appliance.store.tables.steps import ArrayCondition
from appliance.sysfs import read_text
from appliance.workloads.base import MemberCounters

BYPASSED_LIMIT_BYTES = 32 << 20
"""Of what bypasses the cache between two ticks bcache keeps 16 bits of sectors."""
_COUNTED_SHARE = 0.95
_BLOCK = Path("/sys/class/block")
_COUNTED = CacheState(
    page_cache="partial",
    proof="unproven",
    proof_reason="what reached the array, whatever RAM answered before",
)


class ArrayWatch:
    """One array while one step runs on it."""

    def __init__(
        self, opened: OpenArray, *, plan: ArrayPlan, tell: Progress, announce: Announce
    ) -> None:
        self._announce = announce
        self._array = opened.array
        self._cache = opened.cache
        self._plan = plan
        self._tell = tell
        self._first_dirty_bytes = 0
        self._first_read_ios = 0
        self._modes: set[str] = set()
        """In force when the parts ended since `begin_step`."""
        self._met = self._look()
        self._array_before = DiskStats(0, 0, 0, 0)
        self._before = MemberCounters(self._array_before, self._array_before)

    @property
    def stat_paths(self) -> dict[str, Path]:
        """Where the counters of the array and of its drives are, by kernel name."""
        array = self._array
        return {name: _BLOCK / name / "stat" for name in (array.name, array.cache, array.backing)}

    @property
    def size_bytes(self) -> int:
        """The array's size. Raises StepFailedError when it has gone."""
        text = read_text(_BLOCK / self._array.name / "size")
        if not text:
            raise StepFailedError(Phrase(N_("{path} is gone"), path=self._array.path))
        # In units of 512 bytes, whatever the logical block (block/genhd.c).
        return int(text) * 512

    def read_dirty_bytes(self) -> int:
        """What is only in the cache now."""
        return read_dirty_bytes(self._array)

    @property
    def condition(self) -> ArrayCondition:
        """As the part that runs met the array.

        Nothing is asked: what was measured is stored also when the array is gone by then.
        """
        return self._met

    def _look(self) -> ArrayCondition:
        """Raises StepFailedError when there is no array any more, or only its disk."""
        now = read_state(self._array)
        # A cache that fails is taken away by the kernel, and the disk goes on alone
        # (conditional_stop_bcache_device() in drivers/md/bcache/super.c).
        check_cache(self._array)
        return ArrayCondition(now.cache_mode, now.dirty_bytes)

    # What the workload may do

    @property
    def clean_timeout_s(self) -> float:
        """How long `come_to_rest` may wait."""
        return self._plan.clean_timeout_s

    def come_to_rest(self) -> str:
        """Wait until the array is clean; say what was not reached. Raises StepFailedError."""
        # Only what is in the cache device is dirty to bcache; RAM would make it so in a moment.
        self._write_back_ram()
        remark = wait_clean(self._array, timeout_s=self.clean_timeout_s, tell=self._tell)
        # What was written back until here is not the part's doing.
        self.begin_part()
        return remark

    def _write_back_ram(self) -> None:
        folder = find_folder(self._array.path)
        what = ["--file-system", str(folder)] if folder.is_mount() else [self._array.path]
        done = run_watched(
            ["sync", *what], poll=lambda: self._tell(N_("writing back what is in RAM"), 0, 0)
        )
        if done.returncode != 0:
            raise StepFailedError(
                Phrase(
                    N_("{command} failed: {error}"),
                    command=shlex.join(done.command),
                    error=done.stderr.strip(),
                )
            )

    def set_cache_mode(self, mode: CacheMode) -> None:
        """From now on."""
        set_cache_mode(self._array, mode)
        self._plan = replace(self._plan, cache_mode=mode)
        self._met = replace(self._met, mode=mode)

    def empty_cache(self) -> None:
        """No block of the array is in the cache afterwards."""
        self._announce("array", set=self._array.set_uuid, state="emptying")
        empty_cache(self._array, self._cache, plan=self._plan, tell=self._tell)

    def read_members(self) -> MemberCounters:
        """What the two drives have served until now."""
        return MemberCounters(
            backing=_read_stat(self._array.backing), cache=_read_stat(self._array.cache)
        )

    # What is measured

    def begin_step(self) -> None:
        """Clear bcache's own counters."""
        clear_counters(self._array, self._tell)
        self._modes.clear()
        self._first_dirty_bytes = self.read_dirty_bytes()
        self._first_read_ios = _read_stat(self._array.name).read_ios

    def begin_part(self) -> None:
        """From here on it is the next part that moves the counters. Raises StepFailedError."""
        self._array_before = _read_stat(self._array.name)
        self._before = self.read_members()
        self._met = self._look()

    def end_part(self, part: str) -> tuple[Result, ...]:
        """What the array and its drives did in the part. Raises StepFailedError."""
        now, array = self.read_members(), _read_stat(self._array.name)
        before, condition = self._before, self._look()
        self._modes.add(condition.mode)
        figures = {
            "backing_read_bytes": now.backing.read_bytes - before.backing.read_bytes,
            "backing_write_bytes": now.backing.write_bytes - before.backing.write_bytes,
            "cache_read_bytes": now.cache.read_bytes - before.cache.read_bytes,
            "cache_write_bytes": now.cache.write_bytes - before.cache.write_bytes,
            "dirty_start_bytes": self._met.dirty_bytes,
            "dirty_end_bytes": condition.dirty_bytes,
        }
        variant = str(ArrayVariant(part))
        results = [Result(variant, metric, value, _COUNTED) for metric, value in figures.items()]
        array_bytes = array.read_bytes - self._array_before.read_bytes
        if array_bytes:
            ratio = read_hit_ratio(
                array_read_bytes=array_bytes, backing_read_bytes=figures["backing_read_bytes"]
            )
            results.append(Result(variant, "hit_ratio", ratio, _COUNTED))
        return tuple(results)

    def end_step(self, *, is_whole: bool, peak_bytes: int) -> tuple[Result, ...]:
        """Bcache's own counters since `begin_step`.

        `is_whole`: whether all parts were done since then; the rows are not valid otherwise.
        `peak_bytes`: the most that may have gone past the cache within COUNTER_TICK_S.
        """
        counters = read_counters_settled(self._array, self._tell)
        read_ios = _read_stat(self._array.name).read_ios - self._first_read_ios
        figures: dict[str, float] = {
            "cache_hits": counters.cache_hits,
            "cache_misses": counters.cache_misses,
            "bypassed_bytes": counters.bypassed_bytes,
            "dirty_start_bytes": self._first_dirty_bytes,
            "dirty_end_bytes": self._look().dirty_bytes,
        }
        if lookups := counters.cache_hits + counters.cache_misses:
            figures["hit_ratio"] = counters.cache_hits / lookups
        valid, reason = judge_counters(counters, read_ios=read_ios, is_whole=is_whole)
        if len(self._modes) > 1:
            # The rows can name one mode only: the last.
            reason = f"over several cache modes: {reason}"
        if peak_bytes >= BYPASSED_LIMIT_BYTES:
            del figures["bypassed_bytes"]
            reason += "; what bypassed the cache is not known: too much for bcache to count"
        cache = replace(_COUNTED, proof_reason=reason)
        return tuple(
            Result("array", metric, value, cache, valid=valid) for metric, value in figures.items()
        )


def judge_counters(counters: CacheCounters, *, read_ios: int, is_whole: bool) -> tuple[bool, str]:
    """Whether bcache's counters can be believed, and why. Pure.

    Each tick of its timer can lose a multiple of 65,536 requests (`arrays.model.CacheCounters`).
    bcache counts reads only (cached_dev_read_done_bh() in drivers/md/bcache/request.c).
    """
    counted = (
        counters.cache_hits
        + counters.cache_misses
        + counters.cache_bypass_hits
        + counters.cache_bypass_misses
    )
    if not is_whole:
        return False, "bcache's own counters since the step's last start: it was interrupted"
    if counted < _COUNTED_SHARE * read_ios:
        return False, f"bcache counted {counted} of the {read_ios} read requests only"
    return True, "bcache's own counters over the whole step"


def read_hit_ratio(*, array_read_bytes: int, backing_read_bytes: int) -> float:
    """The share of the bytes read from the array that its disk did not need to read. Pure.

    The disk also reads what the cache fills beyond a request: the ratio is never below 0.
    """
    return max(0.0, 1 - backing_read_bytes / array_read_bytes)


def _read_stat(name: str) -> DiskStats:
    """Raises StepFailedError when the device has gone."""
    text = read_text(_BLOCK / name / "stat")
    if not text:
        raise StepFailedError(Phrase(N_("/dev/{device} is gone"), device=name))
    return parse_stat(text, device=name)

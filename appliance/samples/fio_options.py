# SPDX-License-Identifier: Apache-2.0
"""Which of fio's options a plan may use, and with what values. Pure.

A list of what is allowed, not of what is dangerous: no option here can name another file, device,
program, network, log or environment, and no value can end its line in the job file or be expanded.
What fio thinks of the whole job is for `fio --parse-only`.
"""

import re
from collections.abc import Iterable, Sequence

from appliance.phrases import N_, Phrase
from appliance.units import parse_size

ENGINES = ("io_uring", "libaio", "psync", "sync", "pvsync", "pvsync2", "posixaio", "mmap")
"""Those that do I/O on the one file they are given and need nothing but the kernel."""

READING_MODES = frozenset({"read", "randread"})
MODES = (*sorted(READING_MODES), "write", "randwrite", "rw", "readwrite", "randrw")
"""Without the trim modes: what they erase is in no count of bytes."""

MAX_JOBS = 64
# Each job holds a buffer of the largest block for each I/O under way.
_MAX_BLOCK_BYTES = 64 << 20
_DEFAULT_BLOCK_BYTES = 4096
BUFFER_SHARE = 0.25
"""Of the RAM: all buffers of a job together take no more."""
_BLOCK_OPTIONS = frozenset({"bs", "bsrange", "bssplit"})
# With a size of 0 fio takes all there is, however much the plan has counted with. An io_size of 0
# is fio's default: as much as `size` says, which each job has (tried with fio 3.39).
_POSITIVE_OPTIONS = frozenset({*_BLOCK_OPTIONS, "size"})

# fio's own suffixes change their meaning with kb_base (HOWTO, "kb_base"); single letters are
# binary by default, as everywhere in the plan.
_SIZE = r"[0-9]{1,15}[kKmMgGtT]?"
_COUNT = r"[1-9][0-9]{0,8}"
_DEPTH = r"[1-9][0-9]{0,2}|10[01][0-9]|102[0-4]"
_JOBS = r"[1-9]|[1-5][0-9]|6[0-4]"
_NUMBER = r"[0-9]{1,9}"
_DECIMAL = r"[0-9]{1,6}(\.[0-9]{1,6})?"
_PERCENT = r"(100|[0-9]{1,2})"
_PERCENTS = rf"{_PERCENT}(,{_PERCENT}){{0,2}}"
_SIZES = rf"{_SIZE}(,{_SIZE}){{0,2}}"
_ZONE = rf"{_PERCENT}/{_PERCENT}"
_SPLIT = rf"{_SIZE}/{_PERCENT}?(:{_SIZE}/{_PERCENT}?){{0,15}}"

_A_SIZE = N_("a size such as 4K, 1M or a number of bytes")
_A_BLOCK = N_("a size up to 64M such as 4K, or a number of bytes")
_A_COUNT = N_("a whole number from 1")
_A_NUMBER = N_("a whole number")
_A_SWITCH = N_("0 or 1")
_A_PERCENTAGE = N_("a whole number from 0 to 100")
_SECONDS = N_("a whole number of seconds from 1")


def _list_names(names: Iterable[str]) -> str:
    return Phrase(N_("one of {names}"), names=", ".join(names))


def _one_of(*words: str) -> tuple[str, str]:
    return "|".join(re.escape(word) for word in words), _list_names(words)


_SWITCH = ("[01]", _A_SWITCH)
_RATE = (_SIZES, N_("a size per second such as 10M, for reads and writes 10M,5M"))
_BATCH = (_COUNT, _A_COUNT)
_MICROSECONDS = (_NUMBER, N_("a whole number of microseconds"))

_ALLOWED: dict[str, tuple[str, str]] = {
    # what is read and written
    "rw": (rf"({'|'.join(MODES)})(:-?{_SIZE})?", _list_names(MODES)),
    "bs": (_SIZES, _A_BLOCK),
    "bsrange": (rf"{_SIZE}-{_SIZE}", N_("a range of sizes up to 64M such as 4K-64K")),
    "bssplit": (_SPLIT, N_("sizes up to 64M with their share such as 4K/60:64K/40")),
    "blockalign": (_SIZE, _A_SIZE),
    "size": (_SIZE, _A_SIZE),
    "io_size": (_SIZE, _A_SIZE),
    "offset": (_SIZE, _A_SIZE),
    "offset_increment": (_SIZE, _A_SIZE),
    "number_ios": (_COUNT, _A_COUNT),
    "rwmixread": (_PERCENT, _A_PERCENTAGE),
    "rwmixwrite": (_PERCENT, _A_PERCENTAGE),
    "rw_sequencer": _one_of("sequential", "identical"),
    # in which order
    "norandommap": _SWITCH,
    "softrandommap": _SWITCH,
    "percentage_random": (_PERCENTS, _A_PERCENTAGE),
    "random_generator": _one_of("tausworthe", "lfsr", "tausworthe64"),
    "random_distribution": (
        rf"random|(zipf|pareto|normal):{_DECIMAL}(:{_DECIMAL})?|zoned:{_ZONE}(:{_ZONE}){{0,15}}",
        N_("random, zipf:THETA, pareto:H, normal:DEVIATION or zoned:SHARE/SHARE:…"),
    ),
    # how
    "ioengine": _one_of(*ENGINES),
    "iodepth": (_DEPTH, N_("a whole number from 1 to 1024")),
    "iodepth_batch": _BATCH,
    "iodepth_batch_submit": _BATCH,
    "iodepth_batch_complete": (_NUMBER, _A_NUMBER),
    "iodepth_batch_complete_min": (_NUMBER, _A_NUMBER),
    "iodepth_batch_complete_max": (_NUMBER, _A_NUMBER),
    "iodepth_low": _BATCH,
    "io_submit_mode": _one_of("inline", "offload"),
    "serialize_overlap": _SWITCH,
    "hipri": _SWITCH,
    "fixedbufs": _SWITCH,
    "registerfiles": _SWITCH,
    "sqthread_poll": _SWITCH,
    "nonvectored": _SWITCH,
    "force_async": (_NUMBER, _A_NUMBER),
    "userspace_reap": _SWITCH,
    "nowait": _SWITCH,
    "sync": _one_of("0", "1", "none", "sync", "dsync"),
    "fsync": (_NUMBER, _A_NUMBER),
    "fdatasync": (_NUMBER, _A_NUMBER),
    "end_fsync": _SWITCH,
    # how many, how long, how fast
    "numjobs": (_JOBS, Phrase(N_("a whole number from {least} to {most}"), least=1, most=MAX_JOBS)),
    "thread": _SWITCH,
    "runtime": (rf"{_COUNT}s?", _SECONDS),
    "time_based": _SWITCH,
    "loops": (_COUNT, _A_COUNT),
    "thinktime": _MICROSECONDS,
    "thinktime_spin": _MICROSECONDS,
    "thinktime_blocks": _BATCH,
    "rate": _RATE,
    "rate_min": _RATE,
    "rate_iops": (rf"{_NUMBER}(,{_NUMBER}){{0,2}}", N_("a whole number of I/Os per second")),
    "rate_iops_min": (rf"{_NUMBER}(,{_NUMBER}){{0,2}}", N_("a whole number of I/Os per second")),
    "rate_process": _one_of("linear", "poisson"),
    "rate_cycle": (_COUNT, N_("a whole number of milliseconds")),
    "max_latency": _MICROSECONDS,
    # who
    "cpus_allowed": (r"[0-9]{1,4}([,-][0-9]{1,4}){0,63}", N_("processor numbers such as 0,2-3")),
    "cpus_allowed_policy": _one_of("shared", "split"),
    "nice": (r"-?[0-9]{1,2}", N_("a whole number from -20 to 19")),
    "prio": ("[0-7]", N_("a whole number from 0 to 7")),
    "prioclass": ("[0-3]", N_("a whole number from 0 to 3")),
    # with what data
    "zero_buffers": _SWITCH,
    "refill_buffers": _SWITCH,
    "scramble_buffers": _SWITCH,
    "buffer_compress_percentage": (_PERCENT, _A_PERCENTAGE),
    "buffer_compress_chunk": (_SIZE, _A_SIZE),
    "dedupe_percentage": (_PERCENT, _A_PERCENTAGE),
}

# Why the ones people reach for are not there. The aliases are left out because a job that says
# what it does under two names would be judged by one of them.
_REASONS = {
    "readwrite": N_("write it as rw"),
    "blocksize": N_("write it as bs"),
    "blocksize_range": N_("write it as bsrange"),
    "direct": N_("page_cache decides it: bypass is direct=1"),
    "buffered": N_("page_cache decides it: bypass is direct=1"),
    "invalidate": N_("page_cache decides what the cache holds"),
    "pre_read": N_("page_cache decides what the cache holds"),
    "randseed": N_("seed of the workload decides it"),
    "randrepeat": N_("seed of the workload decides it"),
    "allrandrepeat": N_("seed of the workload decides it"),
    "ramp_time": N_("what it reads would be missing from the count of bytes"),
    "steadystate": N_("steady_state of the workload does it, in rounds"),
    "allow_mounted_write": N_("a mounted drive is never written to"),
    "kb_base": N_("sizes are binary throughout"),
    "verify": N_("reading back what was written is the kind verify"),
    "group_reporting": N_("it is always on"),
    "stonewall": N_("there is one job only"),
}
_ELSEWHERE = re.compile(
    r"filename|filename_format|directory|opendir|lockfile|include|ioscheduler|"
    r"(read_|write_|merge_|verify_state|replay_|exec_|cgroup|per_job_logs|log_|trigger|aux).*"
)


def check_option(key: str, value: str) -> str:
    """What is wrong with fio's option `key` set to `value`: one clause, or nothing if it is fine.

    The clause does not repeat key and value; it reads on after them.
    """
    allowed = _ALLOWED.get(key)
    if allowed is None:
        if reason := _REASONS.get(key):
            return Phrase(N_("is not for a plan: {what}"), what=reason)
        if _ELSEWHERE.fullmatch(key):
            return N_("points elsewhere: the bench decides which drive and files fio touches")
        return N_("is not among fio's options that a plan may use")
    pattern, description = allowed
    # Without the end of line that fullmatch leaves to $: a value is one line of the job file.
    if re.fullmatch(pattern, value, re.ASCII) is None:
        return Phrase(N_("must be {what}"), what=description)
    if key in _POSITIVE_OPTIONS and not min(_list_sizes(value)):
        return Phrase(N_("must be {what}; 0 is none"), what=description)
    is_too_large = key in _BLOCK_OPTIONS and max(_list_sizes(value)) > _MAX_BLOCK_BYTES
    return Phrase(N_("must be {what}"), what=description) if is_too_large else ""


def buffer_bytes(options: Sequence[tuple[str, str]]) -> int:
    """The RAM that a job takes for what is under way at once: it cannot be reclaimed."""
    values = dict(options)
    blocks = [size for key in _BLOCK_OPTIONS & set(values) for size in _list_sizes(values[key])]
    at_once = int(values.get("iodepth", "1")) * int(values.get("numjobs", "1"))
    return max(blocks, default=_DEFAULT_BLOCK_BYTES) * at_once


def _list_sizes(value: str) -> list[int]:
    """In bytes: all of a range, of a list or of a split."""
    return [parse_size(size.upper()) for size in re.split("[-,:]", re.sub("/[0-9]*", "", value))]

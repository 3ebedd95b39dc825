# SPDX-License-Identifier: Apache-2.0
"""The stored results of finished slices, for the figures over the whole drive.

A line of JSON per slice, synced before its slice is committed; one that power loss tore, in which
a bit has turned, or whose slice was read again, does not count.
"""

import os
from collections import Counter
from dataclasses import asdict, dataclass, field
from pathlib import Path

from appliance.flush import sync_path
from appliance.workloads.raw_files import seal, stick_trouble, unseal

FILE = "surface.jsonl"


@dataclass(frozen=True, slots=True)
class StoredSlice:
    """One slice that was read."""

    part: str
    size_bytes: int
    """The drive's, then."""
    chunks: int
    read_bytes: int
    rated_bytes: int
    """Read at once: what the rate is made of."""
    seconds: float
    """What the drive took for those."""
    mean_bytes_s: float
    unreadable_bytes: int
    device_read_bytes: int
    slow_ranges: int
    narrowing_s: float
    hopeless: bool
    latencies: dict[int, int] = field(default_factory=dict)
    """How many reads took about so many nanoseconds."""


def append_slice(folder: Path, kept: StoredSlice) -> None:
    """Append one slice; a line that was torn stays alone. Raises StickError.

    Before it is committed, `sync_slices` is to be called.
    """
    path = folder / FILE
    with stick_trouble(path):
        is_new = not path.exists()
        with path.open("a+b") as out:
            torn = out.tell() > 0 and os.pread(out.fileno(), 1, out.tell() - 1) != b"\n"
            out.write((b"\n" if torn else b"") + seal(asdict(kept)).encode() + b"\n")
        if is_new:
            sync_path(folder)


def sync_slices(folder: Path) -> None:
    """All slices that were appended will be there after power loss. Raises StickError."""
    path = folder / FILE
    with stick_trouble(path):
        sync_path(path)


def load_slices(folder: Path) -> dict[str, StoredSlice]:
    """All that were kept, by part, each as it was read last; some may not be stored as done."""
    try:
        lines = (folder / FILE).read_bytes().splitlines()
    except OSError:
        return {}
    slices: dict[str, StoredSlice] = {}
    for line in lines:
        try:
            values = unseal(line)
            values["latencies"] = {int(ns): count for ns, count in values["latencies"].items()}
            record = StoredSlice(**values)
        except (ValueError, TypeError, KeyError, AttributeError):
            continue
        slices[record.part] = record
    return slices


def add_latencies(slices: dict[str, StoredSlice]) -> Counter[int]:
    """Of all slices together."""
    total: Counter[int] = Counter()
    for record in slices.values():
        total.update(record.latencies)
    return total

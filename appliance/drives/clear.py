# SPDX-License-Identifier: Apache-2.0
"""Clearing what a released drive still carries: plan → show → run → check that it is gone.

Takes away signatures of file systems, partition tables and members of LVM, md, ZFS, bcache and
LUKS, on the drive and on its partitions. Must never stop a holder: what is mounted, swap in
use or held by anything in the kernel is refused (an array of ours is stopped by `arrays.running`,
which knows it by its UUID, before its drives are unlocked). Whether a drive may be written to at
all is `writable`'s.
"""

import json
import os
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import Literal, override

from appliance.console import announce
from appliance.drives.loops import walk_nodes
from appliance.drives.unlock import Unlocked, Writable, check_not_held
from appliance.errors import RefusedError, StepFailedError
from appliance.phrases import N_, Phrase
from appliance.run import run
from appliance.units import printable

Action = Literal["blank", "wipe", "forget"]

# ZFS keeps two of its four labels in the last 512 KiB, aligned to 256 KiB; md 1.0 and 0.90, GPT's
# second header and LVM's second metadata area lie behind that. Most others are in the first MiB.
_END_BYTES = 1 << 20
# Copies of btrfs' superblock, which wipefs leaves (BTRFS_SUPER_MIRROR_SHIFT in fs/btrfs/disk-io.h).
_BTRFS_COPIES = (64 << 20, 256 << 30)
_BTRFS_COPY_BYTES = 4096
_SECTOR_BYTES = 512
_COLUMNS = "PATH,KNAME,TYPE,START,SIZE,MOUNTPOINTS"


@dataclass(frozen=True, slots=True)
class Place:
    """The drive itself or one of its partitions."""

    path: str
    start_bytes: int
    """On the drive."""
    size_bytes: int


@dataclass(frozen=True, slots=True)
class Leftovers:
    """What was found on a drive."""

    places: tuple[Place, ...]
    """The drive, then its partitions in the order of their numbers."""
    in_use: tuple[str, ...]
    """What must not be cleared, in sentences."""
    signatures: tuple[tuple[str, str], ...]
    """Path and libblkid's word for what lies there: `("/dev/sda1", "LVM2_member")`."""


@dataclass(frozen=True, slots=True)
class ClearingStep:
    """One thing that is done to a place."""

    place: Place
    what: str
    """What is lost by it."""
    action: Action
    """blank: its ends; wipe: each signature wipefs finds; forget: its partitions."""
    ranges: tuple[tuple[int, int], ...] = ()
    """What is blanked: start on the drive and length, in bytes."""

    @override
    def __str__(self) -> str:
        return f"{self.action} {self.place.path} ({self.what})"


def plan_clearing(found: Leftovers) -> tuple[ClearingStep, ...]:
    """The steps in order, from the last partition to the drive; none for an empty drive. Pure.

    A place without a signature is left as it is: it may be what a step wrote that goes on now.
    Blanked before it is wiped: what a power cut leaves half done still shows a signature, or has
    lost all that its owner could find it by. Raises RefusedError when anything is in use.
    """
    if found.in_use:
        raise RefusedError(Phrase(N_("nothing is cleared: {what}"), what="; ".join(found.in_use)))
    steps: list[ClearingStep] = []
    for place in reversed(found.places):
        kinds = tuple(dict.fromkeys(kind for path, kind in found.signatures if path == place.path))
        if kinds:
            what = ", ".join(kinds)
            steps.append(ClearingStep(place, what, "blank", blanked(place, kinds)))
            steps.append(ClearingStep(place, what, "wipe"))
    partitions = len(found.places) - 1
    if partitions:
        steps.append(ClearingStep(found.places[0], f"{partitions} partitions", "forget"))
    return tuple(steps)


def blanked(place: Place, kinds: Collection[str]) -> tuple[tuple[int, int], ...]:
    """Where signatures of these kinds have their copies on the drive: start and length. Pure."""
    size_bytes = min(_END_BYTES, place.size_bytes)
    ranges = [(0, size_bytes), (place.size_bytes - size_bytes, size_bytes)]
    if "btrfs" in kinds:
        ranges += [
            (start, _BTRFS_COPY_BYTES)
            for start in _BTRFS_COPIES
            if start + _BTRFS_COPY_BYTES <= place.size_bytes
        ]
    return tuple(dict.fromkeys((place.start_bytes + start, size) for start, size in ranges))


def parse_tree(text: str) -> tuple[tuple[Place, ...], tuple[str, ...]]:
    """Places and what is in use, out of lsblk's JSON for one drive.

    Pure. Raises StepFailedError.
    """
    try:
        (root,) = json.loads(text)["blockdevices"]
        below = tuple(walk_nodes(root.get("children") or ()))
        parts = [node for node in below if node["type"] == "part"]
        in_use = [
            f"{printable(node['path'])} is {_use(point)}"
            for node in (root, *below)
            for point in node.get("mountpoints") or ()
            if point
        ]
        in_use += [
            Phrase(N_("{path} is built on it"), path=printable(node["path"]))
            for node in below
            if node not in parts
        ]
        places = [Place(root["path"], 0, int(root["size"]))]
        places += [
            Place(node["path"], int(node["start"]) * _SECTOR_BYTES, int(node["size"]))
            for node in parts
        ]
    except (KeyError, TypeError, ValueError) as error:
        raise StepFailedError(
            Phrase(N_("lsblk gave no usable description of the drive: {error}"), error=f"{error!r}")
        ) from error
    return tuple(places), tuple(dict.fromkeys(in_use))


def parse_signatures(text: str, places: Sequence[Place]) -> tuple[tuple[str, str], ...]:
    """Path and kind of each signature in wipefs' JSON. Pure. Raises StepFailedError.

    wipefs names devices without their folder, and prints nothing at all if it finds nothing.
    """
    if not text.strip():
        return ()
    by_name = {place.path.rpartition("/")[2]: place.path for place in places}
    try:
        rows = json.loads(text)["signatures"]
        return tuple((by_name[row["device"]], printable(str(row["type"]))) for row in rows)
    except (KeyError, TypeError, ValueError) as error:
        raise StepFailedError(
            Phrase(N_("wipefs gave no usable list of signatures: {error}"), error=f"{error!r}")
        ) from error


def describe(steps: Sequence[ClearingStep]) -> str:
    """All steps in one line, for the event log."""
    return "; ".join(map(str, steps))


def clear_holders(
    target: Writable, *, show: Callable[[str], None] | None = None
) -> tuple[ClearingStep, ...]:
    """Leave no signature and no partition on an unlocked drive, or array of ours.

    The plan is on the console, and handed to `show` in one line, before anything is written.
    Returns what was done; nothing, where there was nothing. Raises RefusedError before the first
    write when anything on it is in use; StepFailedError when it cannot be written to or something
    is left.
    """
    check_not_held(target.path)
    steps = plan_clearing(_look(target.path))
    if not steps:
        return ()
    name = target.drive.identity if isinstance(target, Unlocked) else target.path
    announce("clearing", drive=name, steps=len(steps), what=describe(steps))
    if show is not None:
        show(f"{printable(name)}: {describe(steps)}")
    for step in steps:
        carry_out(step, target.path)
    # Partitions have a page cache of their own: what was wiped through one is stale in the drive's.
    run(["blockdev", "--flushbufs", target.path])
    content = _look(target.path)
    rest = [f"{kind} on {path}" for path, kind in content.signatures]
    rest += [Phrase(N_("partition {path}"), path=place.path) for place in content.places[1:]]
    rest += content.in_use
    if rest:
        raise StepFailedError(
            Phrase(
                N_("{path} was cleared, and still shows {found}"),
                path=target.path,
                found=", ".join(rest),
            )
        )
    return steps


def list_places(path: str) -> tuple[Place, ...]:
    """The drive at `path` and its partitions, whose pages of the cache are dropped.

    Raises StepFailedError.
    """
    places, _ = _read_tree(path)
    run(["blockdev", "--flushbufs", *(place.path for place in places)])
    return places


def _read_tree(path: str) -> tuple[tuple[Place, ...], tuple[str, ...]]:
    return parse_tree(
        run(["lsblk", "--json", "--tree", "--bytes", "--output", _COLUMNS, path]).stdout
    )


def _look(path: str) -> Leftovers:
    places, in_use = _read_tree(path)
    paths = [place.path for place in places]
    listed = run(["wipefs", "--json", *paths])
    return Leftovers(places, in_use, parse_signatures(listed.stdout, places))


def carry_out(step: ClearingStep, path: str) -> None:
    """Do one step of the plan for the drive at `path`. Raises StepFailedError."""
    if step.action == "blank":
        _blank(step.ranges, path)
    elif step.action == "wipe":
        command = ["wipefs", "--all", "--quiet", "--force", step.place.path]
        run(command)
    else:
        run(["blockdev", "--rereadpt", path])


def _blank(ranges: Sequence[tuple[int, int]], path: str) -> None:
    try:
        fd = os.open(path, os.O_WRONLY | os.O_CLOEXEC)
        try:
            for start_bytes, size_bytes in ranges:
                os.pwrite(fd, bytes(size_bytes), start_bytes)
            os.fsync(fd)
        finally:
            os.close(fd)
    except OSError as error:
        raise StepFailedError(
            Phrase(N_("{path} cannot be written to: {error}"), path=path, error=error.strerror)
        ) from error


def _use(mountpoint: str) -> str:
    return (
        N_("swap space in use")
        if mountpoint == "[SWAP]"
        else Phrase(N_("mounted at {mountpoint}"), mountpoint=printable(mountpoint))
    )

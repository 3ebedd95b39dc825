# SPDX-License-Identifier: Apache-2.0
"""Assembling an array's drives in the kernel, and stopping the array.

The way out never writes back what is dirty, and loses nothing: a cache set that is stopped keeps
what it has (`stop` of a set, unlike `unregister`, does not detach). Nothing here formats a drive.
"""

import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from appliance.arrays.control import (
    BLOCK,
    POWER_CYCLE_HINT,
    SETS,
    control,
    linked,
    read,
    register,
    set_folder,
    wait_until,
    write,
)
from appliance.arrays.make import clear_member, make_cache
from appliance.arrays.model import Array, ArrayStuckError, label_of
from appliance.arrays.settings import apply_settings
from appliance.arrays.state import has_cache
from appliance.arrays.superblock import has_signature, read_superblock
from appliance.drives.unlock import Unlocked
from appliance.errors import KaltstartError, RefusedError, StepFailedError
from appliance.phrases import N_, Phrase
from appliance.plan.model import ArrayPlan
from appliance.progress import Progress, ignore_progress
from appliance.units import printable

START_S = 120.0
"""How long the array's device may take to appear: its own node comes from udev's kernel thread."""
RELEASE_S = 900.0
"""How long the kernel may take to release drives that answer late or not at all: what is being
written back at that moment ends first, each request with the timeouts of `kernel`."""


@contextmanager
def assembled(
    backing: Unlocked, cache: Unlocked, *, plan: ArrayPlan, set_uuid: str, tell: Progress
) -> Iterator[Array]:
    """The array of the two, running with the plan's settings for as long as the block lasts.

    Goes on with what an interruption left: a backing drive that is detached, a cache drive whose
    superblock was about to be made again. A cache that fails is never taken up again, nor made
    again: its drive is no longer what was to be measured. Raises RefusedError for drives that are
    not members of the array with this UUID, StepFailedError when it cannot be run or has lost its
    cache by the end of the block, and ArrayStuckError when the kernel does not release the drives
    afterwards, with the reason of the block's failure.
    """
    _check_members(backing, cache, plan=plan, set_uuid=set_uuid, tell=tell)
    with releasing((backing.drive.name, cache.drive.name), set_uuid=set_uuid):
        array = bring_up(backing, cache, set_uuid=set_uuid, tell=tell)
        apply_settings(array, plan)
        try:
            yield array
        except BaseException:
            with suppress(KaltstartError):  # what went wrong first is what counts
                mark_lost_cache(array)
            raise
        if mark_lost_cache(array):
            raise StepFailedError(Phrase(N_("{path} has lost its cache"), path=array.path))


@contextmanager
def releasing(drives: tuple[str, ...], *, set_uuid: str) -> Iterator[None]:
    """Release the drives (kernel's names) after the block, whatever becomes of it.

    Raises ArrayStuckError, which also says what the block had failed with.
    """
    try:
        yield
    except BaseException as error:
        try:
            stop_array(drives, set_uuid=set_uuid, tell=ignore_progress)
        except ArrayStuckError as stuck:
            if not isinstance(error, KaltstartError):
                raise
            both = Phrase(N_("{what}; before that: {rest}"), what=stuck.message, rest=error.message)
            raise ArrayStuckError(both, hint=stuck.hint) from error
        raise
    stop_array(drives, set_uuid=set_uuid, tell=ignore_progress)


def bring_up(backing: Unlocked, cache: Unlocked, *, set_uuid: str, tell: Progress) -> Array:
    """Register both, attach, and wait until the array runs.

    Raises StepFailedError, ArrayStuckError.

    What was registered stays so on failure: `stop_array` undoes it.
    """
    for role, member in (("cache", cache), ("backing", backing)):
        if not control(member.drive.name).exists():
            tell(Phrase(N_("registering the {what} drive"), what=role), 0, 0)
            register(member.path)
            if not control(member.drive.name).exists():
                raise StepFailedError(
                    Phrase(
                        N_("bcache did not accept {path}: see the kernel's log"), path=member.path
                    )
                )
    folder = control(backing.drive.name)
    if not set_folder(set_uuid).exists():
        raise StepFailedError(
            Phrase(
                N_("the kernel runs no cache set {set_uuid} with {path}"),
                set_uuid=set_uuid,
                path=cache.path,
            )
        )
    attach(folder, set_uuid=set_uuid, tell=tell)
    _wait_for_device(folder, tell)
    array = Array(
        set_uuid=set_uuid.lower(),
        name=linked(folder / "dev"),
        backing=backing.drive.name,
        cache=cache.drive.name,
    )
    _check_links(array)
    set_label(folder, label_of(set_uuid))
    return array


def set_label(folder: Path, label: str) -> None:
    """Call the registered backing drive so, in its superblock. Raises StepFailedError."""
    if read(folder / "label") != label:
        write(folder / "label", label)


def mark_lost_cache(array: Array) -> bool:
    """Whether a failure detached the cache; the backing drive's superblock records it from then on.

    Nothing is known of an array that is gone altogether: the kernel stops it where something was
    dirty (conditional_stop_bcache_device() in super.c), and nothing is written past the cache.
    Raises StepFailedError, ArrayStuckError.
    """
    folder = control(array.backing)
    if has_cache(array) or not folder.exists():
        return False
    # Both are written before the link goes when it is detached on purpose.
    parted = read(folder / "label") == label_of(array.set_uuid, "parted")
    if parted and read(folder / "state") == "no cache":
        return False
    set_label(folder, label_of(array.set_uuid, "lost"))
    return True


def attach(folder: Path, *, set_uuid: str, tell: Progress) -> None:
    """Give the registered backing drive the registered set as its cache, if it has none yet.

    Raises StepFailedError.
    """
    if linked(folder / "cache"):
        return
    tell(N_("attaching the cache"), 0, 0)
    write(folder / "attach", set_uuid)
    if not linked(folder / "cache"):
        raise StepFailedError(
            Phrase(N_("the kernel did not attach the cache set {set_uuid}"), set_uuid=set_uuid)
        )


def stop_array(drives: tuple[str, ...], *, set_uuid: str, tell: Progress) -> None:
    """Stop whatever of the array is registered and wait until the drives (kernel's names) are free.

    Nothing is written back. Raises ArrayStuckError.
    """
    stop(drives, set_uuid=set_uuid)
    wait_for_release(drives, set_uuid=set_uuid, tell=tell)


def stop(drives: tuple[str, ...], *, set_uuid: str) -> None:
    """Ask the kernel to release the set and each backing drive. Raises ArrayStuckError."""
    # The set first: it stops the backing drives that are attached to it itself.
    for file in (set_folder(set_uuid) / "stop", *(control(drive) / "stop" for drive in drives)):
        if file.exists():
            with suppress(StepFailedError):  # gone in the meantime
                write(file, "1")


def wait_for_release(drives: tuple[str, ...], *, set_uuid: str, tell: Progress) -> None:
    """Wait until the kernel holds neither set nor drives. Raises ArrayStuckError."""
    paths = [control(drive) for drive in drives]
    if set_uuid:
        paths.append(set_folder(set_uuid))

    def held() -> list[str]:
        there = [str(path) for path in paths if path.exists()]
        # The files vanish before the drive is released: cached_dev_free() in super.c.
        return there or [f"/dev/{drive}" for drive in drives if _is_held(drive)]

    if not wait_until(
        lambda: not held(),
        text=lambda: "waiting until the kernel releases the array",
        timeout_s=RELEASE_S,
        tell=tell,
    ):
        raise ArrayStuckError(
            Phrase(
                N_("the kernel does not release the array within {seconds} s: {place}"),
                seconds=f"{RELEASE_S:.0f}",
                place=held()[0],
            ),
            hint=POWER_CYCLE_HINT,
        )


def release_arrays(*, tell: Progress) -> None:
    """Stop every array of this kernel: one left by an engine that crashed in this boot.

    Only for the appliance, where nothing else registers any, and for after whatever is mounted
    was unmounted. Nothing is written back. Raises ArrayStuckError.
    """
    sets = [path.parent.name for path in sorted(SETS.glob("*/unregister"))]
    drives = tuple(path.parent.name for path in sorted(BLOCK.glob("*/bcache")))
    drives = tuple(name for name in drives if not name.startswith("bcache"))
    if not sets and not drives:
        return
    tell(N_("releasing an array"), 0, 0)
    for set_uuid in sets or [""]:
        stop(drives, set_uuid=set_uuid)
    for set_uuid in sets or [""]:
        wait_for_release(drives, set_uuid=set_uuid, tell=tell)


def _check_members(
    backing: Unlocked, cache: Unlocked, *, plan: ArrayPlan, set_uuid: str, tell: Progress
) -> None:
    known = read_superblock(backing.path)
    if known is None or known.kind != "backing" or not known.belongs_to(set_uuid):
        raise RefusedError(
            Phrase(
                N_("{backing} is not the backing drive of the array {set_uuid}"),
                backing=_shown(backing),
                set_uuid=set_uuid,
            ),
            blame="drive",
        )
    if known.state == "inconsistent":
        raise StepFailedError(
            Phrase(
                N_("{backing} ran without its cache: what it holds is inconsistent"),
                backing=_shown(backing),
            )
        )
    if known.lost_its_cache(set_uuid):
        raise StepFailedError(
            Phrase(
                N_(
                    "{backing} went on alone when its cache drive failed: what is on the two no "
                    "longer goes together"
                ),
                backing=_shown(backing),
            )
        )
    superblock = read_superblock(cache.path)
    if superblock is None:
        foreign = has_signature(cache.path)
    else:
        foreign = superblock.kind != "cache" or not superblock.belongs_to(set_uuid)
    if foreign:
        raise RefusedError(
            Phrase(
                N_("{cache} is not the cache drive of the array {set_uuid}"),
                cache=_shown(cache),
                set_uuid=set_uuid,
            )
        )
    if superblock is not None and superblock.whole:
        return
    if known.state == "dirty":
        raise StepFailedError(
            Phrase(
                N_("{cache} has lost its superblock, and with it what {backing} lacks"),
                cache=_shown(cache),
                backing=_shown(backing),
            )
        )
    if not known.is_parted(set_uuid):
        raise RefusedError(
            Phrase(
                N_("{cache} no longer carries its part of the array {set_uuid}"),
                cache=_shown(cache),
                set_uuid=set_uuid,
            )
        )
    # `empty_cache` was cut between taking the superblock away and making it: nothing is left on it.
    if cache.drive.serial_doubt:
        raise RefusedError(
            Phrase(
                N_("{cache} cannot be told from another drive: it carries nothing, and {what}"),
                cache=_shown(cache),
                what=cache.drive.serial_doubt,
            ),
            hint=N_("start a new campaign, in which you release it again"),
        )
    tell(N_("making the cache again"), 0, 0)
    clear_member(cache)
    make_cache(cache, block_bytes=known.block_bytes, plan=plan, set_uuid=set_uuid, tell=tell)


def _wait_for_device(folder: Path, tell: Progress) -> None:
    def ready() -> bool:
        name = linked(folder / "dev")
        return bool(name) and Path("/dev", name).exists() and read(folder / "running") == "1"

    text = "waiting for the array's device"
    if not wait_until(ready, text=lambda: text, timeout_s=START_S, tell=tell):
        raise StepFailedError(
            Phrase(
                N_("the array does not run after {seconds} s, state {state}"),
                seconds=f"{START_S:.0f}",
                state=read(folder / "state"),
            )
        )


def _check_links(array: Array) -> None:
    """That the device is the one of our set and drives, and of no others."""
    expected = {
        control(array.backing) / "cache": array.set_uuid,
        control(array.cache) / "set": array.set_uuid,
        BLOCK / array.name / "bcache" / "dev": array.name,
    }
    for link, target in expected.items():
        if linked(link) != target:
            raise StepFailedError(
                Phrase(
                    N_("{link} leads to {now} where {wanted} was expected"),
                    link=link,
                    now=f"{linked(link)!r}",
                    wanted=f"{target!r}",
                )
            )
    slaves = {path.name for path in (BLOCK / array.name / "slaves").iterdir()}
    if slaves != {array.backing, array.cache}:
        raise StepFailedError(
            Phrase(
                N_("{path} is made of {drives}"), path=array.path, drives=", ".join(sorted(slaves))
            )
        )


def _is_held(drive: str) -> bool:
    try:
        os.close(os.open(f"/dev/{drive}", os.O_RDONLY | os.O_EXCL | os.O_CLOEXEC))
    except OSError as error:
        # Any other means that the drive has gone or does not answer (ENXIO: a SCSI disk that the
        # kernel has taken offline).
        return error.errno == errno.EBUSY
    return False


def _shown(member: Unlocked) -> str:
    return f"{member.path} ({printable(member.drive.identity)})"

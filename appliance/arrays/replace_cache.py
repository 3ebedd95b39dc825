# SPDX-License-Identifier: Apache-2.0
"""Giving a running array an empty cache."""

from appliance.arrays.control import control, register, wait_until, write
from appliance.arrays.make import clear_member, make_cache
from appliance.arrays.model import Array, ArrayStuckError, label_of
from appliance.arrays.running import (
    RELEASE_S,
    attach,
    mark_lost_cache,
    set_label,
    stop,
    wait_for_release,
)
from appliance.arrays.settings import apply_settings, set_cache_mode
from appliance.arrays.state import check_cache, format_amount, has_cache, read_state
from appliance.arrays.superblock import read_superblock
from appliance.arrays.write_back import write_back_all
from appliance.drives.unlock import Unlocked
from appliance.errors import StepFailedError
from appliance.phrases import N_, Phrase
from appliance.plan.model import ArrayPlan
from appliance.progress import Progress


def empty_cache(array: Array, cache: Unlocked, *, plan: ArrayPlan, tell: Progress) -> None:
    """Write back, detach the cache, make a new one and attach it, mounted or not.

    The plan's settings hold again afterwards. Wherever this ends, `assembled` can go on later; the
    array at hand runs without a cache then. Raises StepFailedError, ArrayStuckError, what `tell`
    raises.
    """
    known = read_superblock(f"/dev/{array.backing}")
    if known is None:
        raise StepFailedError(
            Phrase(N_("/dev/{backing} has lost its superblock"), backing=array.backing)
        )
    set_cache_mode(array, "writethrough")
    write_back_all(array, tell=tell)
    detach(array, tell=tell)
    stop((), set_uuid=array.set_uuid)
    wait_for_release((array.cache,), set_uuid=array.set_uuid, tell=tell)
    tell(N_("making the cache again"), 0, 0)
    clear_member(cache)
    make_cache(cache, block_bytes=known.block_bytes, plan=plan, set_uuid=array.set_uuid, tell=tell)
    register(cache.path)
    attach(control(array.backing), set_uuid=array.set_uuid, tell=tell)
    set_label(control(array.backing), label_of(array.set_uuid))
    apply_settings(array, plan)


def detach(array: Array, *, tell: Progress) -> None:
    """Take the cache away from the array, which runs on without; write back what is dirty first.

    Once begun it cannot be called off. Raises StepFailedError, ArrayStuckError.
    """
    folder = control(array.backing)
    check_cache(array)
    set_label(folder, label_of(array.set_uuid, "parted"))
    write(folder / "detach", "1")

    def text() -> str:
        dirty = format_amount(read_state(array).dirty_bytes)
        return Phrase(N_("detaching the cache: {size} to be written back"), size=dirty)

    if not wait_until(lambda: not has_cache(array), text=text, timeout_s=RELEASE_S, tell=tell):
        raise ArrayStuckError(
            Phrase(
                N_("the cache of {path} is not detached after {seconds} s"),
                path=array.path,
                seconds=f"{RELEASE_S:.0f}",
            ),
            hint=N_("wait, or switch the machine off and on; then resume"),
        )
    if not folder.exists():
        raise StepFailedError(
            Phrase(N_("{path} has gone while its cache was detached"), path=array.path)
        )
    if mark_lost_cache(array):
        raise StepFailedError(
            Phrase(N_("the cache of {path} failed while it was detached"), path=array.path)
        )

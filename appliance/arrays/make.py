"""Making an array of two released drives: superblocks only, nothing is registered.

Whatever is on the drives is gone afterwards. Whether that is allowed is `drives.writable`'s.
"""

from appliance.arrays.model import MIN_BUCKETS
from appliance.arrays.superblock import Kind, clear_superblock, read_superblock
from appliance.drives.file_system import clear_signatures
from appliance.drives.writable import Unlocked
from appliance.errors import StepFailed
from appliance.plan_model import ArrayPlan
from appliance.progress import Progress
from appliance.run import run

_MAKE_TIMEOUT_S = 300


def make_array(
    backing: Unlocked, cache: Unlocked, *, plan: ArrayPlan, set_uuid: str, tell: Progress
) -> None:
    """Clear both drives and write the superblocks of the array `set_uuid`.

    Raises StepFailed, and what `tell` raises between two stages.
    """
    for role, member in (("backing", backing), ("cache", cache)):
        tell(f"clearing the {role} drive", 0, 0)
        clear_member(member)
    block_bytes = plan.block_bytes or max(
        backing.drive.logical_block_bytes, cache.drive.logical_block_bytes
    )
    tell("making the cache", 0, 0)
    make_cache(cache, block_bytes=block_bytes, plan=plan, set_uuid=set_uuid)
    tell("making the backing device", 0, 0)
    _make("-B", backing, block_bytes=block_bytes, plan=plan, set_uuid=set_uuid)
    _check(backing, "backing", set_uuid)


def make_cache(cache: Unlocked, *, block_bytes: int, plan: ArrayPlan, set_uuid: str) -> None:
    """Write an empty cache's superblock on a drive that was cleared.

    `block_bytes` is that of the backing device: one with a smaller block than its set's cannot be
    attached (bch_cached_dev_attach() in drivers/md/bcache/super.c). Raises StepFailed.
    """
    buckets = cache.drive.size_bytes // plan.bucket_bytes
    if buckets < MIN_BUCKETS:
        raise StepFailed(
            f"{cache.path} holds {buckets} buckets of {plan.bucket_bytes} bytes; "
            f"bcache needs {MIN_BUCKETS}: take a smaller bucket or a larger drive"
        )
    _make("-C", cache, block_bytes=block_bytes, plan=plan, set_uuid=set_uuid)
    _check(cache, "cache", set_uuid)


def clear_member(member: Unlocked) -> None:
    """Take away whatever marks a file system, partition table or member. Raises StepFailed."""
    clear_signatures(member)
    clear_superblock(member)


def _make(role: str, member: Unlocked, *, block_bytes: int, plan: ArrayPlan, set_uuid: str) -> None:
    # No --discard: it would hide what the drive's flash was left with.
    sizes = ["--bucket", str(plan.bucket_bytes), "--block", str(block_bytes)]
    command = ["make-bcache", role, "--cset-uuid", set_uuid, *sizes, member.path]
    run(command, timeout_s=_MAKE_TIMEOUT_S)


def _check(member: Unlocked, kind: Kind, set_uuid: str) -> None:
    found = read_superblock(member.path)
    if found is None or found.kind != kind or not found.whole or not found.belongs_to(set_uuid):
        raise StepFailed(f"{member.path} does not carry the superblock that was just written")

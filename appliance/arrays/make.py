# SPDX-License-Identifier: Apache-2.0
"""Making an array of two released drives: superblocks only, nothing is registered.

Whatever is on the drives is gone afterwards. Whether that is allowed is `drives.writable`'s.
"""

import os

from appliance.arrays.superblock import Kind, clear_superblock, read_superblock
from appliance.drives.clear import clear_holders
from appliance.drives.unlock import Unlocked
from appliance.errors import StepFailedError
from appliance.phrases import N_, Phrase
from appliance.plan.model import MIN_BUCKETS, ArrayPlan
from appliance.progress import Progress
from appliance.run import run
from appliance.units import format_size

_SUPERBLOCK_SECTORS = 23  # what make-bcache leaves free for it
_MAX_JOURNAL_BUCKETS = 256  # SB_JOURNAL_BUCKETS
_CLEAR_BYTES = 1 << 20
_SYNC_EVERY_BYTES = 64 << 20


def make_array(
    backing: Unlocked, cache: Unlocked, *, plan: ArrayPlan, set_uuid: str, tell: Progress
) -> None:
    """Clear both drives and write the superblocks of the array `set_uuid`.

    Raises StepFailedError, and what `tell` raises between two stages.
    """
    for role, member in (("backing", backing), ("cache", cache)):
        tell(Phrase(N_("clearing the {what} drive"), what=role), 0, 0)
        clear_member(member)
    block_bytes = plan.block_bytes or max(
        backing.drive.logical_block_bytes, cache.drive.logical_block_bytes
    )
    tell(N_("making the cache"), 0, 0)
    make_cache(cache, block_bytes=block_bytes, plan=plan, set_uuid=set_uuid, tell=tell)
    tell(N_("making the backing device"), 0, 0)
    _make("-B", backing, block_bytes=block_bytes, plan=plan, set_uuid=set_uuid)
    _check(backing, "backing", set_uuid)


def make_cache(
    cache: Unlocked, *, block_bytes: int, plan: ArrayPlan, set_uuid: str, tell: Progress
) -> None:
    """Write an empty cache's superblock on a drive that was cleared.

    `block_bytes` is that of the backing device: one with a smaller block than its set's cannot be
    attached (bch_cached_dev_attach() in drivers/md/bcache/super.c). Raises StepFailedError, and
    what `tell` raises before the superblock is there.
    """
    buckets = cache.drive.size_bytes // plan.bucket_bytes
    if buckets < MIN_BUCKETS:
        raise StepFailedError(
            Phrase(
                N_(
                    "{path} holds {count} buckets of {size}; bcache needs {least}: use a smaller "
                    "bucket or a larger drive"
                ),
                path=cache.path,
                count=buckets,
                size=format_size(plan.bucket_bytes),
                least=MIN_BUCKETS,
            )
        )
    _clear_journal(cache, buckets=buckets, bucket_bytes=plan.bucket_bytes, tell=tell)
    _make("-C", cache, block_bytes=block_bytes, plan=plan, set_uuid=set_uuid)
    _check(cache, "cache", set_uuid)


def clear_member(member: Unlocked) -> None:
    """Take away whatever marks a file system, partition table or member. Raises StepFailedError."""
    clear_holders(member)
    clear_superblock(member)


def journal_end_bytes(*, buckets: int, bucket_bytes: int) -> int:
    """Where the journal of a cache drive ends; it begins after the superblock. Pure.

    Its length is run_cache_set()'s in drivers/md/bcache/super.c, its begin make-bcache's.
    """
    first_bucket = _SUPERBLOCK_SECTORS * 512 // bucket_bytes + 1
    journal_buckets = min(max(buckets >> 7, 2), _MAX_JOURNAL_BUCKETS)
    return (first_bucket + journal_buckets) * bucket_bytes


def _clear_journal(cache: Unlocked, *, buckets: int, bucket_bytes: int, tell: Progress) -> None:
    # A journal is known by the first half of the set's UUID only (jset_magic() in bcache.h), which
    # an earlier cache on this drive may have had too, and make-bcache leaves the journal alone:
    # after a power cut the kernel would replay the old one, whose numbers are higher, and find
    # neither the backing device nor what is dirty.
    end_bytes = journal_end_bytes(buckets=buckets, bucket_bytes=bucket_bytes)
    zeroes = bytes(_CLEAR_BYTES)
    try:
        for offset in range(0, end_bytes, _CLEAR_BYTES):
            # Else all of it would be waited for at the end, up to gigabytes, with no way out.
            if offset % _SYNC_EVERY_BYTES == 0:
                os.fsync(cache.fd)
            tell(N_("clearing the cache's journal"), offset, end_bytes)
            os.pwrite(cache.fd, zeroes[: end_bytes - offset], offset)
        os.fsync(cache.fd)
    except OSError as error:
        raise StepFailedError(
            Phrase(
                N_("{path} cannot be written to: {error}"), path=cache.path, error=error.strerror
            )
        ) from error


def _make(role: str, member: Unlocked, *, block_bytes: int, plan: ArrayPlan, set_uuid: str) -> None:
    # No --discard: it would hide what the drive's flash was left with.
    sizes = ["--bucket", str(plan.bucket_bytes), "--block", str(block_bytes)]
    command = ["make-bcache", role, "--cset-uuid", set_uuid, *sizes, member.path]
    run(command)


def _check(member: Unlocked, kind: Kind, set_uuid: str) -> None:
    superblock = read_superblock(member.path)
    if (
        superblock is None
        or superblock.kind != kind
        or not superblock.whole
        or not superblock.belongs_to(set_uuid)
    ):
        raise StepFailedError(
            Phrase(
                N_("{path} does not carry the superblock that was just written"), path=member.path
            )
        )

"""What is known of an array. Pure data."""

from dataclasses import dataclass

from appliance.errors import KaltstartError

MIN_BUCKETS = 513
"""The kernel takes no cache drive with fewer: cache_alloc() in drivers/md/bcache/super.c wants
roundup_pow_of_two(nbuckets) >> 10 to be more than 0."""

_LABEL_PREFIX = "kaltstart-"
_PARTED_PREFIX = "kaltparted"
_LABEL_CHARACTERS = 31  # SB_LABEL_SIZE is 32, with the byte that ends it
_UUID_DIGITS = _LABEL_CHARACTERS - len(_LABEL_PREFIX)


class ArrayStuckError(KaltstartError):
    """The kernel does not let go of an array: nothing more may be done with its drives for now."""

    exit_code = 4


@dataclass(frozen=True, slots=True)
class Array:
    """An array that runs now."""

    set_uuid: str
    name: str
    """The kernel's: bcache0."""
    backing: str
    """The kernel's name of the backing drive: sdb."""
    cache: str
    """The kernel's name of the cache drive: sdc."""

    @property
    def path(self) -> str:
        """Where programs reach it."""
        return f"/dev/{self.name}"


@dataclass(frozen=True, slots=True)
class ArrayState:
    """How an array stands at this moment."""

    state: str
    """bcache's own words: no cache | clean | dirty | inconsistent."""
    dirty_bytes: int
    """What is in the cache only; bcache gives three digits and one decimal of the next power of
    1024: up to 1 GB to 0.1 MB."""
    cache_mode: str


@dataclass(frozen=True, slots=True)
class CacheCounters:
    """What bcache counted since the counters were cleared.

    Requests as they came to the array; one that was in the cache in part is a miss. bcache keeps
    what it counted between two ticks of its timer in 16 bits (see `counters`): each figure is too
    low by any multiple of 65,536 requests, or 32 MiB of `bypassed_bytes`, on a fast array.
    """

    cache_hits: int
    cache_misses: int
    cache_bypass_hits: int
    cache_bypass_misses: int
    bypassed_bytes: int


def label_of(set_uuid: str, *, parted: bool = False) -> str:
    """What a backing drive of ours is called in its superblock; `parted`: detached on purpose.

    A detached backing drive has lost its set's UUID (cached_dev_detach_finish() in
    drivers/md/bcache/super.c), but not this. The kernel also detaches it when the cache drive
    fails, with all that only the cache drive had (__cache_set_unregister()): only a drive that was
    called so before may go on with another cache.
    """
    # The last digits: the first are the same for all arrays of ours (see `set_uuid`).
    prefix = _PARTED_PREFIX if parted else _LABEL_PREFIX
    return prefix + set_uuid.lower().replace("-", "")[-_UUID_DIGITS:]

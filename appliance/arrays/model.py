# SPDX-License-Identifier: Apache-2.0
"""What is known about an array. Pure data."""

import re
import secrets
from dataclasses import dataclass
from typing import Literal

from appliance.errors import KaltstartError

CacheFate = Literal["attached", "parted", "lost"]
"""What a backing drive says of its cache. parted: detached on purpose, what the cache drive holds
does not count. lost: it failed, and the backing drive went on alone."""

_LABEL_PREFIXES: dict[CacheFate, str] = {
    "attached": "kaltstart-",
    "parted": "kaltparted",
    "lost": "kaltlost--",
}
_OWN_SET = re.compile(r"6b616c74-0003-4([0-9]{3})-[0-9a-f]{4}-[0-9a-f]{12}", re.IGNORECASE)
"""The UUID of a cache set made here. A measured boot registers the one array whose UUID it was
handed, and no other (mkosi.images/initrd/mkosi.extra/usr/lib/kaltstart/register-array)."""
_UUID_DIGITS = 21  # SB_LABEL_SIZE is 32, with the byte that ends it


class ArrayStuckError(KaltstartError):
    """The kernel does not release an array: nothing more may be done with its drives for now."""

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
    """The state of an array at this moment."""

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


def label_of(set_uuid: str, fate: CacheFate = "attached") -> str:
    """What a backing drive of ours is called in its superblock, for what becomes of its cache.

    A detached backing drive has lost its set's UUID (bch_writeback_thread() in
    drivers/md/bcache/writeback.c), but not this. The kernel also takes the cache away when its
    drive fails (__cache_set_unregister() in super.c), and does not record that in the superblock:
    with nothing dirty the backing drive goes on alone, and the kernel would take up the cache
    again, with what has been overwritten since. So only a drive that was called `parted` before
    may go on with another cache, and one that is called `lost` with none.
    """
    # The last digits: the first are the same for all arrays of ours (see `array_set_uuid`).
    return _LABEL_PREFIXES[fate] + set_uuid.lower().replace("-", "")[-_UUID_DIGITS:]


def array_set_uuid(slot: int) -> str:
    """A new UUID for the set of the array that boots from `slot`; never the same twice."""
    return f"6b616c74-0003-4{slot:03d}-8{secrets.token_hex(2)[1:]}-{secrets.token_hex(6)}"


def slot_of_set(set_uuid: str) -> int | None:
    """The slot whose boot entries start this array; None for an array that was not made here."""
    match = _OWN_SET.fullmatch(set_uuid)
    return int(match[1]) if match else None

# SPDX-License-Identifier: Apache-2.0
"""A second system beside the one that runs: what starts a machine from the stick after any cut."""

import random
import struct
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from io import BytesIO
from typing import override

import pytest

from appliance.errors import StepFailedError
from appliance.progress import ignore_progress
from appliance.stick.partition_table import (
    KEPT,
    SECTOR_BYTES,
    Table,
    UnfitError,
    make_table,
    parse_image,
    read_table,
)
from appliance.stick.upgrade import (
    HEAD_BYTES,
    Placement,
    plan_placement,
    read_current_table,
    switch,
    write_beside,
)
from tests.lab.volatile_cache import VolatileCache, Write
from tests.unit.stick.small_stick import BLOCK_LIST, MIB, MIB_SECTORS, make_small


class _Cut(Exception):  # noqa: N818  # no error: the power is gone
    pass


class _Memory:
    """A stick whose power goes after so many sectors."""

    def __init__(self, content: bytes, *, cut_after: int | None = None) -> None:
        self.content = bytearray(content)
        self.size_bytes = len(content)
        self.cut_after = cut_after
        self.written: list[tuple[int, int]] = []
        """Offset and length of each write."""

    def read(self, offset: int, size: int) -> bytes:
        return bytes(self.content[offset : offset + size])

    def write(self, offset: int, data: bytes) -> None:
        self.written.append((offset, len(data)))
        if self.cut_after is not None:
            kept = min(len(data), self.cut_after * SECTOR_BYTES)
            self.cut_after -= len(data) // SECTOR_BYTES
            if kept < len(data):
                self.content[offset : offset + kept] = data[:kept]
                raise _Cut
        self.content[offset : offset + len(data)] = data

    def flush(self) -> None:
        """Nothing waits."""

    def forget(self) -> None:
        """Nothing is kept."""


class _Forgetful(_Memory):
    """It answers all writes, and has room for less: what is beyond is written nowhere."""

    @override
    def write(self, offset: int, data: bytes) -> None:
        super().write(offset, bytes(len(data)) if offset >= 9 * MIB else data)


class _Caching(_Memory):
    """It answers writes before they are safe: some pages of those that were not flushed are lost.

    The power goes before its command `cut_before`, a write or a flush.
    """

    def __init__(self, content: bytes, *, cut_before: int, seed: int) -> None:
        super().__init__(content)
        self._left = cut_before
        self._cache = VolatileCache("some", seed=seed)

    def _begin(self) -> None:
        if self._left == 0:
            for offset, data in self._cache.cut(1):
                self.content[offset : offset + len(data)] = data
            raise _Cut
        self._left -= 1

    @override
    def write(self, offset: int, data: bytes) -> None:
        self._begin()
        end = offset + len(data)
        # Linux writes whole pages, in any order.
        for at in range(offset // _PAGE_BYTES * _PAGE_BYTES, end, _PAGE_BYTES):
            page = slice(max(at, offset), min(at + _PAGE_BYTES, end))
            before = bytes(self.content[page])
            self._cache.remember(
                Write(page.start, before, data[page.start - offset : page.stop - offset])
            )
        super().write(offset, data)

    @override
    def flush(self) -> None:
        self._begin()
        self._cache.flush()


_PAGE_BYTES = 4096
_OLD = make_small("old", mib=32, root_mib=3, data_at_mib=22)
_NEW = make_small("newer", mib=12, root_mib=4)


@dataclass
class _Started:
    """Whose system each kind of machine starts from it; None: it starts none."""

    uefi: str | None
    bios: str | None
    linux: str | None


def _start(stick: _Memory) -> _Started:
    """As firmware, GRUB and kernel find their ways, each by its own rules."""
    table = read_table(stick)  # of the copy where the one at the start is damaged, as UEFI
    uefi = _read_word(stick, table, "esp")
    linux = None if table.is_copy else _read_word(stick, table, "root")
    # boot.img reads one sector, which says where the rest is; GRUB minds no checksum of the table.
    (core,) = struct.unpack_from("<Q", stick.content, 0x5C)
    (rest, _, _) = BLOCK_LIST.unpack_from(stick.content, core * 512 + 0x1F4)
    assert rest == core + 1
    core_word = bytes(stick.content[core * 512 : core * 512 + 30]).split()[1].decode()
    (esp,) = struct.unpack_from("<Q", stick.content, 1024 + 128 + 32)
    esp_word = bytes(stick.content[esp * 512 : esp * 512 + 30]).split()[1].decode()
    bios = core_word if core_word == esp_word else f"{core_word} with {esp_word}"
    return _Started(uefi, bios, linux)


def _read_word(stick: _Memory, table: Table, name: str) -> str:
    """Which version a partition is of; all of it is of that one."""
    (part,) = (part for part in table.partitions.values() if part.name == name)
    words = set(stick.read(part.offset_bytes, part.size_bytes).split()[:-1]) - {name.encode()}
    (word,) = words
    return word.decode()


def _plan(stick: _Memory, image: bytes) -> Placement:
    head = image[:HEAD_BYTES]
    table = read_table(stick)
    sectors = stick.size_bytes // SECTOR_BYTES
    return plan_placement(table, head, parse_image(head), sectors=sectors)


def _upgrade(stick: _Memory, image: bytes) -> Placement:
    source = BytesIO(image)
    source.seek(HEAD_BYTES)
    placement = _plan(stick, image)
    write_beside(stick, source, placement, tell=ignore_progress)
    switch(stick, placement)
    return placement


def _kept(stick: _Memory) -> list[bytes]:
    table = read_table(stick)
    return [
        part.raw + stick.read(part.offset_bytes, part.size_bytes)
        for part in table.partitions.values()
        if part.name in KEPT
    ]


def test_every_machine_starts_the_new_system_and_what_is_kept_is_untouched() -> None:
    stick = _Memory(_OLD)
    kept = _kept(stick)
    assert _start(stick) == _Started("old", "old", "old")
    _upgrade(stick, _NEW)
    assert _start(stick) == _Started("newer", "newer", "newer")
    assert _kept(stick) == kept
    # The copy at the end says the same.
    stick.content[512:1024] = bytes(512)
    assert _read_word(stick, read_table(stick), "root") == "newer"
    assert _kept(stick) == kept


def test_the_running_system_is_still_there_afterwards() -> None:
    """Until the restart it runs from there."""
    stick = _Memory(_OLD)
    _upgrade(stick, _NEW)
    assert stick.content[3 * MIB : 9 * MIB] == _OLD[3 * MIB : 9 * MIB]


def test_one_upgrade_after_the_other_finds_room_and_data_never_moves() -> None:
    stick = _Memory(_OLD)
    kept = _kept(stick)
    places = []
    for number in range(6):
        image = make_small(f"v{'x' * number}", mib=16, root_mib=3 + number % 3)
        places.append(_upgrade(stick, image).by_sectors > 0)
        assert _start(stick).bios == f"v{'x' * number}"
        assert _kept(stick) == kept
    assert places == [True, False] * 3


# The system of 7 MiB, and 33 sectors of table at the end.
_SYSTEM_SECTORS = 7 * MIB_SECTORS
_LAST = _SYSTEM_SECTORS + 33


@pytest.mark.parametrize(
    "cut_after",
    [
        *(0, 1, MIB_SECTORS, 3 * MIB_SECTORS + 7, _SYSTEM_SECTORS - 1, _SYSTEM_SECTORS),
        *(_SYSTEM_SECTORS + n for n in (1, 2, 16, 31, 32, 33)),
    ],
)
def test_until_the_last_write_every_machine_starts_the_old_one(cut_after: int) -> None:
    stick = _Memory(_OLD, cut_after=cut_after)
    kept = _kept(stick)
    with pytest.raises(_Cut):
        _upgrade(stick, _NEW)
    assert _start(stick) == _Started("old", "old", "old")
    assert _kept(stick) == kept
    stick.cut_after = None
    _upgrade(stick, _NEW)
    assert _start(stick) == _Started("newer", "newer", "newer")


def test_a_stick_that_loses_what_was_not_flushed_starts_the_old_one_or_the_new_one() -> None:
    seen = set()
    # Behind seven MiB: a flush, twice a table with a flush, and then all of it is done.
    for cut_before in range(7, 13):
        for seed in range(4):
            stick = _Caching(_OLD, cut_before=cut_before, seed=seed)
            kept = _kept(stick)
            with suppress(_Cut):
                _upgrade(stick, _NEW)
            started = _start(stick)
            assert started in (_Started("old", "old", "old"), _Started("newer", "newer", "newer"))
            assert _kept(stick) == kept
            seen.add((cut_before, started.linux))
    assert [cut for cut, word in sorted(seen) if word == "newer"] == [11, 12]
    assert (11, "old") in seen
    assert (12, "old") not in seen


@pytest.mark.parametrize("sectors", [1, 2, 3, 4, 5, 33])
def test_a_cut_within_the_last_write_leaves_all_data_and_a_system(sectors: int) -> None:
    """4 KiB hold all that changes in it: a stick that writes pages writes all of it or nothing."""
    stick = _Memory(_OLD, cut_after=_LAST + sectors)
    kept = _kept(stick)
    with pytest.raises(_Cut):
        _upgrade(stick, _NEW)
    started = _start(stick)
    assert _kept(stick) == kept
    if sectors >= 4:
        assert started == _Started("newer", "newer", "newer")
    elif sectors == 1:  # boot code alone: GRUB of the one with the files of the other
        assert started == _Started("old", "newer with old", "old")
    else:  # UEFI takes the copy, the kernel no table
        assert (started.uefi, started.linux) == ("newer", None)


def test_what_is_written_first_is_free_room_alone() -> None:
    stick = _Memory(_OLD)
    placement = _plan(stick, _NEW)
    source = BytesIO(_NEW[HEAD_BYTES:])
    write_beside(stick, source, placement, tell=ignore_progress)
    # Behind its system (9 MiB), before the data (22 MiB).
    assert all(at >= 9 * MIB and at + size <= 22 * MIB for at, size in stick.written)
    wrong = Placement(
        placement.upgrade, placement.by_sectors, placement.boot_code, placement.upgrade.replaced
    )
    with pytest.raises(AssertionError, match="not free"):
        write_beside(stick, BytesIO(_NEW[HEAD_BYTES:]), wrong, tell=ignore_progress)


def test_a_stick_that_gives_back_something_else_is_noticed_before_the_switch() -> None:
    stick = _Forgetful(_OLD)
    with pytest.raises(StepFailedError, match="gives back something else"):
        _upgrade(stick, _NEW)
    assert _start(stick) == _Started("old", "old", "old")


def test_a_stop_changes_nothing() -> None:
    stick = _Memory(_OLD)

    def stop(_label: str, done: int, total: int) -> None:
        if done > total // 2:
            raise _Cut

    with pytest.raises(_Cut):
        write_beside(stick, BytesIO(_NEW[HEAD_BYTES:]), _plan(stick, _NEW), tell=stop)
    assert _start(stick) == _Started("old", "old", "old")


def test_an_image_that_is_cut_off_changes_nothing() -> None:
    stick = _Memory(_OLD)
    with pytest.raises(EOFError, match="ends too early"):
        _upgrade(stick, _NEW[: 8 * MIB])
    assert _start(stick) == _Started("old", "old", "old")


def _spoil_boot_code(image: bytearray) -> None:
    image[0x5C:0x64] = bytes(8)


def _spoil_core(image: bytearray) -> None:
    BLOCK_LIST.pack_into(image, 4 * MIB + 0x1F4, 77, 100, 0x820)


def _split_core(image: bytearray) -> None:
    BLOCK_LIST.pack_into(image, 4 * MIB + 0x1F4 - 12, 77, 3, 0x820)


def _leave_grub_out(image: bytearray) -> None:
    """As a later version may do that starts no BIOS machine."""
    table = parse_image(bytes(image[:HEAD_BYTES]))
    rest = {at: part for at, part in table.partitions.items() if part.name != "linux"}
    sectors = len(image) // SECTOR_BYTES
    header, entries = make_table(replace(table, partitions=rest), sectors, is_copy=False)
    image[SECTOR_BYTES:HEAD_BYTES] = header + entries


@pytest.mark.parametrize("spoil", [_spoil_boot_code, _spoil_core, _split_core, _leave_grub_out])
def test_a_loader_that_cannot_be_moved_is_refused(spoil: Callable[[bytearray], None]) -> None:
    image = bytearray(_NEW)
    spoil(image)
    stick = _Memory(_OLD)
    with pytest.raises(UnfitError, match="in a way that this version does not know"):
        _upgrade(stick, bytes(image))
    assert _start(stick) == _Started("old", "old", "old")


@pytest.mark.parametrize(
    ("stick", "image", "message"),
    [
        (
            make_small("old", mib=32, root_mib=3, data_at_mib=12),
            _NEW,
            "no room for a second system",
        ),
        (make_small("old", mib=32, root_mib=3), _NEW, "no room for a second system"),
        (_OLD, make_small("newer", mib=24, root_mib=14), "no room for a second system"),
    ],
)
def test_a_stick_without_room_is_refused(stick: bytes, image: bytes, message: str) -> None:
    with pytest.raises(UnfitError, match=message):
        _plan(_Memory(stick), image)


def test_the_table_must_be_the_one_that_the_kernel_has() -> None:
    stick = _Memory(_OLD)
    known = {
        at + 1: (part.first, part.last + 1 - part.first)
        for at, part in read_table(stick).partitions.items()
    }
    assert read_current_table(stick, known) == read_table(stick)
    _upgrade(stick, _NEW)
    with pytest.raises(UnfitError, match="has changed since"):
        read_current_table(stick, known)
    other = _Memory(_OLD)
    other.content[512:1024] = bytes(512)
    with pytest.raises(UnfitError, match="has changed since"):
        read_current_table(other, known)


def test_what_is_written_follows_from_the_image_alone() -> None:
    """Not from what was in the free room before."""
    used = bytearray(_OLD)
    used[9 * MIB : 22 * MIB] = random.Random(1).randbytes(13 * MIB)
    stick = _Memory(bytes(used))
    _upgrade(stick, _NEW)
    assert _start(stick) == _Started("newer", "newer", "newer")

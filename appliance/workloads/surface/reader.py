# SPDX-License-Identifier: Apache-2.0
"""Reading a slice of a surface scan in order, and narrowing down where a read fails.

Owns what a bad place may cost: how often and how long it is asked again. Knows a drive only as
something that answers reads; `surface/drive` has the real one.
"""

import errno
import os
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Protocol

from appliance.caches.direct_queue import Answer
from appliance.errors import StepFailedError
from appliance.phrases import N_, Phrase
from appliance.samples.model import LbaRange
from appliance.workloads.surface.keys import ALIGNMENT_BYTES
from appliance.workloads.surface.slices import Piece, Tally, cut_requests

MAX_NARROWING_READS = 600
"""Of one failed request; one of nothing but bad blocks needs 511."""
MAX_NARROWING_S = 120.0
"""On one failed request: a bad sector may take a drive, with the kernel's own tries, half a minute.
What was not separated by then counts as unreadable as a whole, and is marked so."""
MAX_NARROWING_TOTAL_S = 1800.0
"""On one drive; after that each failed request counts as a whole, and a bad drive is soon over."""
MAX_REREADS = 16
MAX_REREAD_S = 60.0
"""On the outliers of one slice, the slowest first."""
MAX_SLOW_RANGES = 100
"""How many a slice stores, the slowest ones: more say nothing more."""

KEPT_SLOW_S = 0.5
"""A read above it is kept even if it is fast when read again: by then a drive's own RAM answers, or
it has moved the data away from the weak place. A machine must be very busy to cause as much."""

SLOW_AGAIN = "slow again when read again"
SLOW_ONCE = "slow once, fast when read again"
SLOW_LATER = "slow when read again, not at first"
NOT_REREAD = "not read again"
SECOND_TRY = "failed, and was read at the second try"
NOT_NARROWED = "not narrowed down: some of it may be readable"
_NOT_ASKED = frozenset({errno.ENOMEM, errno.EAGAIN})
"""The machine could not ask: that is not the drive's failure."""


class ReadableDrive(Protocol):
    """What answers."""

    @property
    def size_bytes(self) -> int:
        """The drive's."""
        ...

    @property
    def block_bytes(self) -> int:
        """Its logical block: of what a read is a multiple."""
        ...

    def read_run(self, pieces: Iterator[Piece]) -> Iterator[Answer]:
        """Read all `pieces` in their order with the queue kept full; an answer for each.

        The next piece is taken when there is room for it, so the caller may end them at any time.
        Lets through what a stop raises; called again after that, without pieces, it waits for what
        was still under way.
        """
        ...

    def read_once(self, piece: Piece) -> Answer:
        """Read one piece with nothing else under way."""
        ...


@dataclass(slots=True)
class Reading:
    """What became of one slice."""

    tally: Tally = field(default_factory=Tally)
    narrowed_bytes: int = 0
    """Read, but only when a failed request was narrowed down."""
    narrowing_s: float = 0.0
    unreadable: list[LbaRange] = field(default_factory=list)
    second_tries: list[LbaRange] = field(default_factory=list)
    slow: list[LbaRange] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    hopeless: bool = False
    """More was unreadable than was allowed: the rest was not read."""
    silent: str = ""
    """Why the drive is taken to answer nothing any more."""
    failed: list[Answer] = field(default_factory=list)
    """Not separated yet; the first of them may be under way."""
    pieces: deque[Piece] | None = None
    """Of the first failed one: not asked for again yet; None where it is not looked at yet."""

    @property
    def read_bytes(self) -> int:
        """Distinct bytes of the slice that the drive gave."""
        return self.tally.bytes + self.narrowed_bytes

    @property
    def unreadable_bytes(self) -> int:
        """What the drive did not give."""
        return sum(lba_range.size_bytes for lba_range in self.unreadable)


class SliceReader:
    """Reads slice after slice of one drive."""

    def __init__(
        self,
        drive: ReadableDrive,
        *,
        allowed_bytes: int,
        narrowing_left_s: float = MAX_NARROWING_TOTAL_S,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._drive = drive
        self._allowed_bytes = allowed_bytes
        self._narrowing_left_s = narrowing_left_s
        self._clock = clock
        self._grain_bytes = max(ALIGNMENT_BYTES, drive.block_bytes)
        self._good: deque[int] = deque(maxlen=3)
        """Where reads have succeeded lately."""
        self._under_way: Reading | None = None

    def read(
        self,
        chunks: Iterable[Piece],
        *,
        tell: Callable[[int], None] = lambda _done: None,
        tell_narrowing: Callable[[], None] = lambda: None,
        tell_reread: Callable[[int, int], None] = lambda _number, _count: None,
    ) -> Reading:
        """Read the chunks of a slice; `tell` is given how far it is.

        `tell_narrowing` is called before each read that narrows down where one failed,
        `tell_reread` before each slow place that is read again: which of how many it is, from 1.
        All may raise what a stop raises.

        Raises StepFailedError where the drive answers nothing any more. What was found until then,
        or until a stop, is for `break_off`.
        """
        reading = self._under_way = Reading()
        todo = cut_requests(chunks)
        going_on, done = True, 0
        while going_on and not reading.hopeless:
            reading.failed = []
            going_on = False
            for answer in self._drive.read_run(_until(reading.failed, todo)):
                going_on = True
                done += answer.asked_bytes
                if answer.got_bytes == answer.asked_bytes:
                    piece = Piece(answer.first_byte, answer.got_bytes)
                    reading.tally.add(piece, answer.seconds, answer.latency_s)
                    self._good.append(answer.first_byte)
                else:
                    reading.failed.append(answer)
                tell(done)
            reading.failed.sort(key=lambda each: each.first_byte)
            while reading.failed and not reading.hopeless:
                self._look_closely(reading.failed[0], reading, tell_narrowing)
                del reading.failed[0]
                tell(done)
        self._allowed_bytes -= reading.unreadable_bytes
        reading.unreadable = join_ranges(reading.unreadable)
        self._reread_slow(reading, tell_reread)
        self._under_way = None
        return reading

    def break_off(self, *, is_silent: bool) -> Reading:
        """What `read` had found of its slice when it raised; after that this reads no more.

        For a drive that is silent it is what was separated by then. Otherwise it waits for the
        reads that are under way, as closing the drive would, and asks for nothing but a block that
        could be read before. What had failed and was not separated counts as unreadable as a
        whole, if the drive still answers.
        """
        reading = self._under_way or Reading()
        failed = []
        if not is_silent:
            self._take_late(reading)
            failed = [answer for answer in reading.failed if answer.errno not in _NOT_ASKED]
        if failed:
            try:
                self._check_alive(failed[0])
            except StepFailedError as error:
                reading.silent = error.message
                failed = []
        for answer in failed:
            rest = reading.pieces if answer is reading.failed[0] else None
            if rest is None:
                rest = deque([self._take_good_part(answer, reading)])
            reading.unreadable += [
                LbaRange("unreadable", *piece, answer.latency_s, NOT_NARROWED) for piece in rest
            ]
        reading.unreadable = join_ranges(reading.unreadable)
        slow = [
            LbaRange("slow", *piece, seconds, NOT_REREAD)
            for piece, seconds in reading.tally.find_slow()
            if seconds > KEPT_SLOW_S
        ]
        slowest = sorted(join_ranges(slow), key=lambda each: -each.seconds)[:MAX_SLOW_RANGES]
        reading.slow = sorted([*slowest, *reading.second_tries], key=lambda each: each.first_byte)
        return reading

    def _take_late(self, reading: Reading) -> None:
        """What was under way when the reading was broken off."""
        with suppress(StepFailedError):  # the queue itself: nothing is known of those
            for answer in self._drive.read_run(iter(())):
                piece = Piece(answer.first_byte, answer.asked_bytes)
                is_good = answer.got_bytes == answer.asked_bytes
                if reading.pieces and piece in reading.pieces:
                    if is_good:
                        reading.pieces.remove(piece)
                elif not is_good:
                    reading.failed.append(answer)
                elif answer.latency_s > KEPT_SLOW_S:
                    reading.second_tries.append(
                        LbaRange("slow", *piece, answer.latency_s, NOT_REREAD)
                    )

    def _look_closely(
        self, failed: Answer, reading: Reading, tell_narrowing: Callable[[], None]
    ) -> None:
        """Ask again for a request that failed, by halves, the large ones first."""
        _check_asked(failed)
        try:
            self._check_alive(failed)
        except StepFailedError:
            reading.failed.clear()
            raise
        pieces = reading.pieces = deque([self._take_good_part(failed, reading)])
        begun_s = self._clock()
        limit_s = min(MAX_NARROWING_S, self._narrowing_left_s)
        reads, unreadable = 0, len(reading.unreadable)
        seconds = failed.latency_s
        while pieces:
            if reads >= MAX_NARROWING_READS or self._clock() - begun_s >= limit_s:
                break
            if self._is_hopeless(reading):
                break
            tell_narrowing()
            answer = self._drive.read_once(pieces[0])
            _check_asked(answer)
            pieces.popleft()
            reads += 1
            seconds = max(seconds, answer.latency_s)
            rest = self._take_good_part(answer, reading)
            if not rest.size_bytes:
                continue
            if rest.size_bytes > self._grain_bytes:
                pieces.extend(self._halve(rest))
            elif answer.errno or not answer.got_bytes:
                detail = os.strerror(answer.errno) if answer.errno else N_("nothing was read")
                reading.unreadable.append(LbaRange("unreadable", *rest, answer.latency_s, detail))
            else:
                pieces.append(rest)  # what was read does not tell why it ended
        reading.unreadable += [
            LbaRange("unreadable", *piece, failed.latency_s, NOT_NARROWED) for piece in pieces
        ]
        reading.pieces = None
        if len(reading.unreadable) == unreadable:
            reading.second_tries.append(
                LbaRange("slow", failed.first_byte, failed.asked_bytes, seconds, SECOND_TRY)
            )
        spent_s = self._clock() - begun_s
        reading.narrowing_s += spent_s
        self._narrowing_left_s = max(self._narrowing_left_s - spent_s, 0.0)
        reading.hopeless = self._is_hopeless(reading)

    def _is_hopeless(self, reading: Reading) -> bool:
        return reading.unreadable_bytes > self._allowed_bytes

    def _take_good_part(self, answer: Answer, reading: Reading) -> Piece:
        """Count what came before the error; what is left of the request."""
        # The error may lie anywhere in a block of which a part was given.
        got = answer.got_bytes // self._drive.block_bytes * self._drive.block_bytes
        if answer.got_bytes == answer.asked_bytes:
            got = answer.asked_bytes
        reading.narrowed_bytes += got
        return Piece(answer.first_byte + got, answer.asked_bytes - got)

    def _halve(self, piece: Piece) -> tuple[Piece, Piece]:
        """At a multiple of the smallest range that is distinguished."""
        middle = piece.first_byte + piece.size_bytes // 2
        cut = -(-middle // self._grain_bytes) * self._grain_bytes
        if cut >= piece.end_byte:
            cut -= self._grain_bytes
        return Piece(piece.first_byte, cut - piece.first_byte), Piece(cut, piece.end_byte - cut)

    def _check_alive(self, failed: Answer) -> None:
        """Raises StepFailedError where the drive does not even give what it gave before."""
        known = self._good or self._spread_places()
        block = self._drive.block_bytes
        if any(self._drive.read_once(Piece(at, block)).got_bytes == block for at in known):
            return
        why = os.strerror(failed.errno) if failed.errno else N_("nothing was read")
        before = (
            N_("where it could be read before")
            if self._good
            else Phrase(
                N_("at none of {count} places from its first to its last block"), count=len(known)
            )
        )
        raise StepFailedError(
            Phrase(
                N_(
                    "the drive stopped answering at byte {byte} ({what}): it cannot be read "
                    "{before}"
                ),
                byte=failed.first_byte,
                what=why,
                before=before,
            ),
            hint=N_("check its cable and power; stored slices are kept"),
        )

    def _spread_places(self) -> list[int]:
        """The first block, the last one, and some between."""
        last = self._drive.size_bytes // self._drive.block_bytes - 1
        return [last * number // 8 * self._drive.block_bytes for number in range(9)]

    def _reread(self, piece: Piece, *, limit_s: float) -> tuple[float, bool]:
        """How long it took, and whether it was fast."""
        again = self._drive.read_once(piece)
        return again.latency_s, again.got_bytes == piece.size_bytes and again.latency_s <= limit_s

    def _reread_slow(self, reading: Reading, tell_reread: Callable[[int, int], None]) -> None:
        """Tell outliers that stay slow, or were very slow, from those a busy machine made."""
        slow = sorted(reading.tally.find_slow(), key=lambda each: -each[1])
        limit_s = reading.tally.slow_limit_s
        begun_s = self._clock()
        outliers: list[LbaRange] = []
        once: list[tuple[Piece, float, float]] = []
        behind: dict[Piece, None] = {}
        total = min(len(slow), MAX_REREADS)
        for number, (piece, seconds) in enumerate(slow):
            if number >= MAX_REREADS or self._clock() - begun_s >= MAX_REREAD_S:
                outliers.append(LbaRange("slow", *piece, seconds, NOT_REREAD))
                continue
            tell_reread(number + 1, total)
            again_s, is_fast = self._reread(piece, limit_s=limit_s)
            if not is_fast:
                outliers.append(LbaRange("slow", *piece, max(seconds, again_s), SLOW_AGAIN))
                continue
            if seconds > KEPT_SLOW_S:
                outliers.append(LbaRange("slow", *piece, seconds, SLOW_ONCE))
            else:
                once.append((piece, seconds, again_s))
            behind.update(dict.fromkeys(reading.tally.find_behind(piece)))
        # Its answer may have come when one behind it did, which the drive hesitated at.
        hidden = [piece for piece in behind if piece not in {slow_piece for slow_piece, _ in slow}]
        hidden = hidden[:MAX_REREADS]
        for number, piece in enumerate(hidden, total + 1):
            if self._clock() - begun_s >= MAX_REREAD_S:
                break
            tell_reread(number, total + len(hidden))
            # Twice: a busy machine may make one slow.
            again = [self._reread(piece, limit_s=limit_s) for _ in range(2)]
            if not any(is_fast for _, is_fast in again):
                worst_s = max(again_s for again_s, _ in again)
                outliers.append(LbaRange("slow", *piece, worst_s, SLOW_LATER))
        ranges = sorted(join_ranges(outliers), key=lambda each: -each.seconds)
        reading.slow = sorted(
            [*ranges[:MAX_SLOW_RANGES], *reading.second_tries], key=lambda each: each.first_byte
        )
        if len(ranges) > MAX_SLOW_RANGES:
            reading.notes.append(
                Phrase(
                    N_("{count} slow ranges; the slowest {most} stored"),
                    count=len(ranges),
                    most=MAX_SLOW_RANGES,
                )
            )
        if once:
            (first_byte, _), seconds, again_s = once[0]
            reading.notes.append(
                Phrase(
                    N_(
                        "{count} reads were slow once and not when read again, the slowest "
                        "at byte {byte}: {seconds} s, then {again} s; they are not called "
                        "slow"
                    ),
                    count=len(once),
                    byte=first_byte,
                    seconds=f"{seconds:.2f}",
                    again=f"{again_s:.2f}",
                )
            )


def join_ranges(ranges: Sequence[LbaRange]) -> list[LbaRange]:
    """Neighbours of one kind and detail as one range, with the longest time of them."""
    joined: list[LbaRange] = []
    for lba_range in sorted(ranges, key=lambda each: each.first_byte):
        last = joined[-1] if joined else None
        if (
            last
            and last.first_byte + last.size_bytes == lba_range.first_byte
            and (last.kind, last.detail) == (lba_range.kind, lba_range.detail)
        ):
            joined[-1] = LbaRange(
                lba_range.kind,
                last.first_byte,
                last.size_bytes + lba_range.size_bytes,
                max(last.seconds, lba_range.seconds),
                lba_range.detail,
            )
        else:
            joined.append(lba_range)
    return joined


def _check_asked(answer: Answer) -> None:
    """Raises StepFailedError if the machine could not ask: not the drive's failure."""
    if answer.errno in _NOT_ASKED:
        raise StepFailedError(
            Phrase(
                N_("the machine has too little RAM for the read at byte {byte}"),
                byte=answer.first_byte,
            ),
            hint=N_("stored slices are kept"),
            blame="other",
        )


def _until(failed: Sequence[Answer], pieces: Iterator[Piece]) -> Iterator[Piece]:
    """The pieces as long as none has failed: nothing is taken that is not handed on."""
    while not failed and (piece := next(pieces, None)):
        yield piece

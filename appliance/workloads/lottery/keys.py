# SPDX-License-Identifier: Apache-2.0
"""The keys of a lottery in a plan, and the names of its results. Pure."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar, Literal, get_args, override

from appliance.phrases import N_, Phrase
from appliance.plan.workloads import (
    ON_THE_BARE_DRIVE,
    STEP,
    Clash,
    Expected,
    FileSystem,
    WorkloadPlan,
    filesystem_key,
    kind_key,
)
from appliance.samples.variants import Variant
from appliance.toml.fields import InRow, each_once, key, one_of, pairs, size, text, whole

LotteryPass = Literal["cold", "warm", "direct", "mmap", "buffered-app"]

ALIGNMENT_BYTES = 1 << 20
"""Where files begin on a bare drive: a multiple of every physical block there is."""

_MAX_TICKETS = 10_000
_TICKETS = {"a": 4, "b": 6, "c": 8, "d": 10, "e": 12, "f": 24, "g": 18, "h": 10, "i": 6, "j": 2}


AFTER_INTERRUPTED = "after an interrupted pass"
"""How the drive's state ends where a pass was begun again: what the drive has learned from reads
that were not stored nothing takes back."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LotteryVariant(Variant):
    """A pass, or one of its files."""

    # A file's name is never digits alone.
    PATTERN: ClassVar = (
        r"(?P<reading>[^/]+)(?:/(?P<file>[^/]*[^/\d][^/]*))?(?:/(?P<repetition>\d+))?"
    )
    NUMBERS: ClassVar = frozenset({"repetition"})
    reading: str
    """The pass's name in the plan."""
    file: str = ""
    """Empty: all of them."""
    repetition: int = 1

    @override
    def __str__(self) -> str:
        nth = str(self.repetition) if self.repetition > 1 else ""
        return "/".join(filter(None, (self.reading, self.file, nth)))


@dataclass(frozen=True, slots=True, kw_only=True)
class LotteryPlan(WorkloadPlan):
    """Tickets are drawn without replacement; the file that each names is read and timed."""

    called: ClassVar = N_("a lottery")
    label: ClassVar = "Lottery"
    does: ClassVar = "files drawn by tickets: who answers, drive or RAM?"
    variant: ClassVar = LotteryVariant
    must_write: ClassVar = False
    keeps_files: ClassVar = True
    kind: Literal["lottery"] = kind_key("lottery")
    filesystem: FileSystem = filesystem_key("ext4")
    file_size_bytes: int = key(
        size("4K", "1T", "100M", step=STEP),
        default="100M",
        says="The size of each file: bytes, or a text such as 100M.",
        brief="size of each file",
        in_row=InRow(label="File size"),
    )
    tickets: tuple[tuple[str, int], ...] = key(
        pairs(
            whole(1, _MAX_TICKETS),
            N_("a table of at least one file and its tickets such as { a = 4, b = 6 }"),
            # Digits alone are the number of a repetition in the rows' names: "cold/2".
            names=text(
                N_("1 to 32 plain letters, digits, - or _, and not digits alone"),
                most=32,
                pattern="^[0-9]*[A-Za-z_-][A-Za-z0-9_-]*$",
            ),
        ),
        default=_TICKETS,
        says="The files, and the number of tickets for each.",
        brief="files and their tickets",
    )
    passes: tuple[LotteryPass, ...] = key(
        each_once(one_of(*get_args(LotteryPass)), N_("an array of at least one pass")),
        default=["direct", "cold", "warm", "mmap"],
        says="All tickets are drawn once in each pass, in this order.",
        brief="how all tickets are read",
    )
    repeat: int = key(
        whole(1, 100),
        default=1,
        says="How many times all passes run: repeats feed the drive's cache.",
        brief="times all passes run",
    )

    @property
    @override
    def ways_to_read(self) -> tuple[str, ...]:
        """It writes its files; of the bare drive it only reads."""
        return (ON_THE_BARE_DRIVE,) if self.filesystem else ()

    @property
    @override
    def data_bytes(self) -> int:
        """What lies in the place of a file on a bare drive begins at a place of its own."""
        room = self.file_size_bytes
        if not self.filesystem:
            room = -(-room // ALIGNMENT_BYTES) * ALIGNMENT_BYTES
        return room * len(self.tickets)

    @property
    @override
    def drawn_rows(self) -> int:
        parts = len(self.passes) * self.repeat
        return self._count_draws(parts) + self._count_results(parts)

    @override
    def find_clashes(self, given: frozenset[str]) -> Iterator[Clash]:
        tickets = sum(count for _, count in self.tickets)
        if tickets > _MAX_TICKETS:
            message = Phrase(
                N_("must be at most {most} in all, not {count}"), most=_MAX_TICKETS, count=tickets
            )
            yield Clash(("tickets",), ("tickets",), message)

    @override
    def expect(self, parts: int, *, drive_bytes: int, bytes_s: float) -> Expected:
        draws = self._count_draws(parts)
        return Expected(
            runs=parts,
            results=self._count_results(parts),
            tickets=draws,
            usual_s=draws * self.file_size_bytes / bytes_s,
        )

    def _count_draws(self, parts: int) -> int:
        return parts * sum(number for _, number in self.tickets)

    def _count_results(self, parts: int) -> int:
        """Of each file and of the pass."""
        return parts * (6 * len(self.tickets) + 8)


PLAN = LotteryPlan

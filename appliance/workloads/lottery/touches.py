# SPDX-License-Identifier: Apache-2.0
"""What the draws of a lottery's pass show: first touches of files against repeats. Pure."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import median

from appliance.samples.first_touch import (
    Chance,
    find_deal_chance,
    find_first_chance,
    pair_touches,
)
from appliance.statistics import stats
from appliance.store.read.workloads import TicketRow

GAIN = 1.0 + stats.TOLERANCE
CHANCE = 0.005
"""Less than elsewhere: how long a disk takes also depends on where its head was before."""
DEAL_CHANCE = 0.003
"""Of all draws of the same tickets. Less again: two or three reads of a file do not tell how long
it usually takes."""
DRIVE_SHARE = 0.05
"""Up to this share of a pass's repeats RAM may answer, and they are still called the drive's."""


@dataclass(frozen=True, slots=True)
class Touches:
    """First reads against later ones, over all repetitions of a pass."""

    firsts: int
    repeats: int
    first_bytes_s: float
    """Each file as many times as it is among the repeats."""
    repeat_bytes_s: float
    chance: Chance
    """That reads in any order would have first touches as slow among them."""
    deal_chance: float
    """That tickets in any order would meet the slow moments as these did; 1 where it does not
    matter, because the repeats are not faster beyond chance."""
    repeat_ram_share: float
    """Of the repeats' bytes, how much the device did not serve, 0 to 1."""
    served_before_share: float
    """Of the first touches' bytes, how much the drive had served in earlier passes, 0 to 1.

    1 for a pass that was interrupted before: how much of it is unknown.
    """
    files_bytes: int
    """Of all files together."""
    first_faults: int
    """Major page faults at the files' first reads: of a pass through memory, what was not there."""
    later_faults: int
    """The same of all later ones."""
    proven: bool
    """Whether the drive served all first touches, with nothing of them in RAM before."""

    @property
    def ratio(self) -> float:
        """How many times as fast repeats are as first touches."""
        return self.repeat_bytes_s / self.first_bytes_s

    @property
    def has_gain(self) -> bool:
        """Whether repeats are faster beyond chance, and not for what was slow for a while."""
        return (
            self.ratio >= GAIN and self.chance.value <= CHANCE and self.deal_chance <= DEAL_CHANCE
        )

    @property
    def is_of_drive(self) -> bool:
        """Whether the drive answered the repeats, and had not learned the files before."""
        return self.repeat_ram_share <= DRIVE_SHARE and self.served_before_share <= DRIVE_SHARE


def split_touches(draws: Sequence[TicketRow]) -> tuple[list[TicketRow], list[TicketRow]]:
    """Each file's first read, and all later ones that took a way to them: see `pair_touches`."""
    pairs = pair_touches([ticket.file for ticket in draws])
    firsts = [draws[first] for first, _ in pairs]
    return firsts, [draws[place] for _, later in pairs for place in later]


def find_touches(
    draws: Sequence[TicketRow], *, served_before: Mapping[str, int], is_again: bool
) -> Touches | None:
    """First touches against repeats; None where one of both is missing.

    `served_before` and `is_again` are the pass's: what the drive may have learned before it.
    """
    firsts, repeats = split_touches(draws)
    later = _group_seconds(firsts, repeats)
    first_bytes_s = find_rate([ticket for ticket in firsts for _ in later[ticket.file]])
    repeat_bytes_s = find_rate(repeats)
    if not first_bytes_s or not repeat_bytes_s:
        return None
    app_bytes = sum(ticket.bytes for ticket in repeats)
    served = sum(ticket.device_read_bytes for ticket in repeats)
    first_faults = sum(ticket.major_faults for ticket in firsts)
    first_bytes = sum(ticket.bytes for ticket in firsts)
    chance = find_first_chance([(ticket.seconds, *later[ticket.file]) for ticket in firsts])
    is_faster = repeat_bytes_s >= first_bytes_s * GAIN and chance.value <= CHANCE
    known = sum(min(served_before.get(ticket.file, 0), ticket.bytes) for ticket in firsts)
    return Touches(
        firsts=len(firsts),
        repeats=len(repeats),
        first_bytes_s=first_bytes_s,
        repeat_bytes_s=repeat_bytes_s,
        chance=chance,
        deal_chance=_find_deal_chance(firsts, repeats) if is_faster else 1.0,
        repeat_ram_share=max(0.0, 1.0 - served / app_bytes),
        served_before_share=1.0 if is_again else known / first_bytes,
        files_bytes=first_bytes,
        first_faults=first_faults,
        later_faults=sum(ticket.major_faults for ticket in draws) - first_faults,
        proven=all(
            ticket.page_cache in {"cold", "bypass"}
            and ticket.device_read_bytes >= ticket.bytes * (1 - DRIVE_SHARE)
            for ticket in firsts
        ),
    )


def _group_seconds(
    firsts: Sequence[TicketRow], repeats: Sequence[TicketRow]
) -> dict[str, list[float]]:
    """How long the repeats of each file took."""
    seconds: dict[str, list[float]] = {ticket.file: [] for ticket in firsts}
    for ticket in repeats:
        seconds[ticket.file].append(ticket.seconds)
    return seconds


def _find_deal_chance(firsts: Sequence[TicketRow], repeats: Sequence[TicketRow]) -> float:
    reads = sorted((*firsts, *repeats), key=lambda ticket: ticket.seq)
    return find_deal_chance(
        tuple(ticket.file for ticket in reads), tuple(ticket.seconds for ticket in reads)
    )


@dataclass(frozen=True, slots=True)
class PassComparison:
    """First touches of a pass against an earlier pass."""

    ratio: float
    """How many times as fast they are."""
    chance: Chance
    """That chance makes them that much faster."""


def compare_touches(
    draws: Sequence[TicketRow], earlier: Sequence[TicketRow], *, learned_in_pass: bool
) -> PassComparison:
    """First touches of one pass against the same files in an earlier pass.

    Against the first touches there where these were shown to be slower than repeats. Else against
    all reads there (the median of each file): the first ones may have met a slow moment.
    """
    later = {ticket.file: ticket.seconds for ticket in split_touches(draws)[0]}
    firsts, repeats = split_touches(earlier)
    others = {} if learned_in_pass else _group_seconds(firsts, repeats)
    pairs = [
        (median([ticket.seconds, *others.get(ticket.file, ())]), later[ticket.file])
        for ticket in firsts
        if ticket.file in later
    ]
    ratio = sum(before for before, _ in pairs) / sum(after for _, after in pairs)
    return PassComparison(ratio, find_first_chance(pairs))


def find_rate(tickets: Sequence[TicketRow]) -> float | None:
    """Bytes per second over all `tickets`."""
    seconds = sum(ticket.seconds for ticket in tickets)
    return sum(ticket.bytes for ticket in tickets) / seconds if seconds > 0 else None

# SPDX-License-Identifier: Apache-2.0
"""Who slows down whom: drives that fall behind together, and what connects them. Pure.

A drive falls behind if it was slower in each reading with the others than in each reading alone,
and by a tenth at least. With four readings each, chance alone orders them so once in 70 times
(1 / C(8, 4)); with three, once in 20.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from appliance.statistics.stats import find_median

LEAST_FALL = 0.10
LEAST_READINGS = 3


@dataclass(frozen=True, slots=True)
class Member:
    """One drive, with its readings in bytes per second."""

    label: str
    chain: tuple[str, ...]
    """What leads to it from the machine on, in words: `PCI 0000:03:00.0 (mpt3sas)`."""
    alone: tuple[float, ...]
    together: tuple[float, ...]

    @property
    def is_measured(self) -> bool:
        """Whether there are readings enough to compare."""
        return min(len(self.alone), len(self.together)) >= LEAST_READINGS

    @property
    def alone_bytes_s(self) -> float:
        """Its median."""
        return find_median(self.alone) or 0.0

    @property
    def together_bytes_s(self) -> float:
        """Its median."""
        return find_median(self.together) or 0.0

    @property
    def falls_behind(self) -> bool:
        """See the module."""
        return (
            self.is_measured
            and max(self.together) < min(self.alone)
            and self.together_bytes_s <= (1 - LEAST_FALL) * self.alone_bytes_s
        )


@dataclass(frozen=True, slots=True)
class Share:
    """Drives that fall behind together."""

    node: tuple[str, ...]
    """What leads to the last thing that they have in common; empty: only the machine itself."""
    members: tuple[Member, ...]

    @property
    def bytes_s(self) -> float:
        """What they get together."""
        return sum(member.together_bytes_s for member in self.members)


def find_shares(members: Sequence[Member]) -> tuple[Share, ...]:
    """The groups that fall behind, the largest first; a drive that falls behind alone is one.

    What connects drives may be what is too narrow for them only if none behind it reads on faster
    than those that fall behind; a slower drive that keeps its rate is no objection. Of several
    such things the one with most drives is named, and of those the one closest to the drives.
    """
    measured = [member for member in members if member.is_measured]
    remaining = [member for member in measured if member.falls_behind]
    shares: list[Share] = []
    nodes = {
        member.chain[:length] for member in remaining for length in range(len(member.chain) + 1)
    }
    narrow = []
    for node in nodes:
        behind = [member for member in measured if member.chain[: len(node)] == node]
        fallen = [member for member in behind if member.falls_behind]
        fastest = max(member.together_bytes_s for member in fallen)
        if len(fallen) > 1 and all(
            member.falls_behind or member.together_bytes_s <= fastest for member in behind
        ):
            narrow.append(Share(node, tuple(fallen)))
    narrow.sort(key=lambda each: (-len(each.members), -len(each.node), each.node))
    for share in narrow:
        if all(member in remaining for member in share.members):
            shares.append(share)
            remaining = [member for member in remaining if member not in share.members]
    return (*shares, *(Share(member.chain, (member,)) for member in remaining))

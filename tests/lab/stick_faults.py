# SPDX-License-Identifier: Apache-2.0
"""What goes wrong with the modelled stick: `[stick]` of DRIVES.toml, parsed and asked. Pure.

`forget-unflushed`       at each end of the power, writes that were not flushed never were
`forget-unflushed some`  the same for some of them; `torn`: for parts of them (`volatile_cache`)
`forget-all`             at each end of the power all that was written since the power came never
                         was, flushed or not: a worn stick that acknowledges and keeps nothing
`read-only@SECONDSs`     from that long after the machine was first powered on every write fails
`full@SIZE`              it takes SIZE bytes in places that were not written to before; then writes
                         to further ones fail, while those that were can be written again
"""

import random
import re
from collections.abc import Iterable
from dataclasses import dataclass

from appliance.units import parse_size
from tests.lab.volatile_cache import LOSSES

STICK_PORTS = ("xhci", "ehci", "uhci", "ehci-uas")
"""USB 3, 2 and 1.1, and USB 2 with a stick that speaks UAS (not with OVMF, which has no UAS)."""
_FORM = re.compile(
    r"forget-unflushed(?: (?P<loses>\w+))?"
    r"|(?P<all>forget-all)"
    r"|read-only@(?P<seconds>\d+(?:\.\d+)?)s"
    r"|full@(?P<size>\w+)"
)
_ALLOWED = "forget-unflushed, forget-unflushed some, forget-unflushed torn, forget-all, "
_ALLOWED += "read-only@SECONDSs or full@SIZE"


@dataclass(frozen=True, slots=True)
class StickFaults:
    """All faults of the stick, and the seed of what happens by chance."""

    loses: str = "none"
    """Of the writes that were not flushed: one of `volatile_cache.LOSSES`."""
    forgets_all: bool = False
    read_only_after_s: float | None = None
    full_after_bytes: int | None = None
    texts: tuple[str, ...] = ()
    """As they were written."""
    seed: int = 0


class Room:
    """How much a stick that fills up still takes. Counts places of `_PLACE_BYTES`."""

    _PLACE_BYTES = 4096

    def __init__(self, full_after_bytes: int | None) -> None:
        self._limit = full_after_bytes
        self._taken: set[int] = set()

    def take(self, offset: int, length: int) -> bool:
        """Whether a write fits; what does not takes nothing."""
        if self._limit is None:
            return True
        last = (offset + length - 1) // self._PLACE_BYTES
        new = set(range(offset // self._PLACE_BYTES, last + 1)) - self._taken
        if (len(self._taken) + len(new)) * self._PLACE_BYTES > self._limit:
            return False
        self._taken |= new
        return True


def new_seed() -> int:
    """One that was not used before, most likely."""
    return random.SystemRandom().randrange(1 << 32)


def parse_stick_faults(texts: Iterable[str], *, seed: int = 0) -> StickFaults:
    """Faults from their texts. Raises ValueError naming the one that is wrong."""
    texts = tuple(texts)
    loses, forgets_all = "none", False
    read_only_after_s: float | None = None
    full_after_bytes: int | None = None
    for text in texts:
        match = _FORM.fullmatch(text)
        if match is None or (match["loses"] or "all") not in LOSSES:
            raise ValueError(f"fault {text!r} is none of {_ALLOWED}")
        if match["seconds"]:
            read_only_after_s = float(match["seconds"])
        elif match["size"]:
            full_after_bytes = parse_size(match["size"])
        elif match["all"]:
            forgets_all = True
        else:
            loses = match["loses"] or "all"
    return StickFaults(
        loses=loses,
        forgets_all=forgets_all,
        read_only_after_s=read_only_after_s,
        full_after_bytes=full_after_bytes,
        texts=texts,
        seed=seed,
    )

# SPDX-License-Identifier: Apache-2.0
"""What reached a drive, from nbdkit's own log of requests: the view from outside. Pure."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

_REQUEST = re.compile(
    r"connection=(?P<connection>\d+) (?P<kind>Read|Write|Zero|Trim) id=\d+"
    r" offset=0x(?P<offset>[0-9a-f]+) count=0x(?P<count>[0-9a-f]+)"
)


@dataclass(frozen=True, slots=True)
class Request:
    """One request to a drive."""

    connection: int
    """The power-on, counted from 1."""
    kind: str
    """Read | Write | Zero | Trim"""
    offset: int
    length: int


@dataclass(frozen=True, slots=True)
class Traffic:
    """Bytes asked for since the drive's process began."""

    read_bytes: int = 0
    write_bytes: int = 0

    def since(self, before: "Traffic") -> "Traffic":
        """What came after `before`."""
        return Traffic(self.read_bytes - before.read_bytes, self.write_bytes - before.write_bytes)


def parse_requests(log: str) -> Iterator[Request]:
    """All requests in a log of nbdkit's log filter; each begins with one such line."""
    for match in _REQUEST.finditer(log):
        yield Request(
            int(match["connection"]),
            match["kind"],
            int(match["offset"], 16),
            int(match["count"], 16),
        )


def parse_traffic(log: str) -> Traffic:
    """What they add up to."""
    read_bytes = write_bytes = 0
    for request in parse_requests(log):
        if request.kind == "Read":
            read_bytes += request.length
        else:
            write_bytes += request.length
    return Traffic(read_bytes, write_bytes)

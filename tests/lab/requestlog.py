"""What reached a drive, from nbdkit's own log of requests: the view from outside. Pure."""

import re
from dataclasses import dataclass

_REQUEST = re.compile(
    r"connection=\d+ (?P<kind>Read|Write|Zero|Trim) id=\d+ offset=0x[0-9a-f]+ "
    r"count=0x(?P<count>[0-9a-f]+)"
)


@dataclass(frozen=True, slots=True)
class Traffic:
    """Bytes asked for since the drive's process began."""

    read_bytes: int = 0
    write_bytes: int = 0

    def since(self, before: "Traffic") -> "Traffic":
        """What came after `before`."""
        return Traffic(self.read_bytes - before.read_bytes, self.write_bytes - before.write_bytes)


def parse_traffic(log: str) -> Traffic:
    """All requests in a log of nbdkit's log filter; each begins with one such line."""
    read_bytes = write_bytes = 0
    for match in _REQUEST.finditer(log):
        count = int(match["count"], 16)
        if match["kind"] == "Read":
            read_bytes += count
        else:
            write_bytes += count
    return Traffic(read_bytes, write_bytes)

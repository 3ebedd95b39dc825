# SPDX-License-Identifier: Apache-2.0
"""UUIDs of the cache sets made here: they name the array's campaign and its boot entries.

Pure. A measured boot registers the one array whose UUID it was handed over, and no other
(mkosi.images/initrd/mkosi.extra/usr/lib/kaltstart/register-array).
"""

import re
import secrets

_OURS = re.compile(r"6b616c74-0003-4([0-9]{3})-[0-9a-f]{4}-[0-9a-f]{12}", re.IGNORECASE)


def array_set_uuid(slot: int) -> str:
    """A new UUID for the set of the array that boots from `slot`; never the same twice."""
    return f"6b616c74-0003-4{slot:03d}-8{secrets.token_hex(2)[1:]}-{secrets.token_hex(6)}"


def slot_of_set(set_uuid: str) -> int | None:
    """The slot whose boot entries start this array; None for an array that was not made here."""
    found = _OURS.fullmatch(set_uuid)
    return int(found[1]) if found else None

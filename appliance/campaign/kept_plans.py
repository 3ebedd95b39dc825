"""Plans kept on the stick's partition KALTSTART, in the folder plans, each complete or not there.

What is kept here is never started from here, and releases no drive by itself.
"""

import os
from contextlib import suppress

from appliance.errors import Refusal, StickTrouble
from appliance.plan import MAX_PLAN_BYTES
from appliance.stick import writable_fat
from appliance.units import slug

FOLDER = "plans"


def keep_plan(name: str, text: str, *, replace: bool) -> str:
    """Write `text` as `plans/NAME.toml`; return that path.

    FAT tells upper from lower case nowhere, so names are lower case. Raises Refusal where there is
    a plan of that name and `replace` is not wanted, or where it is too long; StickTrouble.
    """
    shown = f"{FOLDER}/{slug(name).lower()}.toml"
    raw = text.encode()
    if len(raw) > MAX_PLAN_BYTES:
        raise Refusal(f"{shown} would be longer than {MAX_PLAN_BYTES} bytes")
    with writable_fat() as fat:
        path = fat / shown
        part = path.with_suffix(".part")
        try:
            path.parent.mkdir(exist_ok=True)
            if path.exists() and not replace:
                raise Refusal(f"{shown} is there already", hint="replace it or choose another name")
            with part.open("wb") as out:
                out.write(raw)
                out.flush()
                os.fsync(out.fileno())
            part.replace(path)
            descriptor = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY)
            try:
                os.fsync(descriptor)
            finally:
                os.close(descriptor)
        except OSError as error:
            with suppress(OSError):
                part.unlink(missing_ok=True)
            raise StickTrouble(
                f"{shown} cannot be written to KALTSTART: {error.strerror}",
                hint="make room on it with another computer",
            ) from error
    return shown

# SPDX-License-Identifier: Apache-2.0
"""A pause that the stick does not accept, kept until the engine restarts in the same boot.

systemd starts the engine again after trouble and after a bug. Where the pause could not be stored,
the campaign would then go on automatically.
"""

from contextlib import suppress

from appliance.phrases import N_
from appliance.stick.partitions import RUN

_NOTE = RUN / "pause-due"
_REASON_LOST = N_("an earlier engine could not store why it paused")


def owe_pause(reason: str) -> None:
    """The campaign is to pause before anything else.

    The note replaces an earlier one whole. If /run is full, an empty note still fits: a file in RAM
    needs a page only once it has content.
    """
    with suppress(OSError):
        _NOTE.parent.mkdir(parents=True, exist_ok=True)
        new = _NOTE.with_suffix(".new")
        try:
            new.write_text(reason, errors="replace")
            new.replace(_NOTE)
        except OSError:
            _NOTE.touch()


def read_owed_pause() -> str:
    """Why it is to pause; empty if there is no note. A note that cannot be read is a pause too."""
    try:
        return _NOTE.read_text(errors="replace").strip() or _REASON_LOST
    except FileNotFoundError:
        return ""
    except OSError:
        return _REASON_LOST


def pay_pause() -> None:
    """It has paused."""
    _NOTE.unlink(missing_ok=True)

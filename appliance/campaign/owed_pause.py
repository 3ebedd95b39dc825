"""A pause that the stick does not accept, kept until the engine restarts in the same boot.

systemd starts the engine again after trouble and after a bug. Where the pause could not be stored,
the campaign would go on by itself then.
"""

from contextlib import suppress

from appliance.stick import RUN

_NOTE = RUN / "pause-due"


def owe_pause(reason: str) -> None:
    """The campaign is to pause before anything else. /run may be full: then this does nothing."""
    with suppress(OSError):
        _NOTE.parent.mkdir(parents=True, exist_ok=True)
        _NOTE.write_text(reason)


def read_owed_pause() -> str:
    """Why it is to pause; empty where it is not."""
    try:
        return _NOTE.read_text(errors="replace")
    except OSError:
        return ""


def pay_pause() -> None:
    """It has paused."""
    _NOTE.unlink(missing_ok=True)

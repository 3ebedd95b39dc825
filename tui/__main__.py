# SPDX-License-Identifier: Apache-2.0
"""Start the interface on the terminal that is stdin, stdout and stderr."""

import os
import sys

from tui.journal import tell_bug
from tui.port.run_files import VERSION, say_starting, was_ready
from tui.terminal import console as terminal
from tui.terminal.priority import step_back

_SWITCH_S = 0.0001
_GREETING = """\
\x1b[2J\x1b[H
  \x1b[1mKaltstart {version}\x1b[0m
  The stick was found. Looking for drives, and loading the interface ...
"""
"""Until the first page; in English, as the language is on the stick. The initrd greets before it
(mkosi.images/initrd/mkosi.extra/usr/lib/kaltstart/greet)."""


def main() -> None:
    """Start the interface; what keeps it from starting goes to the journal as well."""
    try:
        _start()
    except Exception as error:
        tell_bug(error)
        raise


def _start() -> None:
    """Settle what Textual reads once at import, then start it."""
    # An interface that is restarted may run beside a measurement.
    if was_ready():
        step_back()
    else:
        sys.stdout.write(_GREETING.format(version=VERSION))
        sys.stdout.flush()
    say_starting()
    # Exported sizes would win over the terminal's real one for good.
    for name in ("COLUMNS", "LINES"):
        os.environ.pop(name, None)
    os.environ["TEXTUAL_ANIMATIONS"] = "none"
    os.environ["TEXTUAL_SMOOTH_SCROLL"] = "0"
    # Nothing is drawn but what has changed; what a key changes in two turns need not wait a 60th.
    os.environ["TEXTUAL_FPS"] = "250"
    # None: it cannot be imported. Then asyncio does without OpenSSL, which nothing here needs and
    # which takes long to load.
    sys.modules["ssl"] = None  # type: ignore[assignment]
    # The console knows no kitty keys, and what it does not know it may print.
    os.environ["TEXTUAL_DISABLE_KITTY_KEY"] = "1"
    # At 115200 baud, and on a busy machine, the bytes of one key may arrive separately.
    os.environ.setdefault("ESCDELAY", "200")
    # Reading, keys, drawing and writing are threads that wait for each other up to this long.
    sys.setswitchinterval(_SWITCH_S)
    terminal.settle_size()

    from tui.app import KaltstartApp  # noqa: PLC0415  # Textual reads the settings above
    from tui.port.kernel_log import open_kernel_log  # noqa: PLC0415  # loads the port
    from tui.terminal.driver import Keyboard  # noqa: PLC0415  # the same

    KaltstartApp(when_drawn=step_back, driver_class=Keyboard, kernel_log=open_kernel_log()).run(
        mouse=False
    )


if __name__ == "__main__":
    main()

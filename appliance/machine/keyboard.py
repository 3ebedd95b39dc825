# SPDX-License-Identifier: Apache-2.0
"""The keyboard layout of the machine's own screen; a serial line has its own.

The choice is kept on the stick, beside the database. In every layout, the kernel's own and
Debian's, Shift+Tab sends the same as Tab: it is defined here, after each of them.
"""

import fcntl
import os
import struct
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from appliance.errors import RefusedError
from appliance.machine.settings_file import read_setting, write_setting
from appliance.phrases import N_, Phrase
from appliance.run import run
from appliance.stick.partitions import DATA


@dataclass(frozen=True, slots=True)
class Layout:
    """One keyboard."""

    title: str
    keymap: str
    """Debian's name of it (console-data)."""


LAYOUTS = {
    "us": Layout(N_("American"), "us"),
    "uk": Layout(N_("British"), "uk"),
    "de": Layout(N_("German"), "de-latin1-nodeadkeys"),
    "ch-de": Layout(N_("Swiss, German"), "sg-latin1"),
    "ch-fr": Layout(N_("Swiss, French"), "fr_CH-latin1"),
    "fr": Layout(N_("French"), "fr-latin9"),
    "be": Layout(N_("Belgian"), "be-latin1"),
    "nl": Layout(N_("Dutch"), "nl"),
    "es": Layout(N_("Spanish"), "es"),
    "pt": Layout(N_("Portuguese"), "pt-latin1"),
    "br": Layout(N_("Brazilian"), "br-abnt2"),
    "it": Layout(N_("Italian"), "it"),
    "dk": Layout(N_("Danish"), "dk-latin1"),
    "no": Layout(N_("Norwegian"), "no-latin1"),
    "se": Layout(N_("Swedish"), "se-latin1"),
    "fi": Layout(N_("Finnish"), "fi-latin1"),
    "pl": Layout(N_("Polish"), "pl"),
    "cz": Layout(N_("Czech"), "cz-us-qwertz"),
    "hu": Layout(N_("Hungarian"), "hu"),
}

BUILT_IN = "us"
"""What the kernel starts with."""

_CONSOLE = Path("/dev/tty1")
"""One keymap for all virtual terminals; this one is only what it is set through."""
# linux/kd.h, linux/keyboard.h and linux/input-event-codes.h
_KDSKBENT = 0x4B47
_KDSKBSENT = 0x4B49
_KEY_TAB = 15
_SHIFTED = 1
"""The table of what keys mean while Shift is held: 1 << KG_SHIFT."""
_KT_FN = 1
"""The type of a key that sends a string."""
_STRING = 254
"""One of 256. The keys of Debian's layouts send those up to 45 (Ctrl+F12)."""
_BACK_TAB = b"\x1b[Z"
"""What terminals send for Shift+Tab, and the interface reads as such."""


def load_layout(layout: str) -> None:
    """Have the keys mean what is printed on them. Raises RefusedError or StepFailedError."""
    if layout not in LAYOUTS:
        raise RefusedError(
            Phrase(
                N_('there is no keyboard layout "{layout}"; there are {names}'),
                layout=layout,
                names=", ".join(LAYOUTS),
            )
        )
    run(["loadkeys", "--quiet", "--unicode", f"--console={_CONSOLE}", LAYOUTS[layout].keymap])
    _define_shift_tab()  # it is Tab again


def store_layout(layout: str, *, folder: Path = DATA) -> None:
    """Remember it for the next start. Raises OSError."""
    write_setting("keyboard", layout, folder=folder)


def read_stored_layout(*, folder: Path = DATA) -> str:
    """What was kept; the kernel's own where nothing was, or nothing that is known."""
    return read_setting("keyboard", LAYOUTS, otherwise=BUILT_IN, folder=folder)


def restore_layout() -> str:
    """Load what was kept; the layout that holds now. Raises StepFailedError or OSError."""
    _define_shift_tab()  # of the kernel's own layout, for which no program is started
    layout = read_stored_layout()
    if layout != BUILT_IN:
        load_layout(layout)
    return layout


def _define_shift_tab() -> None:
    """Have Shift+Tab go back in a form. A console that refuses it goes without."""
    with suppress(OSError):
        console = os.open(_CONSOLE, os.O_RDWR | os.O_NOCTTY | os.O_CLOEXEC)
        try:
            # struct kbsentry before struct kbentry: the key never sends an empty string.
            fcntl.ioctl(console, _KDSKBSENT, struct.pack("B512s", _STRING, _BACK_TAB))
            meaning = _KT_FN << 8 | _STRING
            fcntl.ioctl(console, _KDSKBENT, struct.pack("BBH", _SHIFTED, _KEY_TAB, meaning))
        finally:
            os.close(console)

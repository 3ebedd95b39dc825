# SPDX-License-Identifier: Apache-2.0
"""The keyboard layout of the machine's own screen; a serial line has its own.

The choice is kept on the stick, beside the database.
"""

from dataclasses import dataclass
from pathlib import Path

from appliance.errors import RefusedError
from appliance.machine.settings_file import keep_choice, read_kept_choice
from appliance.run import run
from appliance.stick.partitions import DATA


@dataclass(frozen=True, slots=True)
class Layout:
    """One keyboard."""

    title: str
    keymap: str
    """Debian's name of it (console-data)."""


LAYOUTS = {
    "us": Layout("American", "us"),
    "uk": Layout("British", "uk"),
    "de": Layout("German", "de-latin1-nodeadkeys"),
    "ch-de": Layout("Swiss, German", "sg-latin1"),
    "ch-fr": Layout("Swiss, French", "fr_CH-latin1"),
    "fr": Layout("French", "fr-latin9"),
    "be": Layout("Belgian", "be-latin1"),
    "nl": Layout("Dutch", "nl"),
    "es": Layout("Spanish", "es"),
    "pt": Layout("Portuguese", "pt-latin1"),
    "br": Layout("Brazilian", "br-abnt2"),
    "it": Layout("Italian", "it"),
    "dk": Layout("Danish", "dk-latin1"),
    "no": Layout("Norwegian", "no-latin1"),
    "se": Layout("Swedish", "se-latin1"),
    "fi": Layout("Finnish", "fi-latin1"),
    "pl": Layout("Polish", "pl"),
    "cz": Layout("Czech", "cz-us-qwertz"),
    "hu": Layout("Hungarian", "hu"),
}

BUILT_IN = "us"
"""What the kernel starts with."""


def load_layout(layout: str) -> None:
    """Have the keys mean what is printed on them. Raises RefusedError or StepFailedError."""
    if layout not in LAYOUTS:
        raise RefusedError(
            f'there is no keyboard layout "{layout}"; there are {", ".join(LAYOUTS)}'
        )
    # One keymap for all virtual terminals; the terminal is only what it is asked through.
    run(["loadkeys", "--quiet", "--unicode", "--console=/dev/tty1", LAYOUTS[layout].keymap])


def keep_layout(layout: str, *, folder: Path = DATA) -> None:
    """Remember it for the next start. Raises OSError."""
    keep_choice("keyboard", layout, folder=folder)


def read_kept_layout(*, folder: Path = DATA) -> str:
    """What was kept; the kernel's own where nothing was, or nothing that is known."""
    return read_kept_choice("keyboard", LAYOUTS, otherwise=BUILT_IN, folder=folder)


def restore_layout() -> str:
    """Load what was kept; the layout that holds now. Raises StepFailedError or OSError."""
    kept = read_kept_layout()
    if kept != BUILT_IN:
        load_layout(kept)
    return kept

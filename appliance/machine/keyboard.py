# SPDX-License-Identifier: Apache-2.0
"""The keyboard layout of the machine's own screen; a serial line has its own.

The choice is kept on the stick, beside the database.
"""

from dataclasses import dataclass
from pathlib import Path

from appliance.errors import RefusedError
from appliance.machine.settings_file import keep_choice, read_kept_choice
from appliance.phrases import N_
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

"""The layout of the keyboard on the machine's own screen; a serial line has its own.

The choice is kept on the stick, beside the database.
"""

from pathlib import Path

from appliance.errors import KaltstartError, Refusal
from appliance.run import run
from appliance.stick import DATA

LAYOUTS = {
    "us": "us",
    "uk": "uk",
    "de": "de-latin1-nodeadkeys",
    "ch-de": "sg-latin1",
    "ch-fr": "fr_CH-latin1",
    "fr": "fr-latin9",
    "be": "be-latin1",
    "es": "es",
    "it": "it",
    "pt": "pt-latin1",
    "nl": "nl",
    "dk": "dk-latin1",
    "no": "no-latin1",
    "se": "se-latin1",
    "fi": "fi-latin1",
    "pl": "pl",
    "cz": "cz-us-qwertz",
    "hu": "hu",
    "br": "br-abnt2",
}
"""Our name of a layout, and Debian's keymap (console-data)."""

BUILT_IN = "us"
"""What the kernel starts with."""


def load_layout(layout: str) -> None:
    """Have the keys mean what is printed on them. Raises Refusal or StepFailed."""
    if layout not in LAYOUTS:
        raise Refusal(f'there is no keyboard layout "{layout}"; there are {", ".join(LAYOUTS)}')
    # One keymap for all virtual terminals; the terminal is only what it is asked through.
    run(["loadkeys", "--quiet", "--unicode", "--console=/dev/tty1", LAYOUTS[layout]])


def keep_layout(layout: str, *, folder: Path = DATA) -> None:
    """Remember it for the next start. Raises OSError."""
    new = folder / "keyboard.new"
    new.write_text(f"{layout}\n")
    new.replace(folder / "keyboard")


def read_kept_layout(*, folder: Path = DATA) -> str:
    """What was kept; the kernel's own where nothing was, or nothing that is known."""
    try:
        kept = (folder / "keyboard").read_text().strip()
    except (OSError, UnicodeDecodeError):
        return BUILT_IN
    return kept if kept in LAYOUTS else BUILT_IN


def restore_layout() -> str:
    """Load what was kept; the layout that holds now."""
    kept = read_kept_layout()
    if kept != BUILT_IN:
        try:
            load_layout(kept)
        except KaltstartError:
            return BUILT_IN
    return kept

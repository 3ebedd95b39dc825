"""The engine's machine.json as what the page Machine shows.

Pure; a key that is missing is a LookupError.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from tui.charset import drawable, shorten

_MINUTE_S = 60
_CLOCKS_AGREE_S = 2
_FIRMWARE = {"uefi": "UEFI", "secureboot": "UEFI", "bios": "BIOS (legacy)"}
_NAME = 16

type Lines = tuple[tuple[str, str], ...]
"""A fact's name and what is known of it."""


@dataclass(frozen=True, slots=True)
class Machine:
    """The machine and the stick in it."""

    at: str
    """Its time, UTC."""
    keyboard: str
    layouts: Lines
    """A layout's short name, and whose it is."""
    facts: tuple[Lines, ...]
    """In groups."""
    versions: Lines

    def describe(self, width: int, *, is_past: bool = False) -> str:
        """All of it in lines of `width` columns. `is_past`: a campaign has the machine since."""
        blocks = (
            [shorten(f"As of {self.at[-5:]} UTC, before the campaign:", width)] if is_past else []
        )
        blocks += [
            "\n".join(shorten(f"{name:{_NAME}}{value}", width) for name, value in group)
            for group in self.facts
        ]
        programs = [f"{name} {version}" for name, version in self.versions]
        blocks.append("\n".join(_fill("Versions", programs, width)))
        return "\n\n".join(blocks)


def _fill(name: str, texts: list[str], width: int) -> list[str]:
    lines: list[str] = []
    for text in texts:
        if lines and len(lines[-1]) + 2 + len(text) <= width:
            lines[-1] += f", {text}"
        else:
            lines.append(f"{'' if lines else name:{_NAME}}{text}")
    return lines


def parse_machine(value: dict[str, Any], *, show_size: Callable[[int], str]) -> Machine:
    """All of it; `show_size` writes bytes for people."""
    layouts = tuple((drawable(key), drawable(title)) for key, title in value["layouts"].items())
    return Machine(
        at=drawable(value["at"]),
        keyboard=drawable(value["keyboard"]),
        layouts=layouts,
        facts=(
            _find_hardware(value),
            _find_clocks(value, layouts),
            _find_stick(value, show_size=show_size),
        ),
        versions=tuple(
            (drawable(name), drawable(version)) for name, version in value["versions"].items()
        ),
    )


def _find_hardware(value: dict[str, Any]) -> Lines:
    model = " ".join(filter(None, (value["vendor"], value["model"])))
    serial = f", serial {value['serial']}" if value["serial"] else ""
    count = value["processors"]
    mode = _FIRMWARE.get(value["firmware"], value["firmware"])
    return (
        ("Machine", drawable(f"{model or 'not told'}{serial}")),
        ("Processor", drawable(f"{count} × {value['processor'] or 'not told'}")),
        ("RAM", f"{value['ram_bytes'] / (1 << 30):.1f} GiB"),
        ("Firmware", drawable(", ".join(filter(None, (mode, value["firmware_version"]))))),
        ("Secure Boot", drawable(value["secure_boot"])),
    )


def _find_clocks(value: dict[str, Any], layouts: Lines) -> Lines:
    titles = dict(layouts)
    keyboard = drawable(value["keyboard"])
    return (
        ("System time", f"{drawable(value['at'])} UTC"),
        ("Hardware clock", _describe_clock(value["clock_ahead_s"])),
        ("Wake-up", _describe_alarm(value["alarm_in_s"], can_wake=value["can_wake"])),
        ("Keyboard", f"{keyboard}  {titles.get(keyboard, '')}".rstrip()),
    )


def _describe_clock(ahead_s: int | None) -> str:
    if ahead_s is None:
        return "NONE FOUND: the time is wrong after each power-off"
    if abs(ahead_s) <= _CLOCKS_AGREE_S:
        return "agrees with the system's time"
    return f"{abs(ahead_s)} s {'ahead of' if ahead_s > 0 else 'behind'} the system's time"


def _describe_alarm(alarm_in_s: int | None, *, can_wake: bool) -> str:
    if not can_wake:
        return "NOT POSSIBLE: somebody must switch it on each time"
    if alarm_in_s is None or alarm_in_s < 0:
        return "possible, no alarm is set"
    return f"possible, an alarm is set in {alarm_in_s // _MINUTE_S} min"


def _find_stick(value: dict[str, Any], *, show_size: Callable[[int], str]) -> Lines:
    read_only = ", WRITE-PROTECTED" if value["stick_read_only"] else ""
    serial = f", serial {value['stick_serial']}" if value["stick_serial"] else ""
    return (
        ("Stick", drawable(f"{value['stick_model'] or 'not told'}{serial}{read_only}")),
        ("Its errors", _describe_errors(value["stick_errors"], value["data_errors"])),
        ("kaltstart-data", _describe_space(value["data"], show_size=show_size)),
        ("KALTSTART", _describe_space(value["fat"], show_size=show_size)),
    )


def _describe_errors(commands: int | None, remembered: int | None) -> str:
    known = [
        text
        for count, text in (
            (commands, f"{commands} since it was plugged in"),
            (remembered, f"{remembered} ever in kaltstart-data"),
        )
        if count is not None
    ]
    warning = "! " if commands or remembered else ""
    return warning + ("; ".join(known) or "not told")


def _describe_space(value: dict[str, Any] | None, *, show_size: Callable[[int], str]) -> str:
    if value is None:
        return "CANNOT BE READ"
    return f"{show_size(value['free_bytes'])} free of {show_size(value['total_bytes'])}"

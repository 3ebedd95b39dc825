# SPDX-License-Identifier: Apache-2.0
"""The engine's machine.json as what the page Machine shows.

Pure; a key that is missing is a LookupError.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from tui.charset import drawable, one_line, shorten
from tui.format import show_number
from tui.language import N_, _

_MINUTE_S = 60
_CLOCKS_AGREE_S = 2
_FIRMWARE = {"uefi": "UEFI", "secureboot": "UEFI", "bios": N_("BIOS (legacy)")}
_SECURE_BOOT = (N_("on"), N_("off"), N_("setup mode"), N_("not supported"))
_NAME = 16

type Lines = tuple[tuple[str, str], ...]
"""A fact's name and what is known of it."""


@dataclass(frozen=True, slots=True)
class Machine:
    """The machine and the stick in it."""

    name: str
    """Its maker and model; empty where it tells none."""
    at: str
    """Its time, UTC."""
    keyboard: str
    layouts: Lines
    """A layout's short name, and whose it is."""
    language: str
    languages: Lines
    """A language's short name, and what it calls itself."""
    facts: tuple[Lines, ...]
    """In groups."""
    versions: Lines
    images: tuple[str, ...] = ()
    """Of versions, by the names of their files on KALTSTART; the newest first."""

    def describe(self, width: int, *, is_past: bool = False, is_dense: bool = False) -> str:
        """All of it in lines of `width` columns, an empty one between groups unless `is_dense`.

        `is_past`: a campaign has the machine since.
        """
        blocks = (
            [shorten(_("As of {time} UTC, before the campaign:").format(time=self.at[-5:]), width)]
            if is_past
            else []
        )
        blocks += [
            "\n".join(shorten(f"{name:{_NAME}}{value}", width) for name, value in group)
            for group in self.facts
        ]
        programs = [f"{name} {version}" for name, version in self.versions]
        blocks.append("\n".join(_fill(_("Versions"), programs, width)))
        return ("\n" if is_dense else "\n\n").join(blocks)


def _fill(name: str, texts: list[str], width: int) -> list[str]:
    lines: list[str] = []
    for text in map(drawable, texts):
        if lines and len(lines[-1]) + 2 + len(text) <= width:
            lines[-1] += f", {text}"
        else:
            lines.append(f"{'' if lines else name:{_NAME}}{text}")
    return lines


def parse_machine(value: dict[str, Any], *, show_size: Callable[[int], str]) -> Machine:
    """All of it; `show_size` writes bytes for people."""
    layouts = tuple((key, _(title)) for key, title in value["layouts"].items())
    languages = tuple((key, name) for key, name in value["languages"].items())
    return Machine(
        name=_name_machine(value),
        at=value["at"],
        keyboard=value["keyboard"],
        layouts=layouts,
        language=value["language"],
        languages=languages,
        facts=(
            _find_hardware(value),
            _find_clocks(value, layouts, languages),
            _find_stick(value, show_size=show_size),
        ),
        versions=tuple((name, version) for name, version in value["versions"].items()),
        images=tuple(value["images"]),
    )


def _name_machine(value: dict[str, Any]) -> str:
    return one_line(" ".join(filter(None, (value["vendor"], value["model"]))))


def _find_hardware(value: dict[str, Any]) -> Lines:
    model = _name_machine(value)
    serial = (
        _(", serial {serial}").format(serial=one_line(value["serial"])) if value["serial"] else ""
    )
    count = value["processors"]
    mode = _(_FIRMWARE.get(value["firmware"], value["firmware"]))
    not_told = _("not told")
    return (
        (_("Machine"), f"{model or not_told}{serial}"),
        (_("Processor"), f"{count} × {value['processor'] or not_told}"),
        ("RAM", f"{show_number(value['ram_bytes'] / (1 << 30), '.1f')} GiB"),
        (_("Firmware"), ", ".join(filter(None, (mode, value["firmware_version"])))),
        ("Secure Boot", _(value["secure_boot"])),
    )


def _find_clocks(value: dict[str, Any], layouts: Lines, languages: Lines) -> Lines:
    keyboard, language = value["keyboard"], value["language"]
    return (
        (_("System time"), f"{value['at']} UTC"),
        (_("Hardware clock"), _describe_clock(value["clock_ahead_s"])),
        (_("Wake-up"), _describe_alarm(value)),
        (_("Keyboard"), f"{keyboard}  {dict(layouts).get(keyboard, '')}".rstrip()),
        (_("Language"), f"{language}  {dict(languages).get(language, '')}".rstrip()),
    )


def _describe_clock(ahead_s: int | None) -> str:
    if ahead_s is None:
        return "! " + _("NONE FOUND: the time is wrong after each power-off")
    if abs(ahead_s) <= _CLOCKS_AGREE_S:
        return _("agrees with the system's time")
    if ahead_s > 0:
        return _("{seconds} s ahead of the system's time").format(seconds=ahead_s)
    return _("{seconds} s behind the system's time").format(seconds=-ahead_s)


def _describe_alarm(value: dict[str, Any]) -> str:
    if not value["can_wake"]:
        return "! " + _("NOT POSSIBLE: switch it on by hand each time")
    alarm_in_s, wake = value["alarm_in_s"], value["wake"]
    text = _("not tried yet (w)")
    if wake is not None and wake["result"] == "asleep":
        day = wake["ended_at"][:10]
        text = "! " + _("DOES NOT WAKE from power-off (tried {day})").format(day=day)
    elif wake is not None:
        text = _(
            "wakes {seconds} s after its alarm; {moved} of {counted} drives lost power"
        ).format(seconds=round(wake["skew_s"]), moved=wake["moved"], counted=wake["counted"])
    if alarm_in_s is None or alarm_in_s < 0:
        return text
    return _("{told}; an alarm is set in {count} min").format(
        told=text, count=alarm_in_s // _MINUTE_S
    )


def _find_stick(value: dict[str, Any], *, show_size: Callable[[int], str]) -> Lines:
    read_only = _(", WRITE-PROTECTED") if value["stick_read_only"] else ""
    serial = value["stick_serial"] and _(", serial {serial}").format(serial=value["stick_serial"])
    return (
        (_("Stick"), f"{value['stick_model'] or _('not told')}{serial}{read_only}"),
        (_("Its errors"), _describe_errors(value["stick_errors"], value["data_errors"])),
        ("kaltstart-data", _describe_space(value["data"], show_size=show_size)),
        ("KALTSTART", _describe_space(value["fat"], show_size=show_size)),
    )


def _describe_errors(commands: int | None, remembered: int | None) -> str:
    known = [
        text
        for count, text in (
            (commands, _("{count} since it was plugged in").format(count=commands)),
            (remembered, _("{count} ever in kaltstart-data").format(count=remembered)),
        )
        if count is not None
    ]
    warning = "! " if commands or remembered else ""
    return warning + ("; ".join(known) or _("not told"))


def _describe_space(value: dict[str, Any] | None, *, show_size: Callable[[int], str]) -> str:
    if value is None:
        return "! " + _("CANNOT BE READ")
    return _("{free} free of {total}").format(
        free=show_size(value["free_bytes"]), total=show_size(value["total_bytes"])
    )

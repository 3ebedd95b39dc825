# SPDX-License-Identifier: Apache-2.0
"""Reads the appliance's machine-readable lines off a serial console. Pure.

The console carries everything at once: firmware, kernel log, and the TUI's escape sequences. A line
counts only at the start of a line or right behind the kernel's time stamp.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass

_STAMP = r"\[ *\d+\.\d+\]"
_ESCAPE = re.compile(
    # The kernel does not wait for the end of a sequence: what came of it ends at the time stamp.
    rf"\x1b(?:\[[0-?]*[ -/]*)?(?={_STAMP})"
    r"|\x1b\[[0-?]*[ -/]*[@-~]"  # CSI
    r"|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)?"  # OSC
    r"|\x1b[PX^_][^\x1b]*(?:\x1b\\)?"  # DCS and its like
    r"|\x1b[ -/]*[0-~]"
)
_LINE = re.compile(rf"(?:^|{_STAMP}\s?)kaltstart: (?P<event>[a-z][a-z0-9-]*)(?P<rest>(?: .*)?)$")
_FIELD = re.compile(r' +([a-z][a-z0-9_]*)=("(?:\\.|[^"\\])*"|[^\s"]*)')


@dataclass(frozen=True, slots=True)
class ConsoleLine:
    """One `kaltstart: EVENT key=value …`."""

    event: str
    fields: Mapping[str, str]
    text: str
    """The line as it was shown, without escapes and time stamp."""


def strip_escapes(text: str) -> str:
    """`text` without terminal escapes and other control characters, line ends kept."""
    return re.sub(r"[\x00-\x08\x0b-\x1f\x7f]", "", _ESCAPE.sub("", text.replace("\r\n", "\n")))


def parse_line(text: str) -> ConsoleLine | None:
    """The event in one line of a console; None where there is none."""
    clean = strip_escapes(text.rstrip("\r\n")).rstrip()
    match = _LINE.search(clean)
    if match is None:
        return None
    fields = {name: _unquoted(value) for name, value in _FIELD.findall(match["rest"])}
    return ConsoleLine(match["event"], fields, f"{match['event']}{match['rest']}")


def _unquoted(value: str) -> str:
    if not value.startswith('"'):
        return value
    return re.sub(r'\\(["\\])', r"\1", value[1:-1])

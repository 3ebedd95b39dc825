# SPDX-License-Identifier: Apache-2.0
"""Console lines as they are written, read back as an outside program reads them."""

import re
from pathlib import Path

import pytest

from appliance import console
from appliance.console import announce, format_line
from appliance.units import printable
from tests.lab.console import parse_line

VALUES = [
    "LAB-HDD-1",
    "incoming, rack 4",
    "",
    " ",
    'the "red" one',
    '"',
    "a=b",
    "3/10",
    "back\\slash",
    "trailing\\",
    '\\"',
    "Prüfstand 4 – Ø",
    "12.345",
    "{}[]()|&;$`'",
]
SETTINGS = Path(__file__).parents[3] / "mkosi.extra/usr/lib/sysctl.d/50-kaltstart.conf"
KERNEL_ERROR = 3
HOSTILE = [
    "two\nlines",
    "two\r\nkaltstart: campaign-done id=1",
    "\x1b[2J\x1b[31mred",
    "\x00\x07\x08\x7f",
    "\x9b31m",
    "tab\tbed",
    "no\u00a0break\u2028line\u202eright to left\ufeff",
    "\udcff",
]


@pytest.mark.parametrize("value", VALUES)
def test_a_value_is_read_back_as_it_was(value: str) -> None:
    line = parse_line(format_line("cycle-done", {"id": 1, "drive": value, "boot_s": "12.345"}))
    assert line is not None
    assert line.event == "cycle-done"
    assert line.fields == {"id": "1", "drive": value, "boot_s": "12.345"}


@pytest.mark.parametrize("value", HOSTILE)
def test_what_a_terminal_might_act_on_is_read_back_as_its_escape(value: str) -> None:
    text = format_line("refused", {"reason": value, "last": "x"})
    assert text.isprintable()
    line = parse_line(f"[   12.345678] {text}\r\n")
    assert line is not None
    assert line.fields == {"reason": printable(value), "last": "x"}


def test_only_what_needs_them_has_quotes() -> None:
    fields: dict[str, object] = {"id": 1, "name": "rack 4", "hint": "", "drive": "A-1"}
    assert format_line("x", fields) == 'kaltstart: x id=1 name="rack 4" hint="" drive=A-1'


def test_a_line_without_fields() -> None:
    assert format_line("ready", {}) == "kaltstart: ready"


@pytest.mark.parametrize("value", ["x" * 5000, "ü" * 5000, "\x00" * 5000, "drive 'A B', " * 400])
def test_a_long_value_is_cut_to_what_the_kernel_takes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, value: str
) -> None:
    kmsg = tmp_path / "kmsg"
    monkeypatch.setattr(console, "_KMSG", kmsg)
    announce("refused", reason=value)
    assert len(kmsg.read_bytes()) <= 1024  # PRINTKRB_RECORD_MAX
    line = parse_line(kmsg.read_text().removeprefix("<2>"))
    assert line is not None
    assert line.fields["reason"].endswith(" (and more)")
    assert printable(value).startswith(line.fields["reason"].removesuffix(" (and more)"))


def test_a_console_that_cannot_be_written_stops_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(console, "_KMSG", tmp_path)  # a folder
    announce("ready")


def test_a_line_is_one_record_that_every_console_shows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kmsg = tmp_path / "kmsg"
    monkeypatch.setattr(console, "_KMSG", kmsg)
    announce("cycle-done", id=1, drive="A\nB")
    assert kmsg.read_text() == '<2>kaltstart: cycle-done id=1 drive="A\\\\x0aB"\n'


def test_consoles_show_our_lines_and_not_the_errors_of_a_drive(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # A drive with bad sectors has the kernel write dozens of lines a second: over the page on the
    # screen, and so many that consoles lose lines, ours among them.
    kmsg = tmp_path / "kmsg"
    monkeypatch.setattr(console, "_KMSG", kmsg)
    announce("ready")
    level = int(kmsg.read_text()[1])
    # A console shows the levels below this one (console_loglevel, Linux' kernel.printk).
    shown = re.search(r"^kernel\.printk = (\d)", SETTINGS.read_text(), re.MULTILINE)
    assert shown is not None
    assert level < int(shown[1]) <= KERNEL_ERROR

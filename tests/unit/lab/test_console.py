# SPDX-License-Identifier: Apache-2.0
import pytest

from tests.lab.console import parse_line, strip_escapes


def test_line_with_time_stamp() -> None:
    line = parse_line('[   12.345678] kaltstart: campaign-start id=1 name="incoming, rack 4"\r\n')
    assert line is not None
    assert line.event == "campaign-start"
    assert line.fields == {"id": "1", "name": "incoming, rack 4"}
    assert line.text == 'campaign-start id=1 name="incoming, rack 4"'


def test_line_without_time_stamp_or_fields() -> None:
    line = parse_line("kaltstart: ready")
    assert line is not None
    assert (line.event, line.fields) == ("ready", {})


def test_sample_line() -> None:
    line = parse_line(
        "[    9.1] kaltstart: cycle-done id=1 drive=LAB-HDD-1 cycle=3/10 boot_s=12.345"
        ' power=cold proof=unproven reason="no \\"counter\\" \\\\ none" empty=""'
    )
    assert line is not None
    assert line.fields["cycle"] == "3/10"
    assert float(line.fields["boot_s"]) == 12.345
    assert line.fields["reason"] == 'no "counter" \\ none'
    assert line.fields["empty"] == ""


@pytest.mark.parametrize(
    "around",
    [
        "\x1b[2J\x1b[01;01H{}\x1b[0m",
        "\x1b]104\x07\x1b[?7h\x1b[!p{}",
        "│ Drives │\x1b[12;40H{}\x1b[32766;32766H\x1b[6n",
        "kaltstart login: \x1b(B{}\r",
        # The kernel writes in between.
        "\x1b[0m Drives\x1b{}",
        "\x1b[0m Drives\x1b[{}",
        "\x1b[0m Drives\x1b[?25{}",
        "\x1b[0m Drives\x1b[12;4{}",
    ],
)
def test_line_amid_what_a_terminal_gets(around: str) -> None:
    line = parse_line(around.format("[   41.354264] kaltstart: campaign-done id=1 failed=0"))
    assert line is not None
    assert line.fields == {"id": "1", "failed": "0"}


@pytest.mark.parametrize(
    "text",
    [
        "",
        "lab: power on 3",
        "drive kaltstart: campaign-done id=1",  # not at the start: some program's own text
        "Debian GNU/Linux 13 kaltstart ttyS0",
        "[    1.0] kaltstart: 12",
        "[    1.0] systemd[1]: kaltstart: ready",
    ],
)
def test_other_text_is_no_line(text: str) -> None:
    assert parse_line(text) is None


def test_strip_escapes_keeps_line_ends() -> None:
    assert strip_escapes("a\x1b[31mb\r\nc\x00\td\n") == "ab\nc\td\n"

# SPDX-License-Identifier: Apache-2.0
"""Colours repeat what signs and words say."""

from rich.text import Text

from tui.roles import ACCENT, BAD, GOOD, QUIET, SIGNS, WARNING, paint, paint_keys


def _list_painted(text: Text) -> dict[str, str]:
    return {text.plain[span.start : span.end]: str(span.style) for span in text.spans}


def test_a_line_has_the_colour_of_the_sign_it_begins_with() -> None:
    painted = _list_painted(paint("+ one\n  ! two: three\n× four\nfive ! six"))
    assert painted == {"+ one": GOOD, "! two: three": WARNING, "× four": BAD}


def test_bars_and_axes_are_told_apart() -> None:
    assert _list_painted(paint("a ├──█▌│ b")) == {"├──": QUIET, "█▌": ACCENT, "│": QUIET}


def test_heads_and_names_are_painted_where_they_are_asked_for() -> None:
    text = "Head\nName: value\n\nOther: head\nx"
    assert _list_painted(paint(text)) == {}
    painted = _list_painted(paint(text, has_heads=True))
    assert painted == dict.fromkeys(("Head", "Other: head"), f"bold {ACCENT}")
    assert _list_painted(paint(text, has_names=True)) == dict.fromkeys(("Name:", "Other:"), QUIET)


def test_what_is_painted_stays_the_same_text_made_drawable() -> None:
    assert paint("+ a\x1b[31m\n中").plain == "+ a\\x1b[31m\n\\u4e2d"
    assert paint_keys([("d", "details"), ("p", "power")], "  ").plain == "d details  p power"


def test_each_sign_has_a_colour_of_its_own() -> None:
    assert len(set(SIGNS.values())) == len(SIGNS)

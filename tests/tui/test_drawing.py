# SPDX-License-Identifier: Apache-2.0
"""Characters and figures."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

from tui.charset import ALLOWED, drawable, shorten, shorten_name
from tui.widgets.figures import draw_bar, draw_progress

TUI = Path(__file__).resolve().parents[2] / "tui"


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("Müller ÷ 2 ─│█", "Müller ÷ 2 ─│█"),
        ("a…b – c — “d” ‘e’", "a...b - c - \"d\" 'e'"),
        ("中\n✓😀\x85", "\\u4e2d\\x0a\\u2713\\U0001f600\\x85"),
    ],
)
def test_only_allowed_characters_are_drawn(text: str, shown: str) -> None:
    assert drawable(text) == shown
    assert ALLOWED.issuperset(drawable(text))


def test_the_set_fits_a_font_of_256_glyphs() -> None:
    assert len(ALLOWED) <= 256
    assert {len(c) for c in ALLOWED} == {1}
    assert all(c.isprintable() for c in ALLOWED)


def _list_texts(source: str) -> Iterator[str]:
    """Every text in a module's code but for those that stand alone, which explain."""
    tree = ast.parse(source)
    explaining = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and id(node) not in explaining:
            yield node.value if isinstance(node.value, str) else ""


@pytest.mark.parametrize("path", sorted(TUI.rglob("*.py")), ids=lambda path: path.name)
def test_what_the_interface_says_itself_is_in_the_set(path: Path) -> None:
    said = set().union(*_list_texts(path.read_text()))
    assert not {character for character in said if character >= " "} - ALLOWED


def test_texts_are_cut_with_a_sign() -> None:
    assert shorten("abcdef", 6) == "abcdef"
    assert shorten("abcdef", 5) == "abcd~"


def test_a_name_is_cut_where_drives_of_one_delivery_are_the_same() -> None:
    assert shorten_name("S3Z8NB0K123456789", 17) == "S3Z8NB0K123456789"
    assert shorten_name("S3Z8NB0K123456789", 14) == "S3Z8NB0~456789"
    assert shorten_name("S3Z8NB0K123456789", 11) == "S3Z8NB0K12~"


def test_bars_are_proportional_and_never_vanish() -> None:
    assert draw_bar(50, 100, 10) == "█████"
    assert draw_bar(47, 100, 10) == "████▊"
    assert draw_bar(0.001, 100, 10) == "▏"
    assert draw_bar(0, 100, 10) == ""
    assert draw_progress(1, 2, 12) == "[█████     ]  50 %"
    assert draw_progress(0, 0, 6) == "[    ]   0 %"
    assert draw_progress(999, 1000, 12).endswith("]  99 %"), "it is not done"
    assert draw_progress(1000, 1000, 12).endswith("] 100 %")

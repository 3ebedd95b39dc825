# SPDX-License-Identifier: Apache-2.0
"""Large letters: whole words or none, as large as fits."""

import pytest

from tests.tui.texts import read_catalogue
from tui.charset import ALLOWED
from tui.results.page import _OUTCOMES
from tui.widgets.big_words import draw_words


def test_a_word_is_drawn_in_half_blocks_where_there_are_three_lines() -> None:
    assert draw_words("× 1 Ä", width=40, height=3).splitlines() == [
        "▄ ▄    ▄█     ▀▄▄▀",
        "▄▀▄     █     █▄▄█",
        "       ▀▀▀    ▀  ▀",
    ]


def test_it_is_as_large_as_fits() -> None:
    large = draw_words("ACCEPT", width=80)
    assert len(large.splitlines()) == 5
    small = draw_words("ACCEPT", width=40)
    assert len(small.splitlines()) == 5
    assert max(map(len, small.splitlines())) <= 40 < max(map(len, large.splitlines()))
    assert draw_words("ACCEPT", width=10) == "ACCEPT"
    assert draw_words("ACCEPT", width=80, height=2) == "ACCEPT"
    assert set(large + small) <= ALLOWED | {"\n"}


def test_a_word_with_an_unknown_character_stays_whole() -> None:
    assert draw_words("accept #1", width=80) == "accept #1"


@pytest.mark.parametrize("outcome", [word for _verdict, word, _role in _OUTCOMES])
def test_every_verdict_fits_the_narrowest_screen_in_both_languages(outcome: str) -> None:
    german = read_catalogue("de").get(outcome)
    assert german is not None
    for word in (outcome, str(german.string)):
        for sign in "×!¼+":
            lines = draw_words(f"{sign} 24 {word}", width=76, height=3).splitlines()
            assert len(lines) == 3

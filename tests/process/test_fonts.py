# SPDX-License-Identifier: Apache-2.0
"""The console's fonts as `ci/fonts` makes them, and which of them is chosen."""

import subprocess
from pathlib import Path

import pytest
from PIL import Image

from tests.lab.campaign import REPO
from tests.lab.psf import ConsoleFont, parse_psf
from tests.lab.screentext import UNKNOWN, read_screen
from tui.charset import ALLOWED, BARS, BLOCK, BOX, ENDS, HALVES

_CHOOSE = REPO / "mkosi.extra/usr/lib/kaltstart/choose-font"
_FOLDER = "/usr/share/kaltstart/console"
_WIDTHS_PX = {16: 8, 24: 12, 32: 16, 48: 24}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("fonts")
    subprocess.run([REPO / "ci/fonts", out], check=True, capture_output=True)
    return out


def _load(folder: Path, height_px: int) -> ConsoleFont:
    return parse_psf((folder / f"kaltstart-{height_px}.psf").read_bytes())


def _count_pixels(font: ConsoleFont, character: str) -> int:
    return sum(
        font.is_set(font.numbers[character], x, y)
        for x in range(font.width_px)
        for y in range(font.height_px)
    )


@pytest.mark.parametrize("height_px", _WIDTHS_PX)
def test_each_character_has_a_glyph_of_its_own_among_256(folder: Path, height_px: int) -> None:
    font = _load(folder, height_px)
    assert (font.width_px, font.height_px) == (_WIDTHS_PX[height_px], height_px)
    # More than 256 would cost half the colours in text mode.
    assert len(font.glyphs) == 256
    assert not ALLOWED - set(font.numbers)
    assert "\N{REPLACEMENT CHARACTER}" in font.numbers
    assert len({font.numbers[character] for character in ALLOWED}) == len(ALLOWED)
    assert all(_count_pixels(font, character) for character in ALLOWED - {" "})


@pytest.mark.parametrize("height_px", _WIDTHS_PX)
def test_bars_grow_to_a_full_block(folder: Path, height_px: int) -> None:
    font = _load(folder, height_px)
    for bars in (BARS, ENDS + BLOCK):
        counts = [_count_pixels(font, character) for character in bars]
        assert counts == sorted(set(counts))
        assert counts[-1] == font.width_px * font.height_px


def test_what_joins_to_the_right_joins_in_text_mode(folder: Path) -> None:
    font = _load(folder, 16)
    joining = {
        character
        for character in {*BOX, *BARS, *HALVES, BLOCK}
        if any(font.is_set(font.numbers[character], 7, y) for y in range(16))
    }
    assert {"─", "┌", "█", "▁", "▐"} <= joining
    # VGA repeats the eighth column of these, and of no others, in the ninth.
    assert all(0xC0 <= font.numbers[character] <= 0xDF for character in joining)


def test_the_licence_is_beside_the_fonts(folder: Path) -> None:
    assert "SIL OPEN FONT LICENSE Version 1.1" in (folder / "FONT-LICENCE").read_text()


def test_what_a_console_showed_is_read_by_its_font(folder: Path) -> None:
    """The picture is QEMU's own, of the page Results on a screen of 1280x800."""
    with Image.open(REPO / "tests/fixtures/screens/results-1280x800.png") as picture:
        lines = read_screen(picture, _load(folder, 16)).splitlines()
    assert len(lines) == 50
    # The cursor's line is in swapped colours.
    assert lines[:2] == [
        " Kaltstart 0.1.0 · Results · idle: Ready",
        "   1  2026-11-22 10:34  done       boot comparison",
    ]
    assert " LAB-SSD-1      53.34    43.09       0.68      2      0" in lines
    assert any(line.startswith(" LAB-SSD-1  ├────") for line in lines)
    assert lines[-1] == "  1 Drives   2 Plan   3 Run  [4 Results]  5 Machine"
    assert UNKNOWN not in "".join(lines)


@pytest.mark.parametrize(
    ("size", "chosen"),
    [
        ("800,600", "kaltstart-16.psf"),
        ("1024,768", "kaltstart-16.psf"),
        ("1366,768", "kaltstart-16.psf"),
        ("1920,1080", "kaltstart-24.psf"),
        ("2560,1440", "kaltstart-32.psf"),
        ("3440,1440", "kaltstart-32.psf"),
        ("3840,2160", "kaltstart-48.psf"),
        ("nonsense", "kaltstart-16.psf"),
        (None, "kaltstart-16.psf"),
    ],
)
def test_the_font_is_as_large_as_120_by_40_characters_allow(
    size: str | None, chosen: str, tmp_path: Path
) -> None:
    file = tmp_path / "virtual_size"
    if size is not None:
        file.write_text(f"{size}\n")
    done = subprocess.run([_CHOOSE, file], capture_output=True, text=True, check=True)
    assert done.stdout.replace(f"{_FOLDER}/", "") == f"{chosen}\n"

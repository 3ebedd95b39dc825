# SPDX-License-Identifier: Apache-2.0
"""Sizes, and text from devices made harmless."""

import pytest

from appliance.units import (
    format_drive_size,
    format_exact_size,
    format_seconds,
    format_size,
    is_windows_device,
    parse_size,
    printable,
    slug,
)


@pytest.mark.parametrize(
    ("text", "size_bytes"),
    [
        ("0", 0),
        ("512", 512),
        ("4K", 4096),
        ("1M", 1 << 20),
        (" 2 G ", 2 << 30),
        ("1T", 1 << 40),
        (4096, 4096),
        (0, 0),
    ],
)
def test_parse_size(text: str | int, size_bytes: int) -> None:
    assert parse_size(text) == size_bytes


@pytest.mark.parametrize(
    "text", ["", "K", "1k", "1.5G", "-1", "1KB", "1KiB", "0x10", "٣", "1 2", "4K\n4K", -1, True]
)
def test_what_is_no_size(text: str | int) -> None:
    with pytest.raises(ValueError, match="size"):
        parse_size(text)


@pytest.mark.parametrize(
    ("size_bytes", "shown"),
    [
        (0, "0 B"),
        (999, "999 B"),
        (1000, "1.0 kB"),
        (4_000_000_000, "4.0 GB"),
        (500_107_862_016, "500 GB"),
        (12_000_138_625_024, "12 TB"),
        (10**19, "10000 PB"),
    ],
)
def test_format_drive_size(size_bytes: int, shown: str) -> None:
    assert format_drive_size(size_bytes) == shown


@pytest.mark.parametrize(
    ("size_bytes", "shown"),
    [
        (0, "0 B"),
        (1023, "1023 B"),
        (4096, "4 KiB"),
        (1_290_240, "1.23 MiB"),
        (1_000_001, "976.563 KiB"),
        (4_000_787_030_016, "3.639 TiB"),
    ],
)
def test_format_size(size_bytes: int, shown: str) -> None:
    assert format_size(size_bytes) == shown


@pytest.mark.parametrize(
    ("size_bytes", "shown"),
    [
        (0, "0 B"),
        (1023, "1023 B"),
        (1536, "1.5 KiB"),
        (1_048_576, "1 MiB"),
        # Either side of a limit of 1 MiB.
        (1_048_575, "1023.999 KiB (1048575 B)"),
        (1_048_577, "1 MiB (1048577 B)"),
        (1_290_240, "1.23 MiB (1290240 B)"),
        (5 << 40, "5 TiB"),
        ((5 << 40) + 1, "5 TiB (5497558138881 B)"),
    ],
)
def test_format_exact_size(size_bytes: int, shown: str) -> None:
    assert format_exact_size(size_bytes) == shown


def test_what_would_be_rounded_up_to_one_of_a_unit_is_given_in_it() -> None:
    assert format_size((1 << 30) - 1) == "1 GiB"
    assert format_size((1 << 20) - 1024, decimals=1) == "1023 KiB"
    assert format_size(100 << 20, decimals=0) == "100 MiB"


def test_format_size_with_fewer_decimals() -> None:
    assert format_size(1_290_240, decimals=1) == "1.2 MiB"
    assert format_size(2 << 20, decimals=1) == "2 MiB"


def test_format_seconds() -> None:
    assert format_seconds(12.3456) == "12.346"
    assert format_seconds(0) == "0.000"
    assert format_seconds(None) == "–"


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("WD-WX41A 5/7 ünïcödé 漢字", "WD-WX41A 5/7 ünïcödé 漢字"),
        ("\x1b[31mred", r"\x1b[31mred"),
        ("\x9b31mred", r"\x9b31mred"),  # the same sequence in one C1 character
        ("a\nb\rc\td", r"a\x0ab\x0dc\x09d"),
        ("nul\0bell\x07del\x7f", r"nul\x00bell\x07del\x7f"),
        ("\u202egnp.exe", r"\x202egnp.exe"),  # right-to-left override
        ("\u2066a\u2069", r"\x2066a\x2069"),
        ("a\u200bb\ufeff", r"a\x200bb\xfeff"),  # without width
        ("a\u00a0b\u2028c\u2029", r"a\xa0b\x2028c\x2029"),
        ("\udc80", r"\xdc80"),  # a byte that was no UTF-8
        ("\ue000\U000f0000", r"\xe000\xf0000"),  # private use
        ("", ""),
    ],
)
def test_printable(text: str, shown: str) -> None:
    assert printable(text) == shown


def test_printable_leaves_nothing_a_terminal_acts_on() -> None:
    shown = printable("".join(map(chr, range(0x3000))) + "\udfff\U000e0001\U0010ffff")
    assert shown.isprintable()
    shown.encode()


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("incoming, rack 4", "incoming-rack-4"),
        ("WD-WX41A_2", "WD-WX41A_2"),
        ("../../etc/passwd", "etc-passwd"),
        ('a"b\\c:d*e?f<g>h|i', "a-b-c-d-e-f-g-h-i"),
        ("\x1b[31m", "31m"),
        ("Büro", "Buro"),
        ("漢字", "x"),
        ("", "x"),
        ("...", "x"),
        ("-rf", "rf"),
        ("a" * 39 + " b", "a" * 39),
        ("größer, Maß", "grosser-Mass"),
        ("CON", "CON_"),
        ("lpt1 ", "lpt1_"),
        ("com10", "com10"),
        ("auxiliary", "auxiliary"),
        ("Aux!", "Aux_"),
        ("1-con", "1-con"),
    ],
)
def test_slug(text: str, name: str) -> None:
    assert slug(text) == name


@pytest.mark.parametrize(
    ("name", "is_one"),
    [("CON", True), ("nul.csv", True), ("aux .csv", True), ("boot.csv", False), ("conn", False)],
)
def test_windows_takes_some_names_for_devices(name: str, *, is_one: bool) -> None:
    assert is_windows_device(name) is is_one


def test_slug_keeps_its_limit() -> None:
    assert slug("x" * 300) == "x" * 40
    assert slug("ab cd", limit=3) == "ab"

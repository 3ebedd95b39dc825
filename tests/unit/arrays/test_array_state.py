# SPDX-License-Identifier: Apache-2.0
import pytest

from appliance.arrays.state import format_amount, parse_amount, parse_choice
from appliance.errors import StepFailedError


@pytest.mark.parametrize(
    ("text", "size_bytes"),
    [
        ("0.0k", 0),
        ("0.5k", 512),
        ("512.0k", 512 << 10),
        ("4.0M", 4 << 20),
        ("34.0M\n", 34 << 20),
        ("0.9M", 943718),
        ("1.0T", 1 << 40),
    ],
)
def test_amounts(text: str, size_bytes: int) -> None:
    assert parse_amount(text) == size_bytes


@pytest.mark.parametrize("text", ["", "512", "1,5M", "-1.0k", "1.5"])
def test_what_is_no_amount_is_said(text: str) -> None:
    with pytest.raises(StepFailedError, match="amount of bytes"):
        parse_amount(text)


@pytest.mark.parametrize(
    ("size_bytes", "text"),
    [
        (0, "0.0k"),
        (512, "0.5k"),
        (1023, "0.9k"),
        (999 << 10, "999.0k"),
        (1000 << 10, "0.9M"),
        (4 << 20, "4.0M"),
        (1 << 40, "1.0T"),
    ],
)
def test_format_is_the_kernels(size_bytes: int, text: str) -> None:
    assert format_amount(size_bytes) == text


def test_choice() -> None:
    assert parse_choice("writethrough [writeback] writearound none") == "writeback"
    assert parse_choice("") == ""

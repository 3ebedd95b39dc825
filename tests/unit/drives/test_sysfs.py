# SPDX-License-Identifier: Apache-2.0
"""Reading and writing kernel files, with files of our own in their place."""

from pathlib import Path

import pytest

from appliance import sysfs
from appliance.errors import StepFailedError


def test_what_the_kernel_does_not_offer_is_empty(tmp_path: Path) -> None:
    assert sysfs.read_bytes(tmp_path / "absent") == b""
    assert sysfs.read_text(tmp_path) == ""


def test_text_comes_without_the_end_of_its_line(tmp_path: Path) -> None:
    file = tmp_path / "size"
    file.write_bytes(b" 512\xff \n")
    assert sysfs.read_text(file) == " 512\ufffd "


def test_writing_gives_the_kernel_exactly_the_text(tmp_path: Path) -> None:
    file = tmp_path / "wakealarm"
    file.touch()
    sysfs.write_text(file, "+60")
    assert file.read_bytes() == b"+60"


def test_a_refused_write_says_what_and_where(tmp_path: Path) -> None:
    with pytest.raises(
        StepFailedError, match=r"the kernel refused '1' for .*/absent: No such file"
    ):
        sysfs.write_text(tmp_path / "absent", "1")

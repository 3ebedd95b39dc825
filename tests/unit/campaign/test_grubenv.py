# SPDX-License-Identifier: Apache-2.0
"""GRUB's environment block keeps its size, whatever is in it."""

import pytest

from appliance.campaign.grubenv import SIZE_BYTES, format_grubenv, parse_grubenv


@pytest.mark.parametrize(
    "values",
    [{}, {"next_entry": "measure-01-chart"}, {"next_entry": "measure-16", "other": "a=b # c"}],
)
def test_round_trip(values: dict[str, str]) -> None:
    block = format_grubenv(values)
    assert len(block) == SIZE_BYTES == 1024
    assert block.startswith(b"# GRUB Environment Block\n")
    assert parse_grubenv(block) == values


def test_as_grub_editenv_writes_it() -> None:
    # grub-editenv FILE create; grub-editenv FILE set next_entry=measure-02
    block = b"# GRUB Environment Block\nnext_entry=measure-02\n".ljust(1024, b"#")
    assert format_grubenv({"next_entry": "measure-02"}) == block
    assert parse_grubenv(block) == {"next_entry": "measure-02"}


def test_an_entry_grub_took_out() -> None:
    # save_env of an empty variable leaves the name there.
    assert parse_grubenv(b"# GRUB Environment Block\nnext_entry=\n".ljust(1024, b"#")) == {
        "next_entry": ""
    }


def test_what_is_damaged_holds_nothing() -> None:
    assert parse_grubenv(b"") == {}
    assert parse_grubenv(b"\xff" * SIZE_BYTES) == {}


def test_what_does_not_fit_is_refused() -> None:
    room = SIZE_BYTES - len("# GRUB Environment Block\nx=\n")
    assert parse_grubenv(format_grubenv({"x": "y" * room})) == {"x": "y" * room}
    with pytest.raises(ValueError, match="does not fit"):
        format_grubenv({"x": "y" * (room + 1)})

# SPDX-License-Identifier: Apache-2.0
"""What is stored of a drive's content, and what is reported of a change."""

from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from appliance.drives.clear import Place
from appliance.drives.own_uuid import make_table_uuid
from appliance.errors import RefusedError, StepFailedError
from appliance.workloads.drive_content import (
    DriveContent,
    Signature,
    describe_change,
    describe_foreign,
    format_content,
    parse_content,
    parse_signatures,
)
from tests.plan_examples import STEADY

_EXT4 = Signature("ext4", "aaaa", 1080)
_NOTED = DriveContent(
    sha256="1", tables=frozenset({"t"}), signatures=frozenset({_EXT4}), making=frozenset({"m"})
)
_PLACES = (Place("/dev/sda", 0, 1 << 30), Place("/dev/sda1", 1 << 20, 1 << 29))


def test_it_is_read_as_it_was_stored() -> None:
    assert parse_content(format_content(_NOTED)) == _NOTED


@pytest.mark.parametrize("text", [None, "", "/", "table-1/ext4"])
def test_what_an_earlier_version_stored_is_none(text: str | None) -> None:
    assert parse_content(text) is None


def test_ends_that_were_not_noted_are_not_compared() -> None:
    noted = DriveContent(tables=_NOTED.tables, signatures=_NOTED.signatures)
    assert not describe_change(_NOTED, noted)
    assert describe_change(noted, _NOTED) == "its first or last sectors are others"


def test_what_was_there_before_and_what_is_ours_is_not_foreign() -> None:
    made = Signature("ext4", "ours", 1080)
    found = DriveContent(tables=frozenset({"t", "u"}), signatures=frozenset({_EXT4, made}))
    assert not describe_foreign(found, _NOTED, {"u", "ours"})
    assert describe_foreign(found, _NOTED, ()) == "the partition table u, ext4 ours at byte 1080"


def test_what_is_in_the_partitions_of_our_own_installation_is_ours() -> None:
    inside = Signature("erofs", "", 1 << 20, in_partition=True)
    beside = Signature("xfs", "", 0)
    tables = frozenset({"install"})
    found = DriveContent(tables=tables, signatures=frozenset({inside}), filled=tables)
    assert not describe_foreign(found, DriveContent(), {"install"})
    assert describe_foreign(found, DriveContent(), ()) == (
        "the partition table install, erofs at byte 1048576"
    )
    both = DriveContent(tables=tables, signatures=frozenset({inside, beside}), filled=tables)
    assert describe_foreign(both, DriveContent(), {"install"}) == "xfs at byte 0"


def test_a_mark_with_partitions_is_foreign_even_where_it_was_noted() -> None:
    tables = frozenset({make_table_uuid()})
    found = DriveContent(tables=tables)
    assert not describe_foreign(found, DriveContent(tables=tables), ())
    used = DriveContent(tables=tables, filled=tables)
    assert describe_foreign(used, DriveContent(tables=tables), tables)


@pytest.mark.parametrize("text", ["[]", "{}", '{"signatures": [{"device": "sdb"}]}', "no"])
def test_what_wipefs_never_says_is_a_failure(text: str) -> None:
    with pytest.raises(StepFailedError, match="no usable list of signatures"):
        parse_signatures(text, _PLACES)


@STEADY
@given(at=st.integers(0, 1 << 16), bit=st.integers(0, 7))
def test_a_bit_that_turned_in_what_was_noted_makes_no_drive_look_untouched(
    at: int, bit: int
) -> None:
    """It is refused as damaged, or noted as other content than is found: never as nothing noted."""
    text = bytearray(format_content(_NOTED).encode())
    text[at % len(text)] ^= 1 << bit
    with suppress(RefusedError):
        assert parse_content(text.decode(errors="replace")) is not None


@pytest.mark.parametrize(
    "text", ["{", "{}", '{"sha256": ""}', "[]}", '{"sha256": "", "tables": 1}']
)
def test_what_was_noted_and_is_damaged_is_told(text: str) -> None:
    with pytest.raises(RefusedError, match="damaged on the stick"):
        parse_content(text)

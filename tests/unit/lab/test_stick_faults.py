# SPDX-License-Identifier: Apache-2.0
from pathlib import Path

import pytest

from tests.lab.campaign import any_loss, describe_stick
from tests.lab.drive_table import DrivesError
from tests.lab.drives import parse_stick
from tests.lab.served_stick import stick_command
from tests.lab.stick_faults import Room, parse_stick_faults


def test_every_form_is_read() -> None:
    faults = parse_stick_faults(["forget-unflushed torn", "read-only@120s", "full@300M"], seed=5)
    assert (faults.loses, faults.forgets_all, faults.seed) == ("torn", False, 5)
    assert faults.read_only_after_s == 120
    assert faults.full_after_bytes == 300 << 20
    assert parse_stick_faults(["forget-unflushed"]).loses == "all"
    assert parse_stick_faults(["forget-all"]).forgets_all
    assert parse_stick_faults([]).loses == "none"


@pytest.mark.parametrize("text", ["forget", "forget-unflushed half", "read-only", "full@", "slow"])
def test_a_mistake_is_named(text: str) -> None:
    with pytest.raises(ValueError, match=r"is none of|size"):
        parse_stick_faults([text])


def test_the_table_stick_of_a_description_is_read() -> None:
    port, faults = parse_stick(
        '[stick]\nport = "ehci"\nfaults = ["forget-all"]\nseed = 7\n[[drive]]\nserial = "A"\n'
    )
    assert port == "ehci"
    assert faults == parse_stick_faults(["forget-all"], seed=7)
    assert parse_stick('[[drive]]\nserial = "A"') == ("xhci", None)
    port, faults = parse_stick("[stick]\nfaults = ['forget-unflushed some']")
    assert port == "xhci"
    assert faults is not None


@pytest.mark.parametrize(
    ("table", "complaint"),
    [
        ("speed = 1", "stick: unknown key 'speed'; allowed: port, faults, seed"),
        ("port = 'isa'", "'isa' is none of xhci, ehci"),
        ("faults = 'x'", "faults must be a list of texts"),
        ("faults = ['x']", "fault 'x' is none of"),
        ("seed = 'x'", "seed must be a number"),
    ],
)
def test_a_mistake_in_the_table_is_named(table: str, complaint: str) -> None:
    with pytest.raises(DrivesError, match=complaint):
        parse_stick(f"[stick]\n{table}")


def test_a_full_stick_takes_what_goes_where_something_was() -> None:
    room = Room(8192)
    assert room.take(0, 4096)
    assert room.take(1 << 30, 512)
    assert not room.take(4096, 4096)
    assert room.take(0, 512)
    assert room.take((1 << 30) + 512, 512)
    assert Room(None).take(0, 1 << 40)


def test_a_stick_by_chance_loses_something_and_says_how_to_repeat_it() -> None:
    assert {any_loss(seed).loses for seed in range(3)} == {"all", "some", "torn"}
    faults = any_loss()
    assert parse_stick_faults(faults.texts, seed=faults.seed) == faults == any_loss(faults.seed)
    assert str(faults.seed) in describe_stick(faults)


def test_its_process_gets_file_seed_and_faults() -> None:
    faults = parse_stick_faults(["full@1G", "forget-all"], seed=9)
    words = stick_command(Path("/o/stick.raw"), faults, socket=Path("/s/stick.sock"))
    for word in ("file=/o/stick.raw", "seed=9", "fault=full@1G", "fault=forget-all"):
        assert word in words

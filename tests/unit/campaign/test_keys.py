"""Any key on any console, tried on pseudo terminals."""

import os
from collections.abc import Iterator

import pytest

from appliance.campaign import keys
from appliance.campaign.keys import Consoles

SOON_S = 0.05
NEVER_S = 600  # far beyond any patience: whoever waits for it fails


@pytest.fixture
def terminals(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[int]]:
    """The person's ends of two consoles."""
    pairs = [os.openpty() for _ in range(2)]
    monkeypatch.setattr(keys, "_CONSOLES", [os.ttyname(console) for _, console in pairs])
    ends = [end for end, _ in pairs]
    for _, console in pairs:
        os.close(console)
    yield ends
    for end in ends:
        os.close(end)


@pytest.mark.parametrize("console", [0, 1])
@pytest.mark.parametrize("key", [b"x", b"\x1b", b"\r", b"\x03", b"\x13", b"\x04", b"\x1a"])
def test_every_key_counts_on_every_console(terminals: list[int], console: int, key: bytes) -> None:
    """Ctrl-C, Ctrl-S, Ctrl-D and Ctrl-Z are keys like any other."""
    with Consoles() as consoles:
        os.write(terminals[console], key)
        assert consoles.key_pressed(within_s=NEVER_S)
        assert not consoles.key_pressed(within_s=SOON_S)


def test_no_key(terminals: list[int]) -> None:
    with Consoles() as consoles:
        assert not consoles.key_pressed(within_s=SOON_S)


def test_what_is_said_reaches_every_console(terminals: list[int]) -> None:
    with Consoles() as consoles:
        consoles.say("power-off in 5 s")
        assert [os.read(end, 100) for end in terminals] == [b"power-off in 5 s\r\n"] * 2


def test_a_console_that_hung_up_is_left_out_and_the_others_stay(terminals: list[int]) -> None:
    with Consoles() as consoles:
        os.close(terminals.pop(0))
        assert not consoles.key_pressed(within_s=SOON_S)
        assert len(consoles._modes) == 1
        os.write(terminals[0], b"x")
        assert consoles.key_pressed(within_s=NEVER_S)


def test_without_a_console_nobody_presses_a_key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(keys, "_CONSOLES", ["/nowhere"])
    with Consoles() as consoles:
        consoles.say("nobody hears it")
        assert not consoles.key_pressed(within_s=SOON_S)

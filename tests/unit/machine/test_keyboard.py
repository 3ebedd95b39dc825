# SPDX-License-Identifier: Apache-2.0
"""Layouts of the screen's keyboard, on a kernel that has no more than the two tables of one key."""

import fcntl
import struct
from pathlib import Path

import pytest
from textual import events
from textual._xterm_parser import XTermParser

from appliance.errors import RefusedError, StepFailedError
from appliance.machine import keyboard
from appliance.machine.keyboard import (
    BUILT_IN,
    load_layout,
    read_stored_layout,
    restore_layout,
    store_layout,
)
from appliance.run import Finished

_TAB = b"\t"
_TAB_KEY = 15
_PLAIN, _SHIFT = 0, 1
_LAYOUT_STRINGS = 46
"""Of all LAYOUTS, `loadkeys --mktable` shows Ctrl+F12 as the highest: F36 is K(KT_FN,45)."""


class _Kernel:
    """What the key Tab sends: `loadkeys` and the two requests of linux/kd.h change it."""

    def __init__(self) -> None:
        self.is_broken = False
        self._strings: dict[int, bytes] = {}
        self._tab = {_PLAIN: _TAB, _SHIFT: _TAB}
        """As in drivers/tty/vt/defkeymap.map."""

    def ioctl(self, _: int, request: int, argument: bytes) -> None:
        if request == 0x4B49:  # KDSKBSENT, struct kbsentry
            number, text = struct.unpack("B512s", argument)
            assert number >= _LAYOUT_STRINGS, "a key of the layout sends this string too"
            self._strings[number] = text.partition(b"\0")[0]
            return
        assert request == 0x4B47  # KDSKBENT, struct kbentry
        table, key, value = struct.unpack("BBH", argument)
        assert (key, value >> 8) == (_TAB_KEY, 1), "only KT_FN sends a string"
        self._tab[table] = self._strings[value & 0xFF]

    def run(self, command: list[str]) -> Finished:
        """Each of Debian's layouts has Tab in both tables (console-data)."""
        if self.is_broken:
            raise StepFailedError("loadkeys failed with code 1")
        assert command[0] == "loadkeys"
        self._tab = {_PLAIN: _TAB, _SHIFT: _TAB}
        return Finished(tuple(command), 0, "", "")

    def read_keys(self) -> list[str]:
        """What the interface takes Tab for, and Tab while Shift is held."""
        parser = XTermParser()
        pressed = b"".join(self._tab[table] for table in (_PLAIN, _SHIFT)).decode()
        return [each.key for each in parser.feed(pressed) if isinstance(each, events.Key)]


@pytest.fixture
def kernel(monkeypatch: pytest.MonkeyPatch) -> _Kernel:
    kernel = _Kernel()
    monkeypatch.setattr(fcntl, "ioctl", kernel.ioctl)
    monkeypatch.setattr(keyboard, "run", kernel.run)
    return kernel


def test_shift_tab_is_a_key_of_its_own_once_the_engine_has_started(
    kernel: _Kernel, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert kernel.read_keys() == ["tab", "tab"]
    for kept in (BUILT_IN, "de"):
        monkeypatch.setattr(keyboard, "read_stored_layout", lambda kept=kept: kept)
        assert restore_layout() == kept
        assert kernel.read_keys() == ["tab", "shift+tab"]


@pytest.mark.parametrize("layout", ["de", BUILT_IN])
def test_shift_tab_stays_one_after_each_choice(kernel: _Kernel, layout: str) -> None:
    load_layout(layout)
    assert kernel.read_keys() == ["tab", "shift+tab"]


def test_shift_tab_stays_one_if_the_kept_layout_cannot_be_loaded(
    kernel: _Kernel, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(keyboard, "read_stored_layout", lambda: "de")
    kernel.is_broken = True
    with pytest.raises(StepFailedError):
        restore_layout()
    assert kernel.read_keys() == ["tab", "shift+tab"]


def test_a_console_that_refuses_it_keeps_its_layout(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert restore_layout() == BUILT_IN  # /dev/null knows no such request
    monkeypatch.setattr(keyboard, "_CONSOLE", tmp_path / "tty1")
    assert restore_layout() == BUILT_IN


def test_a_layout_is_kept_and_a_strange_one_is_not_taken(tmp_path: Path) -> None:
    assert read_stored_layout(folder=tmp_path) == BUILT_IN
    store_layout("de", folder=tmp_path)
    assert read_stored_layout(folder=tmp_path) == "de"
    for strange in (b"../x\n", b"\xff\xfe", b""):
        (tmp_path / "keyboard").write_bytes(strange)
        assert read_stored_layout(folder=tmp_path) == BUILT_IN


def test_an_unknown_layout_is_refused_before_anything_is_started() -> None:
    with pytest.raises(RefusedError, match="there are us, uk, de"):
        load_layout("../../etc/passwd")

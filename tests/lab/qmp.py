# SPDX-License-Identifier: Apache-2.0
"""Talks to a running QEMU: pictures of its screen, keys, the power button."""

import json
import select
import socket
import time
from pathlib import Path
from typing import Any

_CHARACTERS = {
    " ": "spc", "-": "minus", "=": "equal", "[": "bracket_left", "]": "bracket_right",
    "\\": "backslash", ";": "semicolon", "'": "apostrophe", ",": "comma", ".": "dot", "/": "slash",
    "`": "grave_accent", "\n": "ret", "\t": "tab",
}  # fmt: skip
_SHIFTED = dict(zip('!@#$%^&*()_+{}|:"<>?~', "1234567890-=[]\\;',./`", strict=True))


_PATIENCE_S = 300
"""QEMU's main loop takes long to answer where it loads a machine on a busy host."""


class QmpError(Exception):
    """QEMU refused a command or is gone."""


class Qmp:
    """One connection to QEMU's control socket."""

    def __init__(self, path: Path, *, timeout_s: float = _PATIENCE_S) -> None:
        self._socket = _connect(path, timeout_s)
        self._socket.settimeout(timeout_s)
        self._received = b""
        self._events: list[dict[str, Any]] = []
        try:
            self._read()  # the greeting
            self.execute("qmp_capabilities")
        except QmpError:
            self.close()
            raise

    def execute(self, command: str, **arguments: object) -> Any:  # noqa: ANN401 - QEMU's JSON
        """Run one command and return its answer."""
        line = json.dumps({"execute": command, "arguments": arguments}) + "\n"
        try:
            self._socket.sendall(line.encode())
        except OSError as error:
            raise QmpError(f"{command}: {error}") from None
        while True:
            answer = self._read()
            if "error" in answer:
                raise QmpError(f"{command}: {answer['error'].get('desc')}")
            if "return" in answer:
                return answer["return"]

    def wait_event(self, event: str, *, timeout_s: float, **data: object) -> None:
        """Wait until QEMU has reported an event with this data, now or since the last wait for it.

        Raises QmpError when it does not come in time.
        """
        deadline = time.monotonic() + timeout_s
        while not self._take(event, data):
            left_s = deadline - time.monotonic()
            if left_s <= 0 or not self._wait_for_line(left_s):
                raise QmpError(f"no event {event} {data} within {timeout_s:.0f} s")
            self._read()

    def has_told(self, event: str, **data: object) -> bool:
        """Whether QEMU has reported this event with this data by now."""
        try:
            while self._wait_for_line(0):
                self._read()
        except QmpError:
            pass  # it is gone; what it said before counts
        return self._find(event, data) is not None

    def _take(self, event: str, data: dict[str, object]) -> bool:
        found = self._find(event, data)
        if found is not None:
            self._events.remove(found)
        return found is not None

    def _find(self, event: str, data: dict[str, object]) -> dict[str, Any] | None:
        for each in self._events:
            told = each.get("data", {})
            if each["event"] == event and all(told.get(k) == v for k, v in data.items()):
                return each
        return None

    def _wait_for_line(self, timeout_s: float) -> bool:
        return b"\n" in self._received or bool(select.select([self._socket], [], [], timeout_s)[0])

    def _read(self) -> dict[str, Any]:
        while b"\n" not in self._received:
            try:
                more = self._socket.recv(1 << 16)
            except OSError as error:  # a busy host's QEMU may take longer than the timeout
                raise QmpError(f"QEMU does not answer: {error}") from None
            if not more:
                raise QmpError("QEMU closed the connection")
            self._received += more
        line, _, self._received = self._received.partition(b"\n")
        answer: dict[str, Any] = json.loads(line)
        if "event" in answer:
            self._events.append(answer)
        return answer

    def close(self) -> None:
        """Hang up."""
        self._socket.close()


def keys_for(text: str) -> list[list[str]]:
    """QEMU's key codes, one chord per character, for text typed on a US keyboard."""
    chords: list[list[str]] = []
    for character in text:
        plain = _SHIFTED.get(character, character.lower())
        code = _CHARACTERS.get(plain, plain)
        shift = character in _SHIFTED or character.isupper()
        chords.append(["shift", code] if shift else [code])
    return chords


def _connect(path: Path, timeout_s: float) -> socket.socket:
    deadline = time.monotonic() + timeout_s
    while True:
        connection = socket.socket(socket.AF_UNIX)
        try:
            connection.connect(str(path))
        except OSError as error:
            connection.close()
            if time.monotonic() > deadline:
                raise QmpError(f"no QEMU at {path}: {error}") from None
            time.sleep(0.1)
        else:
            return connection

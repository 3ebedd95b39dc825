"""Talks to a running QEMU: pictures of its screen, keys, the power button."""

import json
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


class QmpError(Exception):
    """QEMU refused a command or is gone."""


class Qmp:
    """One connection to QEMU's control socket."""

    def __init__(self, path: Path, *, timeout_s: float = 30) -> None:
        self._socket = _connect(path, timeout_s)
        self._socket.settimeout(timeout_s)
        self._stream = self._socket.makefile("rw", encoding="utf-8")
        self._read()  # the greeting
        self.execute("qmp_capabilities")

    def execute(self, command: str, **arguments: object) -> Any:  # noqa: ANN401 - QEMU's JSON
        """Run one command and return its answer."""
        try:
            self._stream.write(json.dumps({"execute": command, "arguments": arguments}) + "\n")
            self._stream.flush()
            while True:
                answer = self._read()
                if "error" in answer:
                    raise QmpError(f"{command}: {answer['error'].get('desc')}")
                if "return" in answer:
                    return answer["return"]
        except OSError as error:
            raise QmpError(f"{command}: {error}") from None

    def _read(self) -> dict[str, Any]:
        line = self._stream.readline()
        if not line:
            raise QmpError("QEMU closed the connection")
        answer: dict[str, Any] = json.loads(line)
        return answer

    def close(self) -> None:
        """Hang up."""
        self._stream.close()
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

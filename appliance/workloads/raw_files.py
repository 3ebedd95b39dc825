# SPDX-License-Identifier: Apache-2.0
"""Files of a step in its raw folder on the stick; an error there is never blamed on the drive."""

import json
import zlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from appliance.errors import StickError
from appliance.flush import replace_file, sync_path
from appliance.phrases import N_, Phrase


@contextmanager
def stick_trouble(path: Path) -> Iterator[None]:
    """Around all that is written at `path`. Raises StickError for what the system refuses."""
    try:
        yield
    except OSError as error:
        raise StickError(
            Phrase(
                N_("{path} cannot be written: {error}"), path=path, error=error.strerror or error
            ),
            hint=N_("the stick is full or failing"),
        ) from error


def seal(content: Mapping[str, object]) -> str:
    """As JSON with a checksum: one bit that turns on the stick makes a figure another one. Pure."""
    text = json.dumps(content)
    return json.dumps({**json.loads(text), "crc32": zlib.crc32(text.encode())})


def unseal(text: str | bytes) -> dict[str, Any]:
    """What was sealed. Pure. Raises ValueError for whatever was not, or is not as it was."""
    content = json.loads(text)
    if not isinstance(content, dict):
        raise ValueError("it holds no fields")
    checksum = content.pop("crc32", None)
    if checksum != zlib.crc32(json.dumps(content).encode()):
        raise ValueError("it is not what was stored")
    return content


def keep(path: Path, text: str) -> None:
    """`write_durably` for what a step remembers. Raises StickError."""
    with stick_trouble(path):
        write_durably(path, text)


def read_list(path: Path) -> list[Any]:
    """What a step remembers as a JSON list; empty where it does not."""
    try:
        content = json.loads(path.read_text())
    except (OSError, ValueError):
        return []
    return content if isinstance(content, list) else []


def write_durably(path: Path, content: str | bytes) -> None:
    """Replace the file so that after power loss there is the old content or the new one.

    Raises OSError.
    """
    replace_file(path, content.encode() if isinstance(content, str) else content)
    sync_path(path.parent)

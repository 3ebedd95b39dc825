# SPDX-License-Identifier: Apache-2.0
"""What lay in /sys when a machine or a drive was captured, laid out again."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any


def lay_out(captured: Mapping[str, Any], folder: Path) -> None:
    """Make the capture's `files` and `links` below `folder`."""
    for name, text in captured["files"].items():
        file = folder / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(text.encode("latin-1"))
    for name, target in captured["links"].items():
        link = folder / name
        link.parent.mkdir(parents=True, exist_ok=True)
        (folder / target).mkdir(parents=True, exist_ok=True)
        link.symlink_to(folder / target)

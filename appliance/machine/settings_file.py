# SPDX-License-Identifier: Apache-2.0
"""A one-word setting in its own file on the stick, which survives power-off."""

from collections.abc import Container
from pathlib import Path


def write_setting(name: str, choice: str, *, folder: Path) -> None:
    """Remember it for the next start. Raises OSError."""
    new = folder / f"{name}.new"
    new.write_text(f"{choice}\n")
    new.replace(folder / name)


def read_setting(name: str, known: Container[str], *, otherwise: str, folder: Path) -> str:
    """What was kept; `otherwise` where nothing was, or nothing that is known."""
    try:
        value = (folder / name).read_text().strip()
    except (OSError, UnicodeDecodeError):
        return otherwise
    return value if value in known else otherwise

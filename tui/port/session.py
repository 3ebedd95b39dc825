# SPDX-License-Identifier: Apache-2.0
"""What survives a restart of the interface: each terminal's page, the last error; the manual.

All of it in RAM or on the read-only system, so it may be read and written at any moment.
"""

import json
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path

_MANUAL = Path("/usr/share/kaltstart/manual")
_PROJECT = Path(__file__).parents[2]
MANUAL_ORDER = ("field-guide.md", "cold.md", "plan.md", "policy.md", "command.md", "console.md")


@dataclass(frozen=True, slots=True)
class PageState:
    """What one terminal's interface left behind."""

    page: str = ""
    crash: str = ""
    """What went wrong; empty where it was ended from outside."""


class PageStateFile:
    """One terminal's file in `folder`."""

    def __init__(self, folder: Path, terminal: str) -> None:
        self._path = folder / f"page-{terminal or 'none'}.json"

    def read(self) -> PageState:
        """What was left behind; nothing where there is none, or none of ours."""
        try:
            value = json.loads(self._path.read_text())
            return PageState(page=str(value["page"]), crash=str(value["crash"]))
        except (OSError, ValueError, LookupError, TypeError):
            return PageState()

    def write(self, state: PageState) -> None:
        """Replace it."""
        with suppress(OSError):  # a trial on another machine: nothing comes back there
            new = self._path.with_suffix(".new")
            new.write_text(json.dumps(asdict(state)))
            new.replace(self._path)


def read_manual(folder: Path | None = None) -> tuple[str, ...]:
    """The Markdown of each document on the stick; the project's own in a trial elsewhere."""
    place = folder or _MANUAL
    documents = [*place.glob("*.md")]
    if not documents and folder is None:
        documents = [*(_PROJECT / "docs/manual").glob("*.md"), _PROJECT / "README.md"]
    paths = sorted(documents, key=_place_in_order)
    return tuple(path.read_text(encoding="utf-8") for path in paths)


def _place_in_order(path: Path) -> tuple[int, str]:
    return (
        MANUAL_ORDER.index(path.name) if path.name in MANUAL_ORDER else len(MANUAL_ORDER),
        path.name,
    )

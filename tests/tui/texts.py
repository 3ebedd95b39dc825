# SPDX-License-Identifier: Apache-2.0
"""The texts of the interface, its own and the engine's, and the German of `tui/locale/de.po`."""

import ast
from collections.abc import Iterator
from pathlib import Path

from babel.messages.catalog import Catalog, Message
from babel.messages.mofile import write_mo
from babel.messages.pofile import read_po

import appliance
import tui
from appliance.kinds import KINDS, load
from appliance.plan.model import ALL_TABLES

ENGINE = Path(appliance.__path__[0])
TUI = Path(tui.__path__[0])
LOCALE = TUI / "locale"
_MARKERS = {"_": 1, "N_": 1, "ngettext": 2}
"""What marks a text, and how many of its arguments are texts."""

type Text = str | tuple[str, str]
"""As it is in the source; with a plural if it has one."""


def list_texts() -> set[Text]:
    """Every text that is marked for translation, and the words of the plan's keys."""
    texts = {
        text for path in (*TUI.rglob("*.py"), *ENGINE.rglob("*.py")) for text in _list_marked(path)
    }
    keys = [each for table in ALL_TABLES.values() for each in table.keys.values()]
    more = [each.in_more for each in keys if each.in_more]
    rows = [each.in_row for each in keys if each.in_row]
    plans = [load(kind, "keys") for kind in KINDS]
    words = {each.brief for each in keys} | {each.label for each in (*rows, *plans)}
    words |= {each.does for each in plans} | {text for row in rows for text in row.words.values()}
    words |= {text for each in more for text in (each.does, each.absent)}
    return texts | words - {""}


def _list_marked(path: Path) -> Iterator[Text]:
    for node in ast.walk(ast.parse(path.read_text())):
        if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Name)):
            continue
        texts = node.args[: _MARKERS.get(node.func.id, 0)]
        found = [
            each.value
            for each in texts
            if isinstance(each, ast.Constant) and isinstance(each.value, str)
        ]
        if found and len(found) == len(texts):
            yield found[0] if len(found) == 1 else (found[0], found[1])


def read_catalogue(language: str) -> Catalog:
    """What the repository has of it."""
    with (LOCALE / f"{language}.po").open("rb") as file:
        return read_po(file, locale=language, abort_invalid=True)


def list_messages(catalogue: Catalog) -> list[Message]:
    """Without the header."""
    return [each for each in catalogue if each.id]


def compile_catalogues(folder: Path) -> None:
    """All of them, as `ci/build` does it for the image."""
    for source in LOCALE.glob("*.po"):
        place = folder / source.stem / "LC_MESSAGES"
        place.mkdir(parents=True)
        with (place / "kaltstart.mo").open("wb") as file:
            write_mo(file, read_catalogue(source.stem))

# SPDX-License-Identifier: Apache-2.0
"""What commands print: harmless to a terminal, whatever a drive or a plan calls itself."""

import json
from collections.abc import Mapping, Sequence
from typing import TextIO

from appliance.units import printable

JSON_VERSION = 1
"""Of every document that `--json` prints; fields may be added without a new one."""


def say(text: object, *, to: TextIO | None = None) -> None:
    """Print `text` without anything that a terminal acts on but line ends.

    What a drive or a plan says must not make lines: `printable` is the caller's then.
    """
    for line in str(text).split("\n"):
        print(printable(line), file=to)


def say_json(**fields: object) -> None:
    """One document, its version first. JSON's own escapes make it harmless."""
    print(json.dumps({"version": JSON_VERSION, **fields}, indent=2))


def say_table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Columns as wide as their widest cell; the last one as long as it is."""
    lines = [tuple(printable(cell.replace("\n", " ")) for cell in row) for row in (head, *rows)]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    for line in lines:
        cells = [cell.ljust(width) for cell, width in zip(line, widths, strict=True)]
        print("  ".join(cells).rstrip())


def show_fields(record: Mapping[str, object], names: Sequence[str]) -> tuple[str, ...]:
    """Of a row the cells of these columns; `-` where there is no value."""
    return tuple(_show_field(record[name]) for name in names)


def _show_field(value: object) -> str:
    """A figure as people read it: three decimals, or three digits of what is below 1.

    All digits are in the documents and in CSV.
    """
    if value is None or value == "":
        return "-"
    if not isinstance(value, float):
        return str(value)
    if value.is_integer():
        return f"{value:.0f}"
    return f"{value:.3f}" if abs(value) >= 1.0 else f"{value:.3g}"

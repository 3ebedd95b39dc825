# SPDX-License-Identifier: Apache-2.0
"""The manual's list of console lines: every event that the engine announces, and no other."""

import ast
import re
from pathlib import Path

_REPO = Path(__file__).resolve().parents[2]


def _list_announced() -> dict[str, set[str]]:
    """Event → names of the fields that a call gives it."""
    found: dict[str, set[str]] = {}
    for source in (_REPO / "appliance").rglob("*.py"):
        for node in ast.walk(ast.parse(source.read_text())):
            if not isinstance(node, ast.Call) or not node.args:
                continue
            name = node.func.attr if isinstance(node.func, ast.Attribute) else ""
            name = node.func.id if isinstance(node.func, ast.Name) else name
            if name.lstrip("_") != "announce":
                continue
            events = [
                each.value for each in ast.walk(node.args[0]) if isinstance(each, ast.Constant)
            ]
            for event in events:
                fields = found.setdefault(str(event), set())
                fields |= {each.arg for each in node.keywords if each.arg}
    return found


def test_every_console_line_is_in_the_manual_with_its_fields() -> None:
    text = (_REPO / "docs/manual/console.md").read_text()
    rows = re.findall(r"^\| `([a-z-]+)` \| (.*?) \| ", text, flags=re.MULTILINE)
    listed = dict(rows)
    announced = _list_announced()
    assert len(rows) == len(listed)
    assert set(listed) == set(announced)
    for event, fields in announced.items():
        for field in fields:
            assert re.search(rf"`{field}[`=]", listed[event]), (event, field)

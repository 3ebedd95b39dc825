"""What may import what, read from the source."""

import ast
from collections.abc import Iterator
from pathlib import Path

import tui

ROOT = Path(tui.__file__).parent
PORT = ROOT / "port"
ROWS = "appliance.store.read."
"""The rows themselves are plain data; a connection is the port's alone."""


def imported(source: Path, *, at_once: bool = False) -> Iterator[str]:
    """What a module imports; `at_once`: leaving out what its functions import when called."""
    tree = ast.parse(source.read_text())
    for node in tree.body if at_once else ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (name.name for name in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield node.module or ""


def test_only_the_port_knows_the_engine_and_blocking_libraries() -> None:
    for source in ROOT.rglob("*.py"):
        if source.parent == PORT:
            continue
        tops = {name.split(".")[0] for name in imported(source) if not name.startswith(ROWS)}
        assert not tops & {"appliance", "sqlite3", "json", "subprocess", "pathlib"}, source


def test_the_port_does_not_load_what_is_slow_to_start() -> None:
    slow = {"appliance.plan", "appliance.plan_schema", "appliance.report", "pydantic"}
    for source in PORT.glob("*.py"):
        assert not slow & set(imported(source, at_once=True)), source

"""What may import what, read from the source."""

import ast
from collections.abc import Iterator
from pathlib import Path

import tui
from tui.port import LATER

ROOT = Path(tui.__file__).parent
PORT = ROOT / "port"


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
        tops = {name.split(".")[0] for name in imported(source)}
        assert not tops & {"appliance", "sqlite3", "json", "subprocess", "pathlib"}, source


def test_the_port_does_not_load_what_is_slow_to_start() -> None:
    for source in PORT.glob("*.py"):
        if source.stem not in {each.rpartition(".")[2] for each in LATER}:
            names = imported(source, at_once=True)
            assert not any(each.startswith("appliance.report") for each in names), source

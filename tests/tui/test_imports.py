# SPDX-License-Identifier: Apache-2.0
"""What may import what, read from the source."""

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import tui
from tui.port import DEFERRED

ROOT = Path(tui.__file__).parent
PORT = ROOT / "port"
DATA = (
    "appliance.store.",
    "appliance.samples.model",
    "appliance.samples.variants",
    "appliance.samples.health",
    "appliance.drives.model",
)
"""Plain data, whose classes may be known everywhere; who reads them is the port."""


@cache
def parse(source: Path) -> ast.Module:
    """What a module holds: asked for each name that it imports."""
    return ast.parse(source.read_text())


def imported(source: Path, *, at_once: bool = False) -> Iterator[str]:
    """What a module imports; `at_once`: leaving out what its functions import when called."""
    tree = parse(source)
    for node in tree.body if at_once else ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (name.name for name in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield node.module or ""


def is_data(source: Path, module: str) -> bool:
    """Whether nothing but classes and constants is imported from a module of plain data."""
    names = [
        name.name
        for node in ast.walk(parse(source))
        if isinstance(node, ast.ImportFrom) and node.module == module
        for name in node.names
    ]
    is_of_a_kind = re.fullmatch(r"appliance\.workloads\.\w+\.keys", module)
    return bool(module.startswith(DATA) or is_of_a_kind) and all(
        name[0].isupper() for name in names
    )


def test_only_the_port_knows_the_engine_and_blocking_libraries() -> None:
    for source in ROOT.rglob("*.py"):
        if source.parent == PORT:
            continue
        tops = {name.split(".")[0] for name in imported(source) if not is_data(source, name)}
        assert not tops & {"appliance", "sqlite3", "json", "subprocess", "pathlib"}, source


def test_the_port_does_not_load_what_is_slow_to_start() -> None:
    for source in PORT.glob("*.py"):
        if source.stem not in {each.rpartition(".")[2] for each in DEFERRED}:
            names = imported(source, at_once=True)
            slow = ("appliance.report", "appliance.plan", "appliance.campaign", *DEFERRED)
            assert not any(each.startswith(slow) for each in names), source

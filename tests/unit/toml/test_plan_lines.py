# SPDX-License-Identifier: Apache-2.0
"""Key path to line, in every way TOML can be written."""

import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

from appliance.problem import KeyPath
from appliance.toml.lines import find_lines, line_of

PLANS = Path(__file__).parents[2] / "fixtures/plans"


def paths_in(data: object, path: KeyPath = ()) -> Iterator[KeyPath]:
    if path:
        yield path
    if isinstance(data, dict):
        for key, value in data.items():
            yield from paths_in(value, (*path, key))
    elif isinstance(data, list):
        for index, value in enumerate(data):
            yield from paths_in(value, (*path, index))


@pytest.mark.parametrize(
    ("text", "path", "line"),
    [
        ("# a = 1\n\na = 1", ("a",), 3),
        ("[t] # [u]\nx = 1 # [v]\ny = 2", ("t", "y"), 3),
        ("[t]\n\n[t.u]\nx = 1", ("t", "u"), 3),
        ("[ t . 'u' ]\nx = 1", ("t", "u", "x"), 2),
        ('"a\\u0062 [c]" = 1', ("ab [c]",), 1),
        ("x = 0\nt.'u'.\"v\" = 1", ("t", "u", "v"), 2),
        ("[[d]]\nk = 1\n[[d]]\nk = 2", ("d", 1, "k"), 4),
        ("[[d]]\n[[d.e]]\n[[d.e]]\nk = 1\n[[d]]\n[[d.e]]\nk = 2", ("d", 1, "e", 0, "k"), 7),
        ("[[d]]\n[d.e]\nk = 1", ("d", 0, "e", "k"), 3),
        ("d = [\n # [[\n {k = 1},\n {k = 2}\n]", ("d", 1, "k"), 4),
        ("a = [[1,\n2], [\n3]]", ("a", 1, 0), 3),
        ("t = {u = {v = 1}, w = []}\nx = 1", ("t", "u", "v"), 1),
        ('a = """\nb = 1\n""" # c\nb = 2', ("b",), 4),
        ("a = '''\nb = 1\n''''\nb = 2", ("b",), 4),
        ('a = """x\\"""\nb = 1"""""\nb = 2', ("b",), 3),
        ('a = \'\'\nb = ""\nc = """"""\nd = 1', ("d",), 4),
        ('a = "x # \\" y"\nb = 1', ("b",), 2),
        ("a = 1979-05-27 07:32:00\r\nb = 1\r\n", ("b",), 2),
    ],
)
def test_a_key_is_found(text: str, path: KeyPath, line: int) -> None:
    lines = find_lines(text)
    assert lines[path] == line
    assert set(paths_in(tomllib.loads(text))) <= set(lines)


@pytest.mark.parametrize(
    "name", ["valid/contract", "valid/inline", "valid/workloads", "invalid/unknown-keys"]
)
def test_every_key_of_the_sample_plans_is_found(name: str) -> None:
    text = (PLANS / f"{name}.toml").read_text()
    assert set(paths_in(tomllib.loads(text))) <= set(find_lines(text))


def test_a_missing_key_has_the_line_of_its_table() -> None:
    lines = find_lines("\n[[d]]\n[[d]]\nk = 1\n")
    assert line_of(("d", 1, "missing"), lines) == 3
    assert line_of(("missing",), lines) == 1


@pytest.mark.parametrize(
    "text", ["a = [", "a = [1, }", "a = {b", "[a", "=", 'a = "', "a." * 99 + "a = 1", "a"]
)
def test_what_is_not_understood_is_left_out(text: str) -> None:
    assert set(find_lines(f"x = 1\n{text}")) >= {("x",)}

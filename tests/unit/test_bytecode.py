# SPDX-License-Identifier: Apache-2.0
"""Modules that are loaded from one file."""

import importlib
import marshal
import sys
from importlib.resources import files
from inspect import getsource
from pathlib import Path

import pytest

from appliance.bytecode import Module, load_from, write_modules

_SOURCES = {
    "kaltstart_together": "from kaltstart_together import part\n",
    "kaltstart_together.part": "ANSWER = 42\n\n\ndef add(a):\n    return a + ANSWER\n",
}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A package and its data in a folder in which Python does not look."""
    monkeypatch.setattr(sys, "meta_path", list(sys.meta_path))
    for name in _SOURCES:
        monkeypatch.delitem(sys.modules, name, raising=False)
    package = tmp_path / "kaltstart_together"
    package.mkdir()
    (package / "__init__.py").write_text(_SOURCES["kaltstart_together"])
    (package / "part.py").write_text(_SOURCES["kaltstart_together.part"])
    (package / "data.txt").write_text("data")
    return tmp_path


def _write(folder: Path) -> Path:
    package = folder / "kaltstart_together"
    sources = {"kaltstart_together": package / "__init__.py"}
    sources["kaltstart_together.part"] = package / "part.py"
    written = folder / "bytecode"
    write_modules(
        written,
        (
            Module(
                name,
                str(path),
                marshal.dumps(compile(path.read_text(), str(path), "exec")),
                is_package=path.stem == "__init__",
            )
            for name, path in sources.items()
        ),
    )
    return written


def test_a_package_is_loaded_with_its_modules_and_its_data(folder: Path) -> None:
    load_from(str(_write(folder)))
    package = importlib.import_module("kaltstart_together")
    assert package.part.add(1) == 43
    assert package.part.__file__ == str(folder / "kaltstart_together/part.py")
    assert files("kaltstart_together").joinpath("data.txt").read_text() == "data"


def test_what_is_told_of_an_error_has_the_lines_of_the_source(folder: Path) -> None:
    load_from(str(_write(folder)))
    part = importlib.import_module("kaltstart_together.part")
    assert getsource(part.add) == "def add(a):\n    return a + ANSWER\n"


def test_the_code_is_that_of_the_file_and_not_compiled_from_the_source(folder: Path) -> None:
    written = _write(folder)
    (folder / "kaltstart_together/part.py").write_text("no Python")
    load_from(str(written))
    assert importlib.import_module("kaltstart_together").part.ANSWER == 42


@pytest.mark.parametrize("spoil", ["missing", "another Python's"])
def test_without_a_file_of_this_python_nothing_changes(spoil: str, folder: Path) -> None:
    written = _write(folder)
    if spoil == "missing":
        written.unlink()
    else:
        written.write_bytes(b"\0\0\r\n" + written.read_bytes()[4:])
    before = list(sys.meta_path)
    load_from(str(written))
    assert sys.meta_path == before

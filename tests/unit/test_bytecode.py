# SPDX-License-Identifier: Apache-2.0
"""Modules that are loaded from one file."""

import dataclasses
import importlib
import marshal
import sys
from collections.abc import Mapping
from importlib.resources import files
from inspect import getsource
from pathlib import Path
from types import CodeType
from typing import Any

import pytest

from appliance.bytecode import Module, load_from, write_modules

_SOURCES = {
    "kaltstart_together": "from kaltstart_together import part\n",
    "kaltstart_together.part": "ANSWER = 42\n\n\ndef add(a):\n    return a + ANSWER\n",
    "kaltstart_together.row": (
        "from dataclasses import dataclass\n\n\n@dataclass\nclass Row:\n    size_bytes: int\n"
    ),
}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A package and its data in a folder in which Python does not look."""
    monkeypatch.setattr(sys, "meta_path", list(sys.meta_path))
    monkeypatch.setattr(dataclasses, "exec", exec, raising=False)
    for name in _SOURCES:
        monkeypatch.delitem(sys.modules, name, raising=False)
    package = tmp_path / "kaltstart_together"
    package.mkdir()
    (package / "__init__.py").write_text(_SOURCES["kaltstart_together"])
    for name in ("part", "row"):
        (package / f"{name}.py").write_text(_SOURCES[f"kaltstart_together.{name}"])
    (package / "data.txt").write_text("data")
    return tmp_path


def _write(folder: Path, compiled: Mapping[str, Mapping[str, CodeType]] | None = None) -> Path:
    package = folder / "kaltstart_together"
    sources = {"kaltstart_together": package / "__init__.py"}
    sources |= {f"kaltstart_together.{name}": package / f"{name}.py" for name in ("part", "row")}
    written = folder / "bytecode"
    write_modules(
        written,
        (
            Module(
                name,
                str(path),
                marshal.dumps(compile(path.read_text(), str(path), "exec")),
                is_package=path.stem == "__init__",
                compiled=(compiled or {}).get(name, {}),
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


_ROW = "kaltstart_together.row"


def _note_text(monkeypatch: pytest.MonkeyPatch) -> str:
    """What is executed for a dataclass such as `Row`."""
    texts = []

    def note(text: str, module: dict[str, Any], names: dict[str, Any]) -> None:
        texts.append(text)
        exec(text, module, names)  # noqa: S102  # dataclasses' own text

    with monkeypatch.context() as patch:
        patch.setattr(dataclasses, "exec", note, raising=False)
        dataclasses.dataclass(type("Row", (), {"__annotations__": {"size_bytes": int}}))
    (text,) = texts
    return text


def _mark(text: str) -> CodeType:
    """The code of a text, whose representation tells that it comes from the file."""
    marked = text.replace("(size_bytes=", "(from_the_file=")
    assert marked != text
    return compile(marked, "<string>", "exec")


def test_a_dataclass_takes_its_methods_from_the_file(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = _note_text(monkeypatch)
    load_from(str(_write(folder, {_ROW: {text: _mark(text)}})))
    row = importlib.import_module(_ROW).Row(3)
    assert repr(row) == "Row(from_the_file=3)"
    assert row.size_bytes == 3


@pytest.mark.parametrize("module", ["another module's", "another text's"])
def test_what_the_file_has_for_others_is_not_taken(
    module: str, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = _note_text(monkeypatch)
    compiled = (
        {"kaltstart_together.part": {text: _mark(text)}}
        if module == "another module's"
        else {_ROW: {f"{text} ": _mark(text)}}
    )
    load_from(str(_write(folder, compiled)))
    assert repr(importlib.import_module(_ROW).Row(3)) == "Row(size_bytes=3)"


def test_a_class_of_no_module_of_the_file_is_made_as_ever(folder: Path) -> None:
    load_from(str(_write(folder)))
    for module in (__name__, "of no module"):
        made = dataclasses.make_dataclass("Made", [("size_bytes", int)], module=module)
        assert repr(made(3)) == "Made(size_bytes=3)"


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

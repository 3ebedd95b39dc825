# SPDX-License-Identifier: Apache-2.0
"""The modules of engine and interface in one file, in the order in which they are loaded.

Hundreds of modules are hundreds of searches in five folders, and hundreds of small reads from a
compressed file system on a USB stick, for the engine and for each console. The image's build writes
the file (ci/bytecode.py); the sources, and what is not in it, lie in their folders as ever. Which
programs read it: mkosi.extra/usr/lib/kaltstart/site. Figures: docs/decisions/044.

A dataclass's methods are written as text by `dataclasses`, and compiled at each import. The file
has them compiled, too: for the same text of the same module.
"""

import dataclasses
import gc
import marshal
import mmap
import sys
from collections.abc import Iterable, Mapping, Sequence
from importlib.machinery import ModuleSpec, SourceFileLoader
from importlib.util import MAGIC_NUMBER, spec_from_file_location
from types import CodeType, ModuleType
from typing import TYPE_CHECKING, Any, NamedTuple, override

if TYPE_CHECKING:
    from pathlib import Path

HEADER_SIZE_BYTES = 16
"""Of a .pyc file, before its code: magic number, flags, and two words on its source (PEP 552)."""

_FORMAT = 2
"""Of `marshal`. Later ones note which objects are shared, which may differ between builds."""

type _Place = tuple[str, bool, int, int, int]
"""A module's source, whether it is a package, where its code begins, and where its compiled texts
begin and end."""


class Module(NamedTuple):
    """One compiled module."""

    name: str
    source: str
    """Its path on the stick."""
    code: bytes
    """As `marshal` writes it."""
    is_package: bool
    compiled: Mapping[str, CodeType]
    """What `dataclasses` executes for it, by its text."""


def write_modules(path: "Path", modules: Iterable[Module]) -> None:
    """Write `modules` to `path`: Python's magic number, the places of all, and their code."""
    places: dict[str, _Place] = {}
    codes = []
    end = 0
    for module in modules:
        texts = marshal.dumps(dict(module.compiled), _FORMAT)
        begin, middle = end, end + len(module.code)
        end = middle + len(texts)
        places[module.name] = (module.source, module.is_package, begin, middle, end)
        codes += [module.code, texts]
    path.write_bytes(MAGIC_NUMBER + marshal.dumps(places, _FORMAT) + b"".join(codes))


def load_from(path: str) -> None:
    """From now on load modules from the file at `path`, if it has them.

    Nothing changes where there is none, or where another Python wrote it.
    """
    try:
        with open(path, "rb") as file:  # noqa: PTH123  # pathlib would have to be loaded first
            if file.read(len(MAGIC_NUMBER)) != MAGIC_NUMBER:
                return
            places = marshal.load(file)  # noqa: S302  # it lies beside the programs, as read-only
            begin = file.tell()
            content = mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ)
    except OSError:
        return
    content.madvise(mmap.MADV_WILLNEED)
    finder = _Finder(places, memoryview(content)[begin:])
    sys.meta_path.insert(0, finder)
    # Its name for the built-in function. A later Python without it compiles as ever.
    vars(dataclasses)["exec"] = finder.run_text


def collect_garbage() -> None:
    """From now on look for garbage, but not among what has been loaded: that stays.

    The file's readers do without until they are loaded (mkosi.extra/usr/lib/kaltstart/site), as
    looking through hundreds of thousands of objects again and again took 7 % of the time.
    """
    gc.freeze()
    gc.enable()


class _Finder:
    def __init__(self, places: Mapping[str, _Place], codes: memoryview) -> None:
        self._places = places
        self._codes = codes
        self._module = ""
        self._compiled: Mapping[str, CodeType] = {}
        """Of that module: its classes are made one after another."""

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """As `importlib.abc.MetaPathFinder` has it, which need not be loaded for it."""
        del path, target
        place = self._places.get(name)
        if place is None:
            return None
        source, is_package, begin, middle, _ = place
        return spec_from_file_location(
            name,
            source,
            loader=_Loader(name, source, self._codes[begin:middle]),
            submodule_search_locations=[source.rpartition("/")[0]] if is_package else None,
        )

    def run_text(self, text: str, module: dict[str, Any], names: dict[str, Any]) -> None:
        """As `exec`, but that a text of the file is not compiled again."""
        name = module.get("__name__", "")  # none, where a class says that it is of no module
        if name != self._module:
            self._module, self._compiled = name, {}
            if name in self._places:
                *_, middle, end = self._places[name]
                self._compiled = marshal.loads(self._codes[middle:end])  # noqa: S302  # it lies beside the programs, as read-only
        exec(self._compiled.get(text, text), module, names)  # noqa: S102  # dataclasses' own text


class _Loader(SourceFileLoader):
    """As of a module in its folder, where its source and its data are, but for its code."""

    def __init__(self, name: str, path: str, code: memoryview) -> None:
        super().__init__(name, path)
        self._code = code

    @override
    def get_code(self, fullname: str) -> CodeType:
        code: CodeType = marshal.loads(self._code)  # noqa: S302  # it lies beside the programs, as read-only
        return code

# SPDX-License-Identifier: Apache-2.0
"""Writes the one file that engine and interface load their modules from (appliance/bytecode.py).

Usage: python3 -I -S ci/bytecode.py ROOT, the image's root, in which all Python is compiled. It
loads both programs, and takes the compiled modules in the order in which they came. What it misses
is loaded from its own file, as ever.
"""

import dataclasses
import importlib
import os
import sys
from importlib.util import cache_from_source
from pathlib import Path
from types import CodeType
from typing import Any

_HOME = "usr/lib/kaltstart"
# What `tui/__main__.py` loads, the pages behind the first one, and what `appliance engine` loads.
_LOADED = (
    *("tui.__main__", "tui.app", "tui.port.kernel_log", "tui.terminal.driver"),
    *("tui.drives.page", "tui.plan.page", "tui.run.page", "tui.results.page", "tui.machine.page"),
    "appliance.service.engine",
)


def main(root: Path) -> None:
    """Load all of it, and write what was loaded."""
    home = root / _HOME
    sys.path[:0] = [str(home), str(home / "vendor")]
    sys.dont_write_bytecode = True
    # As the interface has it (tui/__main__.py).
    sys.modules["ssl"] = None  # type: ignore[assignment]  # None: it cannot be imported
    os.environ["TEXTUAL_ANIMATIONS"] = "none"
    compiled = _note_texts()
    for name in _LOADED:
        importlib.import_module(name)
    if not compiled:
        sys.exit("dataclasses executes no text: then appliance/bytecode.py need not keep any")
    from appliance.bytecode import HEADER_SIZE_BYTES, Module, write_modules  # noqa: PLC0415  # ROOT's

    modules = []
    for name, module in tuple(sys.modules.items()):
        spec = getattr(module, "__spec__", None)
        if spec is None or spec.name != name or not (spec.origin or "").endswith(".py"):
            continue  # built in, in C, this script, or another name of a module
        source = spec.origin.removeprefix(str(root))
        cached = root / cache_from_source(source).lstrip("/")
        if cached.exists():
            code = cached.read_bytes()[HEADER_SIZE_BYTES:]
            is_package = spec.submodule_search_locations is not None
            modules.append(Module(name, source, code, is_package, compiled.get(name, {})))
    write_modules(home / "bytecode", modules)


def _note_texts() -> dict[str, dict[str, CodeType]]:
    """From now on note what `dataclasses` executes, by module and text."""
    noted: dict[str, dict[str, CodeType]] = {}

    def execute(text: str, module: dict[str, Any], names: dict[str, Any]) -> None:
        code = compile(text, "<string>", "exec", dont_inherit=True)
        noted.setdefault(module["__name__"], {})[text] = code
        exec(code, module, names)  # noqa: S102  # dataclasses' own text

    vars(dataclasses)["exec"] = execute
    return noted


if __name__ == "__main__":
    main(Path(sys.argv[1]).resolve())

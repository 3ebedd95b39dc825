"""TOML that people wrote, read with patience: every mistake named with its line. Pure.

Owns reading a text as TOML and the words for what is wrong with it; what the keys mean is the
caller's. `kind` is what the text is meant to be: "plan", "policy".
"""

import re
import tomllib
from collections.abc import Iterable, Sequence
from typing import Any

from appliance.errors import PlanError
from appliance.plan_lines import Path, find_lines, line_of
from appliance.units import printable

MAX_BYTES = 64 << 10
"""More than a plan for a hundred drives needs; 1 MiB of tables takes 10 s to check."""
MAX_PROBLEMS = 100
# tomllib takes quadratic time for a key of very many parts.
_LONG_KEY = re.compile(
    r"""(?<![\w-])(?:(?:[\w-]++|"[^"\n]*+"|'[^'\n]*+')[ \t]*+\.[ \t]*+){64}""", re.ASCII
)


def decode(raw: bytes, *, name: str, kind: str) -> str:
    """`raw` as text. Raises PlanError when it is too big or not UTF-8."""
    if len(raw) > MAX_BYTES:
        raise make_error(name, [f"{printable(name)}: is bigger than 64 KiB; that is no {kind}"])
    try:
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = raw.count(b"\n", 0, error.start) + 1
        where = f"{printable(name)} line {line}"
        raise make_error(
            name, [f"{where}: is not UTF-8 text; save the file with the encoding UTF-8"]
        ) from error


def parse(text: str, *, name: str, kind: str) -> dict[str, Any]:
    """The tables of `text`. Raises PlanError where it is no TOML."""
    shown = printable(name)
    if len(text) > MAX_BYTES:
        raise make_error(name, [f"{shown}: is bigger than 64 KiB; that is no {kind}"])
    if not text.strip():
        raise make_error(name, [f"{shown}: is empty; a {kind} starts with version = 1"])
    long_key = _LONG_KEY.search(text)
    if long_key is not None:
        line = text.count("\n", 0, long_key.start()) + 1
        raise make_error(name, [f"{shown} line {line}: a key has more than 64 parts"])
    try:
        return tomllib.loads(text)
    except RecursionError as error:
        raise make_error(name, [f"{shown}: is nested too deeply"]) from error
    except ValueError as error:  # includes numbers too long to convert
        message = str(error)
        found = re.search(r" ?\((?:at line (\d+), column \d+|at end of document)\)$", message)
        number = (found and found[1]) or text.rstrip().count("\n") + 1
        what = printable(message[: found.start()] if found else message)
        raise make_error(name, [f"{shown} line {number}: is not TOML: {what}"]) from error


def make_error(name: str, lines: Sequence[str]) -> PlanError:
    """The error for `lines`, one per mistake; as many as a person may want to read."""
    shown = printable(name)
    count = str(len(lines)) if len(lines) <= MAX_PROBLEMS else f"more than {MAX_PROBLEMS}"
    message = lines[0] if len(lines) == 1 else f"{shown} has {count} mistakes"
    return PlanError(message, problems=tuple(lines[:MAX_PROBLEMS]))


def locate(mistakes: Iterable[tuple[Path, str]], *, text: str, name: str) -> list[str]:
    """One line per mistake, in the order of their lines in `text`."""
    positions = find_lines(text.removeprefix("\ufeff"))
    # Stable: of one line, what is wrong with its shape comes first.
    located = sorted(((line_of(path, positions), path, words) for path, words in mistakes), key=_at)
    return [
        f"{printable(name)} line {line}: {show_path(path)}{words}" for line, path, words in located
    ]


def _at(located: tuple[int, Path, str]) -> int:
    return located[0]


def show_path(path: Path) -> str:
    """`boot.cycles: ` or `drive 2: serial: `, counting from 1 as people do."""
    shown = ""
    for part in path:
        if isinstance(part, int):
            shown = f"{shown.removesuffix('.')} {part + 1}: "
        else:
            shown += f"{printable(part[:60])}."
    return f"{shown.removesuffix('.')}: " if shown.endswith(".") else shown

# SPDX-License-Identifier: Apache-2.0
"""TOML written by people: every mistake reported with its line. Pure.

Owns reading a text as TOML and the words for what is wrong with it; what the keys mean is the
caller's. `kind` is what the text is meant to be: "plan", "policy".
"""

import re
import tomllib
from collections.abc import Iterable, Sequence
from dataclasses import replace
from operator import attrgetter
from typing import Any

from appliance.errors import PlanError
from appliance.phrases import N_, Phrase
from appliance.problem import Problem
from appliance.toml.lines import find_lines, line_of
from appliance.units import printable

MAX_BYTES = 64 << 10
"""More than a plan for a hundred drives needs; 1 MiB of tables takes 10 s to check."""
MAX_PROBLEMS = 100
_TOO_BIG = {
    "plan": N_("is bigger than 64 KiB; that is no plan"),
    "policy": N_("is bigger than 64 KiB; that is no policy"),
}
EMPTY = {
    "plan": N_("is empty; a plan starts with version = 1"),
    "policy": N_("is empty; a policy starts with version = 1"),
}
"""What is said of an empty file, by what it is meant to be."""
# tomllib takes quadratic time for a key of very many parts.
_LONG_KEY = re.compile(
    r"""(?<![\w-])(?:(?:[\w-]++|"[^"\n]*+"|'[^'\n]*+')[ \t]*+\.[ \t]*+){64}""", re.ASCII
)

# Python converts no longer ones (sys.int_info), and does not say where they are.
_LONG_NUMBER = re.compile(r"(?:[0-9]_?){4301}")

_LINE = N_("a line is a key, = and a value, as in version = 1")
# What tomllib says of the usual mistakes, in words for a person who does not know TOML.
_PLAIN_WORDS = {
    "Invalid value": (
        N_(
            'the value cannot be read; texts are in straight quotes, as in "A"; numbers, true '
            "and false are without quotes, in small letters"
        )
    ),
    "Expected newline or end of document after a statement": (
        N_('something follows the value; texts and sizes are in quotes, as in "256M"')
    ),
    r"Illegal character '\n'": N_("the closing quote is missing"),
    r"Unescaped '\' in a string": N_("a backslash in quotes is written as \\\\"),
    "Expected '=' after a key in a key/value pair": _LINE,
    "Invalid statement": _LINE,
    "Cannot overwrite a value": N_("the key or table is given twice"),
}
_DECLARED_TWICE = re.compile(r"Cannot declare \(.*\) twice")


def decode(raw: bytes, *, name: str, kind: str) -> str:
    """`raw` as text. Raises PlanError when it is too big or not UTF-8."""
    if len(raw) > MAX_BYTES:
        raise make_error(name, _TOO_BIG[kind])
    problem = N_("is not UTF-8 text; save the file with the encoding UTF-8")
    # UTF-16 without a mark at its begin decodes, into letters with zeros between them.
    first_bad = raw.find(0)
    try:
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = raw.count(b"\n", 0, error.start) + 1
        raise make_error(name, problem, line=line) from error
    if first_bad >= 0:
        raise make_error(name, problem, line=raw.count(b"\n", 0, first_bad) + 1)
    return text


def parse(text: str, *, name: str, kind: str) -> dict[str, Any]:
    """The tables of `text`. Raises PlanError where it is no TOML."""
    if len(text) > MAX_BYTES:
        raise make_error(name, _TOO_BIG[kind])
    if not text.strip():
        raise make_error(name, EMPTY[kind])
    long_key = _LONG_KEY.search(text)
    if long_key is not None:
        line = text.count("\n", 0, long_key.start()) + 1
        raise make_error(name, N_("a key has more than 64 parts"), line=line)
    try:
        return tomllib.loads(text)
    except RecursionError as error:
        raise make_error(name, N_("is nested too deeply")) from error
    except ValueError as error:
        long_number = _LONG_NUMBER.search(text)
        if long_number is not None and not isinstance(error, tomllib.TOMLDecodeError):
            line = text.count("\n", 0, long_number.start()) + 1
            raise make_error(name, N_("a number has too many digits"), line=line) from error
        message = str(error)
        match = re.search(r" ?\((?:at line (\d+), column \d+|at end of document)\)$", message)
        line = int((match and match[1]) or text.rstrip().count("\n") + 1)
        what = message[: match.start()] if match else message
        what = _DECLARED_TWICE.sub(N_("the table is given twice"), what)
        what = printable(_PLAIN_WORDS.get(what, what))
        raise make_error(name, Phrase(N_("is not TOML: {what}"), what=what), line=line) from error


def make_error(name: str, text: str, *, line: int = 0) -> PlanError:
    """The error for a file that is none of its kind."""
    return tell_problems(name, [Problem((), text, line=line, file=name)])


def tell_problems(name: str, problems: Sequence[Problem]) -> PlanError:
    """The error for all of them; it has as many as a person may want to read."""
    words = N_("{file} has {count} mistakes")
    if len(problems) > MAX_PROBLEMS:
        words = N_("{file} has more than {count} mistakes")
    count = min(len(problems), MAX_PROBLEMS)
    message: str = Phrase(words, file=printable(name), count=count)
    if len(problems) == 1:
        message = str(problems[0])
    return PlanError(message, problems=tuple(problems[:MAX_PROBLEMS]))


def locate(problems: Iterable[Problem], *, text: str, name: str) -> list[Problem]:
    """Each with its line, in the order of these in `text`."""
    lines = find_lines(text.removeprefix("\ufeff"))
    located = [
        replace(problem, line=line_of(problem.path, lines), file=name) for problem in problems
    ]
    # Stable: of one line, what is wrong with its shape comes first.
    return sorted(located, key=attrgetter("line"))

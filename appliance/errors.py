# SPDX-License-Identifier: Apache-2.0
"""The kinds of failure and the exit code each one ends a command with.

Anything raised that is not one of these is a bug: it ends in a traceback and exit code 1.
"""

import errno
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Literal, override

from appliance.phrases import N_, Phrase
from appliance.problem import Problem

Blame = Literal["drive", "other", "none"]
"""Whose fault it is that a step, a boot or a drive failed, for its verdict.

drive: the drive's, as far as is known | other: the machine's, the plan's or a person's: a remark |
none: no one's, because the drive cannot do it or was not asked to the end: it was not measured
"""

# Memory, descriptors and requests that the machine has no more of, and room in a file system.
_NOT_THE_DRIVES = frozenset(
    {
        errno.EAGAIN,
        errno.EDQUOT,
        errno.EMFILE,
        errno.ENFILE,
        errno.ENOMEM,
        errno.ENOSPC,
        errno.ENOSYS,
    }
)


def blame_of(error: OSError) -> Blame:
    """Whose fault it is where the system refused to read or write a file under test. Pure."""
    return "other" if error.errno in _NOT_THE_DRIVES else "drive"


LOCKED_HINT = N_("end the program that has it open, and try again")
"""What to do about a database that another program keeps locked, on any computer."""


def describe_bug(error: Exception) -> str:
    """What is said of a failure that was not expected."""
    words = N_("internal error: {kind}: {error}")
    return Phrase(words, kind=type(error).__name__, error=str(error))


class KaltstartError(Exception):
    """An expected failure: one clear line (`message`) and what to do about it (`hint`).

    `problems` has one by one what is wrong with what a person wrote, or wants done.
    """

    exit_code = 1
    blame: Blame = "drive"

    def __init__(self, message: str, *, hint: str = "", problems: tuple[Problem, ...] = ()) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint
        self.problems = problems

    @override
    def __str__(self) -> str:
        if not self.hint:
            return self.message
        return Phrase("{what} ({hint})", what=self.message, hint=self.hint)


class PlanError(KaltstartError):
    """Bad usage or a bad plan. `problems` holds every mistake found."""

    exit_code = 2
    blame: Blame = "other"


class RefusedError(KaltstartError):
    """Safety said no: shown, stored, and nothing was written.

    Mostly something a person did: `blame` is the drive only where it went while it was used, or no
    longer carries what was written to it.
    """

    exit_code = 3

    def __init__(
        self,
        message: str,
        *,
        hint: str = "",
        problems: tuple[Problem, ...] = (),
        blame: Blame = "other",
    ) -> None:
        super().__init__(message, hint=hint, problems=problems)
        self.blame = blame


class StepFailedError(KaltstartError):
    """A drive or a tool failed: stored, and the campaign goes on without this step."""

    exit_code = 4

    def __init__(self, message: str, *, hint: str = "", blame: Blame = "drive") -> None:
        super().__init__(message, hint=hint)
        self.blame = blame


@contextmanager
def blaming(blame: Blame) -> Iterator[None]:
    """Whatever fails or is refused in here, it is by this fault."""
    try:
        yield
    except KaltstartError as error:
        error.blame = blame
        raise


class StickError(KaltstartError):
    """The stick itself is missing, full, read-only, too new, or there are two of them."""

    exit_code = 5
    blame: Blame = "other"


class WrongFileError(StickError):
    """A file that is none of ours, an empty one, or another version's: sound, but no use here.

    `hint_if_named` is for a person who has named the file; without it `hint` is for both.
    """

    def __init__(self, message: str, *, hint: str, hint_if_named: str = "") -> None:
        super().__init__(message, hint=hint)
        self.hint_if_named = hint_if_named


class RecoverableStickError(StickError):
    """Nothing that was done is lost by it, and the database may still be good.

    A request that meets it is answered, and the engine goes on.
    """


class UnreadableProgramError(RecoverableStickError):
    """What this system was started from no longer gives its programs."""


class UnusableDatabaseError(RecoverableStickError):
    """A database of another stick that nothing can be imported from. Nothing was changed."""

    def __init__(self, place: str, why: str, *, hint: str) -> None:
        super().__init__(
            Phrase(N_("{place} cannot be imported: {what}"), place=place, what=why),
            hint=Phrase(N_("{what}; nothing was changed"), what=hint),
        )
        self.why = why
        self.what_to_do = hint


class ForeignDatabaseError(UnusableDatabaseError, WrongFileError):
    """Such a one that is none of ours or another version's, as far as is known."""

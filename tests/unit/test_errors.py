# SPDX-License-Identifier: Apache-2.0
"""Every expected failure has its exit code and says what to do."""

import errno

import pytest

from appliance.errors import (
    KaltstartError,
    PlanError,
    RefusedError,
    StepFailedError,
    StickError,
    blame_of,
)
from appliance.problem import Problem


@pytest.mark.parametrize(
    ("kind", "exit_code"),
    [(PlanError, 2), (RefusedError, 3), (StepFailedError, 4), (StickError, 5)],
)
def test_exit_codes_are_those_of_the_contract(kind: type[KaltstartError], exit_code: int) -> None:
    error = kind("what happened", hint="what to do")
    assert isinstance(error, KaltstartError)
    assert error.exit_code == exit_code
    assert str(error) == "what happened (what to do)"
    assert str(kind("what happened")) == "what happened"


def test_a_problem_is_told_with_its_place() -> None:
    path = ("workload", 1, "options", "a\x1b")
    problem = Problem(path, "must be b", line=3, file="p\n.toml")
    assert str(problem) == r"p\x0a.toml line 3: workload 2: options.a\x1b: must be b"
    assert str(Problem((), "is empty", file="p.toml")) == "p.toml: is empty"
    assert str(Problem(("boot",), "it does not fit")) == "it does not fit"


def test_a_refusal_alone_blames_no_drive() -> None:
    assert RefusedError("it is mounted").blame == "other"
    assert StepFailedError("it does not answer").blame == "drive"


def test_a_plan_error_carries_every_problem() -> None:
    problems = (Problem(("boot",), "a"), Problem((), "b"))
    assert PlanError("two", problems=problems).problems == problems
    assert PlanError("none").problems == ()


@pytest.mark.parametrize(
    ("number", "blame"),
    [
        (errno.EIO, "drive"),
        (errno.ENODATA, "drive"),
        (errno.ENODEV, "drive"),
        (errno.ENOMEM, "other"),
        (errno.ENOSPC, "other"),
        (errno.EMFILE, "other"),
    ],
)
def test_what_the_machine_lacks_is_not_the_drives_fault(number: int, blame: str) -> None:
    assert blame_of(OSError(number, "why")) == blame

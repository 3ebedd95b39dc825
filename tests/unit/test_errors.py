"""Every expected failure has its exit code and says what to do."""

import pytest

from appliance.errors import KaltstartError, PlanError, Refusal, StepFailed, StickTrouble


@pytest.mark.parametrize(
    ("kind", "exit_code"), [(PlanError, 2), (Refusal, 3), (StepFailed, 4), (StickTrouble, 5)]
)
def test_exit_codes_are_those_of_the_contract(kind: type[KaltstartError], exit_code: int) -> None:
    error = kind("what happened", hint="what to do")
    assert isinstance(error, KaltstartError)
    assert error.exit_code == exit_code
    assert str(error) == "what happened (what to do)"
    assert str(kind("what happened")) == "what happened"


def test_a_plan_error_carries_every_problem() -> None:
    assert PlanError("two", problems=("a", "b")).problems == ("a", "b")
    assert PlanError("none").problems == ()

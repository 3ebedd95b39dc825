# SPDX-License-Identifier: Apache-2.0
"""How many drives are being tested at the same time, as each figure has to say. Pure."""


class Company:
    """The steps that run, by their ids."""

    def __init__(self) -> None:
        self._most: dict[int, int] = {}
        """The most others that ran since `take` was asked for this step."""

    def join(self, step_id: int) -> None:
        """A step begins; the others have one more beside them."""
        self._most[step_id] = 0
        others = len(self._most) - 1
        for each, most in self._most.items():
            self._most[each] = max(most, others)

    def leave(self, step_id: int) -> None:
        """It has ended, however."""
        del self._most[step_id]

    def take(self, step_id: int) -> int:
        """How many others ran at most since this was asked last."""
        most = self._most[step_id]
        self._most[step_id] = len(self._most) - 1
        return most

# SPDX-License-Identifier: Apache-2.0
"""Requests of this interface that the engine has not answered yet. Asks and reads nothing."""

import asyncio
from collections.abc import Callable, Iterable
from math import inf

from tui.language import _
from tui.model.engine_words import say
from tui.model.snapshot import Answer
from tui.port import REQUEST_LABELS

_ANSWER_DUE_S = 20.0


def name_request(kind: str) -> str:
    """What people call it."""
    return _(REQUEST_LABELS.get(kind, kind))


def describe_answer(answer: Answer) -> str:
    """What became of it, and what the engine says to that."""
    word = _("accepted") if answer.state == "accepted" else _("REFUSED")
    text = f": {say(answer.text)}" if answer.text else ""
    return f"{name_request(answer.kind)} {word}{text}"


class Pending:
    """Those by their ids, from when they were asked until they are answered, however late."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._asked_s: dict[int, float] = {}
        """inf if it was reported already that the answer is late."""
        self._awaited: dict[int, asyncio.Future[Answer]] = {}

    @property
    def is_due(self) -> bool:
        """An answer may come in any moment."""
        return any(asked_s < inf for asked_s in self._asked_s.values())

    def add(self, request_id: int) -> asyncio.Future[Answer]:
        """It was asked just now; return its answer, to be awaited."""
        self._asked_s[request_id] = self._clock()
        self._awaited[request_id] = asyncio.get_running_loop().create_future()
        return self._awaited[request_id]

    def settle(self, answers: Iterable[Answer]) -> list[Answer]:
        """Those among `answers` that were waited for; they are no more."""
        matches = [answer for answer in answers if answer.request_id in self._asked_s]
        settled = [answer for answer in matches if answer.state != "new"]
        for answer in settled:
            del self._asked_s[answer.request_id]
            awaited = self._awaited.pop(answer.request_id)
            if not awaited.done():  # the waiter may have been cancelled
                awaited.set_result(answer)
        return settled

    def take_late(self) -> bool:
        """Whether an answer has become late since the last call."""
        now_s = self._clock()
        late = [
            request_id for request_id, at_s in self._asked_s.items() if now_s - at_s > _ANSWER_DUE_S
        ]
        self._asked_s |= dict.fromkeys(late, inf)
        return bool(late)

# SPDX-License-Identifier: Apache-2.0
"""A drive's own self-test as a step: started, watched, stopped if necessary. One part.

The drive goes on with it while the engine is restarted; the engine then goes on watching. Must
never leave a test running that nothing waits for.
"""

import json
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import override

from appliance.drives.facts.selftest import (
    SMARTCTL,
    Entry,
    SelftestState,
    find_refusal,
    name_device,
    parse_selftest,
)
from appliance.errors import KaltstartError, StepFailedError
from appliance.phrases import N_, Phrase
from appliance.progress import in_percent, in_seconds
from appliance.run import run
from appliance.samples.model import CacheState, Result
from appliance.units import printable
from appliance.workloads.base import Bench, PartResult, Workload
from appliance.workloads.selftest.keys import SelftestPlan

_ANSWER_S = 60
_LOOK_EVERY_S = {"short": 5.0, "long": 60.0}
_POLL_S = 0.25
# Until a started test shows: some drives report it late, some bridges only acknowledge.
_SIGN_S = 30.0
_SIGN_EVERY_S = 1.0
_BOOT_ID = Path("/proc/sys/kernel/random/boot_id")
# Drives are asked by people who use them meanwhile, and take their time then.
_TIMES_ESTIMATE = 2.0
_MARGIN_S = 600.0
# Where a drive names no time of its own for the long test: a day and a half is what the largest
# hard disks of today name.
_NO_ESTIMATE_S = 129_600.0

_STATE = CacheState(
    page_cache="bypass",
    proof="proven",
    proof_reason="the drive tests itself: nothing goes through the page cache",
)


@dataclass(frozen=True, slots=True)
class _Begun:
    """What is kept on the stick of a test that was started."""

    boot_id: str
    at_s: float
    """Seconds since the machine's start."""
    entries_before: tuple[Entry, ...]
    taken_over: bool = False
    """It was started by an engine before this one. Never kept."""


@dataclass(frozen=True, slots=True)
class _End:
    """How a test ended."""

    entry: Entry
    seconds: float | None
    """None if it was not observed when it ended."""


class SelftestWorkload(Workload):
    """One self-test of one drive."""

    def __init__(self, plan: SelftestPlan) -> None:
        self._plan = plan
        self._left_s: float | None = None

    @property
    @override
    def announced_left_s(self) -> float | None:
        return self._left_s

    @property
    @override
    def parts(self) -> tuple[str, ...]:
        return (self._plan.test,)

    @override
    def prepare(self, bench: Bench) -> None:
        return

    @override
    def run_part(self, bench: Bench, part: str, *, finished: Mapping[str, int]) -> PartResult:
        marker = bench.raw / f"selftest-{part}.json"
        begun = self._begin(bench, marker)
        try:
            end = self._await_end(bench, begun)
        except BaseException:
            # Whatever it was, perhaps a stop: nothing waits for the drive any more.
            with suppress(KaltstartError):
                _abort(bench)
            with suppress(OSError):
                marker.unlink(missing_ok=True)
            raise
        entry = end.entry
        if entry.passed is None:
            marker.unlink(missing_ok=True)
            raise StepFailedError(
                Phrase(
                    N_("the self-test was ended early: {answer}"), answer=printable(entry.status)
                )
            )
        status: str = printable(entry.status)
        if entry.lba is not None:
            status = Phrase(N_("{what}, first at LBA {lba}"), what=status, lba=entry.lba)
        results = [Result(part, "selftest_passed", float(entry.passed), _STATE)]
        notes = [status]
        if end.seconds is None:
            notes.append(N_("it ended while the engine was down: how long it took is not known"))
        else:
            results.insert(0, Result(part, "seconds", end.seconds, _STATE))
        return PartResult(tuple(results), notes=tuple(notes))

    def _begin(self, bench: Bench, marker: Path) -> _Begun:
        """Start it, or find the one an engine before this one has started."""
        state = _ask(bench)
        if state.supported is False:
            raise StepFailedError(N_("the drive has no self-test"))
        boot_id = _BOOT_ID.read_text().strip()
        earlier = _read_marker(marker)
        is_open = earlier is not None and state.entries == earlier.entries_before
        if earlier and earlier.boot_id == boot_id and (state.running or not is_open):
            return replace(earlier, taken_over=True)
        if state.running and is_open:
            # The machine was restarted and the drive kept its power: it must not go on beside
            # the next measurement, and when it began is not known any more.
            _abort(bench)
            state = _ask(bench)
        if state.running:
            raise StepFailedError(
                N_("the drive is already running a self-test"),
                hint=N_("wait until it ends, then start again"),
            )
        begun = _Begun(boot_id, time.monotonic(), state.entries)
        # First: an engine that ends right here must not be taken for a stranger by the next one.
        marker.write_text(json.dumps(asdict(begun)))
        test = f"--test={self._plan.test}"
        command = ["smartctl", "--json=c", test, *name_device(bench.device)]
        refusal = find_refusal(run(command, check=False, timeout_s=_ANSWER_S).stdout)
        if refusal:
            # smartctl also complains of other things than what it was asked to do.
            state = _ask(bench)
            if not state.running and state.entries == begun.entries_before:
                raise StepFailedError(
                    Phrase(N_("the self-test did not begin: {answer}"), answer=printable(refusal))
                )
        return begun

    def _await_end(self, bench: Bench, begun: _Begun) -> _End:
        state = self._await_sign(bench, begun)
        was_running = state.running
        short_s, long_s = state.estimate_s
        announced_s = short_s if self._plan.test == "short" else long_s
        estimate_s = announced_s or _NO_ESTIMATE_S
        limit_s = estimate_s * _TIMES_ESTIMATE + _MARGIN_S
        asked_s = time.monotonic()
        while state.running:
            now_s = time.monotonic()
            if now_s - begun.at_s > limit_s:
                raise StepFailedError(
                    Phrase(
                        N_(
                            "the self-test did not end within {minutes} minutes; the drive says "
                            "that it takes {expected}"
                        ),
                        minutes=f"{limit_s / 60:.0f}",
                        expected=f"{estimate_s / 60:.0f}",
                    )
                )
            if announced_s:
                self._left_s = find_left_s(announced_s, now_s - begun.at_s, state.percent)
            if state.percent is None:
                bench.progress(
                    in_seconds(N_("self-test")), int(min(now_s - begun.at_s, limit_s)), int(limit_s)
                )
            else:
                bench.progress(in_percent(N_("self-test")), state.percent, 100)
            time.sleep(_POLL_S)
            if now_s - asked_s >= _LOOK_EVERY_S[self._plan.test]:
                state, asked_s = _ask(bench), now_s
        return _End(
            find_result(state, begun.entries_before, was_running=was_running),
            time.monotonic() - begun.at_s if was_running or not begun.taken_over else None,
        )

    def _await_sign(self, bench: Bench, begun: _Begun) -> SelftestState:
        """The first state that shows that the test runs, or ran.

        Raises StepFailedError: none does.
        """
        state = _ask(bench)
        begun_s = asked_s = time.monotonic()
        while not state.running and state.entries == begun.entries_before:
            now_s = time.monotonic()
            if now_s - begun_s > _SIGN_S:
                raise StepFailedError(
                    Phrase(
                        N_(
                            "no sign that the self-test ran: for {seconds} s the drive neither "
                            "said that it tests itself nor changed its log"
                        ),
                        seconds=f"{_SIGN_S:.0f}",
                    )
                )
            bench.progress(in_percent(N_("self-test")), 0, 100)
            time.sleep(_POLL_S)
            if now_s - asked_s >= _SIGN_EVERY_S:
                state, asked_s = _ask(bench), now_s
        return state


def find_left_s(announced_s: float, elapsed_s: float, percent: int | None) -> float:
    """How long it still takes, of the time that the drive has announced for all of it. Pure.

    Most drives say how far they are in tenths: in between the clock tells more.
    """
    left_s = max(announced_s - elapsed_s, 0.0)
    if percent is None:
        return left_s
    rest_s, tenth_s = announced_s * (100 - percent) / 100, announced_s / 10
    return max(min(max(left_s, rest_s - tenth_s), rest_s + tenth_s), 0.0)


def find_result(state: SelftestState, before: tuple[Entry, ...], *, was_running: bool) -> Entry:
    """How the test ended that began when the log was `before`. Pure.

    `was_running`: as the drive reported. Without that, what it reports beside its log may be of any
    test before this one. Raises StepFailedError if the drive does not report it.
    """
    if state.entries and state.entries != before:
        return state.entries[0]
    # A log that is full of equal lines does not change by one more.
    if was_running and state.entries and state.last is not None:
        return state.last
    raise StepFailedError(N_("the drive does not report how its self-test ended"))


def _abort(bench: Bench) -> None:
    command = ["smartctl", "--abort", *name_device(bench.device)]
    run(command, check=False, timeout_s=_ANSWER_S)


def _ask(bench: Bench) -> SelftestState:
    output = run([*SMARTCTL, *name_device(bench.device)], check=False, timeout_s=_ANSWER_S).stdout
    state = parse_selftest(output)
    if state.reason:
        raise StepFailedError(
            Phrase(N_("the self-test cannot be queried: {error}"), error=printable(state.reason))
        )
    return state


def _read_marker(marker: Path) -> _Begun | None:
    """None where there is none, and where it is damaged."""
    try:
        fields = json.loads(marker.read_text())
        return _Begun(
            str(fields["boot_id"]),
            float(fields["at_s"]),
            tuple(Entry(**entry) for entry in fields["entries_before"]),
        )
    except (OSError, ValueError, KeyError, TypeError):
        return None


make_workload = SelftestWorkload

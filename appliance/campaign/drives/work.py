# SPDX-License-Identifier: Apache-2.0
"""The threads that do a campaign's work on its drives: see `appliance.drive_thread`."""

import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext, suppress
from functools import partial

from appliance.arrays.control import control, linked
from appliance.arrays.model import ArrayStuckError
from appliance.campaign.context import CampaignContext
from appliance.campaign.host import Host
from appliance.campaign.log import record
from appliance.campaign.silent_drives import Member
from appliance.drive_thread import DriveSilentError, DriveThread, Silence
from appliance.drives.deadlines import read_patience_s
from appliance.errors import Blame, KaltstartError, StepFailedError, blaming
from appliance.phrases import N_, Phrase, join_phrases
from appliance.progress import Progress, ignore_progress
from appliance.units import printable

SHORT_S = 60.0
"""Where nothing depends on the answer: no drive fails for that."""
_DETACH_S = 10.0
_UNKNOWN_S = 600.0
"""For what asks the kernel and udev, and no drive: a drive may block udev."""


@contextmanager
def drive_work(
    context: CampaignContext, campaign_id: int, members: Sequence[Member], *, tell: Progress
) -> Iterator[DriveThread]:
    """The thread for work on these drives of the campaign; the first is the one it is done for.

    Raises DriveSilentError where one of them was left behind before and does not answer yet, and in
    the place of ArrayStuckError. One that is left behind now is known from then on, and in the
    event log.
    """
    for number, (row, live) in enumerate(members):
        with blaming("other") if number else nullcontext():
            context.silent.check(row, live, tell=tell)
    names = [live.name for _, live in members]
    limit_s = read_patience_s(names)

    blame: Blame = "drive"

    def note(silence: Silence, *, limit_s: float = limit_s) -> None:
        nonlocal blame
        blame = context.silent.note(members, silence, limit_s=limit_s)
        with suppress(KaltstartError):  # the others need the memory
            context.host.release_ballast()
        with (
            suppress(KaltstartError),
            side_work(
                context.host, N_("what is mounted of it"), tell=ignore_progress, limit_s=_DETACH_S
            ) as hand,
        ):
            hand.do(
                partial(context.host.drives.detach_mounts, _find_devices(names)), N_("detaching it")
            )
        identities = join_phrases(
            (printable(row.name) for row, _ in members), N_("{first} and {rest}")
        )
        with suppress(sqlite3.ProgrammingError):  # closed: power was about to go
            record(
                context,
                "drive-silent",
                drive=identities,
                what=silence.what,
                campaign_id=campaign_id,
                level="error",
            )

    with DriveThread(
        join_phrases(
            [Phrase(N_("drive {drive}"), drive=row.name) for row, _ in members],
            N_("{first} and {rest}"),
        ),
        read_signs=partial(context.host.drives.read_signs, names),
        limit_s=limit_s,
        tell=tell,
        on_silence=note,
        clock=context.host.clock.monotonic_s,
        turn=context.host.turn,
    ) as hand:
        try:
            yield hand
        except DriveSilentError as error:
            error.blame = blame
            raise
        except ArrayStuckError as error:
            in_array = partial(_is_in_array, names)
            since_s = context.host.clock.monotonic_s()
            note(Silence(error.message, since_s, frozenset(names), in_array), limit_s=0)
            raise DriveSilentError(error.message, hint=error.hint, blame=blame) from error


def _find_devices(names: Sequence[str]) -> list[str]:
    """These, and the array that they are in."""
    devices = list(names)
    for name in names:
        devices += [array] if (array := linked(control(name) / "dev")) else []
    return devices


def _is_in_array(names: Sequence[str]) -> bool:
    return any(control(name).exists() for name in names)


@contextmanager
def side_work(
    host: Host,
    what: str,
    *,
    tell: Progress,
    names: Sequence[str] = (),
    limit_s: float = _UNKNOWN_S,
) -> Iterator[DriveThread]:
    """The thread for questions that no drive of a campaign is failed for: `what`, in a sentence.

    Raises StepFailedError where it is left behind, by no drive's fault.
    """
    with DriveThread(
        what,
        read_signs=partial(host.drives.read_signs, names),
        limit_s=limit_s,
        tell=tell,
        clock=host.clock.monotonic_s,
        turn=host.turn,
    ) as hand:
        try:
            yield hand
        except DriveSilentError as error:
            raise StepFailedError(error.message, hint=error.hint, blame="other") from error

# SPDX-License-Identifier: Apache-2.0
"""Whether a step that writes still has its drive: a disk in a dock may be exchanged meanwhile.

The kernel notices when a drive goes that is connected directly. Behind a bridge it may not: it goes
on showing what it read when the bridge came. So the drive itself is asked again around each part,
and within a part where the workload has nothing under way. Never while a program measures: each
question is a command of its own to the drive, and bridges may take it badly while they are busy.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from appliance.campaign.drives.find import noted_identity
from appliance.campaign.host import Clock
from appliance.campaign.silent_drives import Member
from appliance.drives.file_system import shut_down
from appliance.drives.identity_query import AskedIdentity, AskIdentity, ExchangedError, ask_again
from appliance.drives.model import Drive
from appliance.errors import StepFailedError
from appliance.phrases import N_, Phrase
from appliance.run import StillRunningError

EVERY_S = 20.0
"""Within a part, so long a drive is left alone."""
_QUESTIONS, _PAUSE_S = 5, 2.0
"""Before a drive counts as exchanged, and between the questions."""
_FRESH_S = 2.0
"""An answer counts for so long at the next part's beginning: no disk is exchanged and has spun up
in that time."""


@dataclass(slots=True)
class IdentityWatch:
    """The drives of one step that are asked; for the thread that may wait for them."""

    drives: Sequence[tuple[Drive, AskedIdentity]]
    """Each with what it answered when it was released."""
    ask: AskIdentity
    clock: Clock
    folder: Path | None = None
    """Where a file system of these drives is mounted: its delayed writes are thrown away rather
    than made on another disk."""
    _asked_s: float | None = field(init=False, default=None)

    def check(self) -> None:
        """Ask all now. Raises ExchangedError, and StepFailedError where one does not answer."""
        for drive, noted in self.drives:
            try:
                self._ask(drive, noted)
            except ExchangedError:
                if self.folder is not None:
                    shut_down(self.folder)
                raise
            except StillRunningError as error:
                raise StepFailedError(
                    Phrase(N_("{path} does not report its identity"), path=drive.path),
                    hint=error.hint,
                    blame="drive",
                ) from error
        self._asked_s = self.clock.monotonic_s()

    def _ask(self, drive: Drive, noted: AskedIdentity) -> None:
        """Several times, before a step is ended.

        A bridge may once answer in its disk's place, or not at all while it is reset or the disk is
        busy with its own cache. Nothing is written between the questions.
        """
        for _ in range(_QUESTIONS - 1):
            try:
                ask_again(drive, noted, ask=self.ask)
            except ExchangedError:
                self.clock.sleep(_PAUSE_S)
            else:
                return
        ask_again(drive, noted, ask=self.ask)

    def check_before_part(self) -> None:
        """The same, unless that was just done after the part before."""
        self._check_after(_FRESH_S)

    def check_within_part(self) -> None:
        """The same where nothing is under way, and not too often."""
        self._check_after(EVERY_S)

    def _check_after(self, seconds: float) -> None:
        if self._asked_s is None or self.clock.monotonic_s() - self._asked_s >= seconds:
            self.check()


def watch_identities(
    members: Sequence[Member], *, ask: AskIdentity, clock: Clock
) -> IdentityWatch | None:
    """Those of `members` that may be exchanged without the kernel noticing; None: none of them.

    One that never answered cannot be compared with anything.
    """
    drives = [
        (drive, noted)
        for row, drive in members
        if drive.transport == "usb" or drive.serial_doubt
        if (noted := noted_identity(row)) is not None
    ]
    return IdentityWatch(drives, ask, clock) if drives else None

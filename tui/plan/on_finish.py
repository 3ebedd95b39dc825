# SPDX-License-Identifier: Apache-2.0
"""What the machine does at the end of a composed campaign: a field of the form."""

from tui.language import N_, _
from tui.plan.workload_row import find_next
from tui.widgets.line import Line

STAYS_ON = "tui"
_WORDS = {STAYS_ON: N_("stay on"), "poweroff": N_("power off"), "reboot": N_("restart")}
"""As the plan's `on_finish` has them. The engine counts down before it does either."""


class AtTheEnd(Line):
    """Not to be focused: the way from field to field stays as short as it is."""

    def __init__(self) -> None:
        super().__init__(id="at-the-end")
        self.on_finish = STAYS_ON
        self.take(STAYS_ON)

    def take(self, on_finish: str) -> None:
        """What a kept plan has."""
        self.on_finish = on_finish
        self.show(_("F4 at the end: {what}").format(what=_(_WORDS[on_finish])))

    def turn(self) -> None:
        """The next one."""
        self.take(find_next(tuple(_WORDS), self.on_finish))

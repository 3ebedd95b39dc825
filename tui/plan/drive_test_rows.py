"""The drive tests as rows of the form: surface, verify and self-test.

All three are about a drive as it is: no file system, and nothing on an array.
"""

from typing import override

from textual.app import ComposeResult

from tui.language import N_, _
from tui.model.campaigns import ARRAY
from tui.model.draft import PlanTable
from tui.plan.workload_row import Place, WorkloadRow
from tui.port.keys import read_value
from tui.widgets.choice import Choice
from tui.widgets.field import Field
from tui.widgets.line import Line

_POWER_CYCLE = {False: N_("no power-off"), True: N_("read again after a power-off")}
_BOTH = N_("on both drives of the array, one by one")
_TESTS = {"short": N_("short: minutes"), "long": N_("long: hours")}


class BareDriveRow(WorkloadRow):
    """A test of bare drives, those of an array one by one included."""

    @override
    def offer_places(self, places: tuple[Place, ...]) -> None:
        super().offer_places(_leave_array_out(places))


class SurfaceRow(BareDriveRow):
    """Reads the whole drive, or a sample of it."""

    def __init__(self) -> None:
        super().__init__(
            "surface",
            label=N_("Surface"),
            does=N_("reads the whole drive: speed, slow spots, unreadable"),
        )

    @override
    def compose_settings(self) -> ComposeResult:
        yield Line(_("Share read"), classes="setting")
        yield self.compose_field("sample")
        yield Line(_("Give up after"), classes="setting wide")
        yield self.compose_field("max_unreadable", field_id="surface-unreadable")

    @override
    def read_settings(self) -> PlanTable:
        sample = self.query_one("#surface-sample", Field).value.strip()
        unreadable = self.query_one("#surface-unreadable", Field).value.strip()
        share = read_value(self.keys["sample"], sample) if sample else sample
        return {"sample": share, "max_unreadable": unreadable}


class VerifyRow(BareDriveRow):
    """Writes a pattern and reads it back."""

    def __init__(self) -> None:
        super().__init__(
            "verify",
            label=N_("Verify"),
            does=N_("ERASES: fills the drive with a pattern, reads it back"),
        )
        self._power_cycle = False

    @override
    def compose_settings(self) -> ComposeResult:
        yield Line(_("Size"), classes="setting")
        yield self.compose_field("size")
        yield Choice(_(_POWER_CYCLE[False]), id="verify-power", name="power_cycle")

    @override
    def turn(self, choice: Choice) -> None:
        if choice.name == "power_cycle":
            self._power_cycle = not self._power_cycle
            choice.relabel(_(_POWER_CYCLE[self._power_cycle]))
        else:
            super().turn(choice)

    @override
    def fill(self, settings: PlanTable | None) -> None:
        if settings:
            self._power_cycle = bool(settings.get("power_cycle", self._power_cycle))
            self.query_one("#verify-power", Choice).relabel(_(_POWER_CYCLE[self._power_cycle]))
        super().fill(settings)

    @override
    def read_settings(self) -> PlanTable:
        return {
            "size": self.query_one("#verify-size", Field).value.strip(),
            "power_cycle": self._power_cycle,
        }


class SelftestRow(BareDriveRow):
    """The drive tests itself."""

    def __init__(self) -> None:
        super().__init__(
            "selftest",
            label=N_("Self-test"),
            does=N_("the drive tests itself and says whether it passed"),
        )
        self._test = "short"

    @override
    def compose_settings(self) -> ComposeResult:
        yield Line(_("Which"), classes="setting")
        yield Choice(_(_TESTS[self._test]), id="selftest-test", name="test")

    @override
    def turn(self, choice: Choice) -> None:
        if choice.name == "test":
            self._test = "long" if self._test == "short" else "short"
            choice.relabel(_(_TESTS[self._test]))
        else:
            super().turn(choice)

    @override
    def fill(self, settings: PlanTable | None) -> None:
        if settings:
            self._test = str(settings.get("test", self._test))
            self.query_one("#selftest-test", Choice).relabel(_(_TESTS[self._test]))
        super().fill(settings)

    @override
    def read_settings(self) -> PlanTable:
        return {"test": self._test}


def _leave_array_out(places: tuple[Place, ...]) -> tuple[Place, ...]:
    return tuple(
        Place(_(_BOTH), tuple(each for each in place.on if each != ARRAY)) if place.on else place
        for place in places
        if place.on != (ARRAY,)
    )

# SPDX-License-Identifier: Apache-2.0
"""Settings of a draft without a row in the form: their line and their page.

What they may be is the plan's to say, with the whole plan.
"""

from collections.abc import Collection, Mapping, Sequence
from typing import override

from textual.app import ComposeResult
from textual.containers import Horizontal

from tui.language import N_, _
from tui.model.draft import Mistake, PlanValue
from tui.model.more_settings import (
    UNUSED,
    MoreSettings,
    PlanSetting,
    parse_typed,
    show_value,
)
from tui.port.keys import read_more_settings
from tui.widgets.choice import Choice, find_next
from tui.widgets.dialog import FormDialog
from tui.widgets.field import Field
from tui.widgets.line import Line, Mistakes


class MoreSettingsLine(Line):
    """Not to be focused: the way from field to field stays as short as it is."""

    def __init__(self, more_settings: MoreSettings) -> None:
        super().__init__(id="more-settings")
        self.more_settings = more_settings
        self.mistakes: tuple[Mistake, ...] = ()
        self.take(more_settings)

    def take(self, more_settings: MoreSettings) -> None:
        """Other settings, not checked yet."""
        self.more_settings = more_settings
        self.show_mistakes(())

    def show_mistakes(self, mistakes: Sequence[Mistake]) -> None:
        """That something is wrong with them; their page has it in the plan's words."""
        self.mistakes = tuple(mistakes)
        text = ", ".join(self.more_settings.list_set()) or _("all at their defaults")
        if mistakes:
            wrong = ", ".join(mistake.key for mistake in mistakes)
            text = _("! mistakes in {keys}").format(keys=wrong)
        self.show(_("F5 more settings: {what}").format(what=text))
        self.set_class(bool(mistakes), "wrong")


def is_in_more_settings(mistake: Mistake) -> bool:
    """Whether it is in one of these settings."""
    return any(setting.is_blamed_by(mistake) for setting in read_more_settings())


class MoreSettingsDialog(FormDialog[MoreSettings]):
    """The page of these settings; they are checked with the whole plan."""

    AUTO_FOCUS = "#setting-autostart"

    def __init__(
        self, more_settings: MoreSettings, *, unused: Collection[str], mistakes: Sequence[Mistake]
    ) -> None:
        """`unused`: tables that the campaign lacks as it is."""
        super().__init__(_(" More settings "))
        self._more_settings = more_settings
        self._unused = unused
        self._mistakes = tuple(mistakes)
        self._switched: dict[PlanSetting, bool] = {
            setting: bool(more_settings.value_of(setting))
            for setting in more_settings.settings
            if isinstance(setting.default, bool)
        }

    @override
    def compose_box(self) -> ComposeResult:
        yield Line(_("The plan contains only values that differ from their defaults."))
        for setting in self._more_settings.settings:
            with Horizontal(classes="line gap"):
                yield Line(setting.key, classes="name")
                yield self._make_input(setting)
                yield Line(self._show_default(setting), classes="does")
            texts = [
                mistake.without_key for mistake in self._mistakes if setting.is_blamed_by(mistake)
            ]
            if texts:
                yield Mistakes(texts)
            yield Line(_(setting.does), classes="explanation")
        yield from self.compose_end()

    def _make_input(self, setting: PlanSetting) -> Choice | Field:
        value = show_value(self._more_settings.value_of(setting))
        if setting in self._switched:
            return Choice(value, id=_id_of(setting), name=setting.key)
        return Field(value, id=_id_of(setting), name=setting.key, max_length=12)

    def _show_default(self, setting: PlanSetting) -> str:
        text = _("default: {value}").format(value=setting.show_default())
        unused = setting.table in self._unused
        return f"{text}; {_(UNUSED[setting.table])}" if unused else text

    def on_mount(self) -> None:
        """Go to the first mistake."""
        wrong = [
            setting
            for setting in self._more_settings.settings
            if any(map(setting.is_blamed_by, self._mistakes))
        ]
        if wrong:
            self.query_one(f"#{_id_of(wrong[0])}").focus()

    @override
    def choose(self, choice_id: str) -> None:
        if choice_id == "done":
            self.dismiss(self._more_settings.take(self._read()))
            return
        for setting, is_on in self._switched.items():
            if choice_id == _id_of(setting):
                self._switched[setting] = not is_on
                self.query_one(f"#{choice_id}", Choice).relabel(show_value(not is_on))

    def _read(self) -> Mapping[PlanSetting, PlanValue]:
        return {
            setting: self._switched[setting]
            if setting in self._switched
            else parse_typed(self.query_one(f"#{_id_of(setting)}", Field).value)
            for setting in self._more_settings.settings
        }


def _id_of(setting: PlanSetting) -> str:
    return f"setting-{setting.key.replace('_', '-')}"


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

# SPDX-License-Identifier: Apache-2.0
"""Releasing one drive, to be erased or started: what is on it, and typing its serial number.

Never skipped, and never answered by anything but typing.
"""

from collections.abc import Iterable
from typing import ClassVar, override

from textual import events
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, VerticalScroll

from tui.charset import drawable
from tui.language import _
from tui.model.drives import DriveRow
from tui.model.engine_words import say
from tui.widgets.choice import Choice
from tui.widgets.dialog import ScrolledDialog
from tui.widgets.field import Field
from tui.widgets.line import Line

_TYPED = 6


def required_text(drive: DriveRow, others: Iterable[DriveRow]) -> str:
    """What must be typed: the last six characters of the serial, or all of a shorter one.

    More if another drive ends alike, so that what is typed distinguishes this one from all that
    are here. The WWN is used if there is no serial. If the serial may be other drives' too, the
    model and the size follow. What is shown is what is typed, escapes included.
    """
    identity = drawable(drive.identity)
    endings = {drawable(other.identity).casefold() for other in others} - {identity.casefold()}
    length = min(_TYPED, len(identity))
    while length < len(identity) and any(
        other.endswith(identity[-length:].casefold()) for other in endings
    ):
        length += 1
    ending = identity[-length:]
    return (
        _squeeze(f"{ending} {drawable(drive.model)} {drive.size}") if drive.serial_doubt else ending
    )


def _squeeze(text: str) -> str:
    """With single blanks between its words."""
    return " ".join(text.split())


def describe_identity(drive: DriveRow) -> str:
    """Everything that tells this drive from another."""
    return "\n".join(
        (
            _name(_("Model"), drive.model or "-"),
            _name(_("Serial"), _describe_serial(drive)),
            _name("WWN", drive.wwn or "-"),
            _name(
                _("Size"),
                f"{drive.size}, {_(drive.kind)}, {drive.bus}, "
                + _("now {device}").format(device=drive.device),
            ),
        )
    )


def _describe_serial(drive: DriveRow) -> str:
    serial = drive.serial or _("- (none)")
    if drive.serial_doubt:
        return f"{serial}  {_('(other drives may show it too)')}"
    return serial


def describe_loss(drive: DriveRow) -> str:
    """What is on it."""
    details = drive.details
    partitions = ", ".join(drive.partitions)
    if details and details.partition_table:
        table = _("(table {kind})").format(kind=details.partition_table)
        partitions = f"{partitions or _('none')} {table}"
    file_systems = ", ".join(details.file_systems) if details else ""
    lines = [
        _name(_("Partitions"), partitions or _("none found")),
        _name(
            _("On it"),
            file_systems or _("no file system found; there may be data all the same"),
        ),
    ]
    if drive.array is not None:
        lines.append(_name(_("Array"), say(drive.array.explanation)))
    if drive.holders:
        lines.append(_name(_("In use by"), ", ".join(drive.holders)))
    if drive.mountpoints:
        lines.append(_name(_("Mounted at"), ", ".join(drive.mountpoints)))
    return "\n".join(lines)


def _name(what: str, text: str) -> str:
    return f"{what:12}{text}"


class ReleaseDialog(ScrolledDialog[bool]):
    """True when the drive was released; None when left.

    What is on it may be long and is scrolled; the warning and who it is are always in sight.
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        # As Tab in all dialogs: what is typed right behind them belongs to the field.
        Binding("up", "app.focus_previous", show=False, priority=True),
        Binding("down", "app.focus_next", show=False, priority=True),
    ]

    def __init__(
        self,
        drive: DriveRow,
        *,
        number: int,
        count: int,
        others: Iterable[DriveRow],
        starts: bool = False,
    ) -> None:
        """`starts`: its own system is to be started, and nothing is erased."""
        title = _(" Release drive {number} of {count} ")
        super().__init__(title.format(number=number, count=count))
        self._drive = drive
        self._starts = starts
        self._wanted = required_text(drive, others)

    @override
    def compose_box(self) -> ComposeResult:
        length = len(self._wanted)
        loss = _("EVERYTHING ON THIS DRIVE WILL BE LOST, FOR GOOD:")
        if self._starts:
            loss = _("THE SYSTEM ON THIS DRIVE IS STARTED, AND WRITES TO IT:")
        yield Line(loss, classes="lost")
        yield Line(describe_identity(self._drive), classes="gap")
        with VerticalScroll(id="text", can_focus=False):
            yield Line(describe_loss(self._drive))
        prompt = _("To release it, type the last {count} characters of its WWN:")
        label = _("WWN ends in:")
        if self._drive.serial:
            prompt = _("To release it, type the last {count} characters of its serial number:")
            label = _("Serial ends in:")
        prompt = prompt.format(count=length)
        if self._drive.serial_doubt:
            prompt = _("To release it, type: {text}").format(text=self._wanted)
            label = _("Number, model, size:")
        yield Line(prompt, classes="gap")
        with Horizontal(classes="field"):
            yield Line(label)
            yield Field(id="typed", placeholder="_" * length, max_length=4 * length)
        yield Line(id="problem")
        with Horizontal(classes="buttons"):
            yield Choice(_("Cancel"), id="cancel")
            release = _("Release") if self._starts else _("Release and erase")
            yield Choice(release, id="release")
            yield Line(_("PgUp/PgDn everything on it"), id="more")

    def on_key(self, event: events.Key) -> None:
        """What is typed before the field has the focus is not lost without a word."""
        is_typed = event.is_printable and event.key != "space"
        if is_typed and not isinstance(self.focused, Field):
            self.query_one("#problem", Line).show(_("Nothing is typed yet: Up goes to the field."))

    def on_input_submitted(self) -> None:
        """Enter in the field."""
        self.choose("release")

    @override
    def choose(self, choice_id: str) -> None:
        field = self.query_one(Field)
        ending = _squeeze(self._wanted).casefold()
        typed = field.value.strip()
        if ending and _squeeze(typed).casefold() == ending:
            self.dismiss(True)
            return
        self.query_one("#problem", Line).show(
            _('Not released: it does not end in "{typed}".').format(typed=typed)
            if typed
            else _("Not released: type it first.")
        )
        field.value = ""
        field.focus()

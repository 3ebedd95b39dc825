# SPDX-License-Identifier: Apache-2.0
"""Choosing a template: its purpose, and what is missing for it here."""

from collections.abc import Mapping, Sequence
from typing import override

from textual.app import ComposeResult
from textual.containers import Horizontal

from tui.language import N_, _
from tui.model.draft import BOOT_KEYS, DraftCampaign, PlanValue
from tui.model.drives import DriveRow
from tui.model.roles import MEMBERS
from tui.model.status import ARRAY
from tui.model.templates import Template
from tui.port.keys import read_keys
from tui.widgets.choice import Choice
from tui.widgets.dialog import Dialog
from tui.widgets.line import Line


def to_campaign(template: Template, drives: Sequence[DriveRow]) -> DraftCampaign:
    """What it comes to with nothing adjusted, for estimating how long it takes."""
    picks = tuple(drive for drive in drives if drive.raw_identity in template.roles)
    members = sorted(identity for identity, role in template.roles.items() if role in MEMBERS)
    on: dict[str, PlanValue] = {"on": (*members, ARRAY)} if members else {}
    boot = {key.name: key.default for key in read_keys("boot") if key.name in BOOT_KEYS}
    return DraftCampaign(
        name=_(template.label),
        drives=picks,
        roles=template.roles,
        boot=boot if "boot" in template.tests else None,
        workloads=tuple(
            {"kind": kind, **on, **settings}
            for kind, settings in template.tests.items()
            if kind != "boot"
        ),
        array={} if members else None,
    )


class TemplatesDialog(Dialog[str]):
    """The id of the chosen template."""

    AUTO_FOCUS = "Choice"
    KEYS = N_("Enter view and edit  Esc leave")
    DEFAULT_CSS = "TemplatesDialog .template { padding-left: 4; }"

    def __init__(self, templates: Sequence[Template]) -> None:
        super().__init__(_(" Templates, made from the drives that are here "))
        self._templates = {template.id: template for template in templates}
        self._durations: Mapping[str, str] = {}

    @override
    def compose_box(self) -> ComposeResult:
        for template in self._templates.values():
            yield Choice(_(template.label), id=template.id)
            yield Line(self._describe(template), id=f"{template.id}-does", classes="template")
        yield Line(id="problem")
        with Horizontal(classes="buttons"):
            yield Choice(_("Cancel"), id="cancel")

    def on_mount(self) -> None:
        """They may have been estimated before the box was there."""
        self.show_durations(self._durations)

    def show_durations(self, durations: Mapping[str, str]) -> None:
        """They were estimated: by the template's id."""
        self._durations = durations
        # Not asked whether it is mounted: it is so only some moments after `on_mount`.
        for template in self._templates.values():
            for line in self.query(f"#{template.id}-does").results(Line):
                line.show(self._describe(template))

    @override
    def choose(self, choice_id: str) -> None:
        obstacle = self._templates[choice_id].obstacle
        if obstacle:
            self.query_one("#problem", Line).show(
                _("Not here: {obstacle}.").format(obstacle=_(obstacle))
            )
        else:
            self.dismiss(choice_id)

    def _describe(self, template: Template) -> str:
        if template.obstacle:
            more = _("not here: {obstacle}").format(obstacle=_(template.obstacle))
        else:
            duration = self._durations.get(template.id, _("being estimated ..."))
            more = _("estimated duration: {duration}").format(duration=duration)
        return f"{_(template.does)}\n{more}"

# SPDX-License-Identifier: Apache-2.0
"""A drive's identity, asked of the drive itself rather than taken from the kernel's records.

A disk that was changed behind a bridge shows in nothing the kernel keeps: INQUIRY data, serial
number and capacity are read once, when the device is found. smartctl sends INQUIRY and IDENTIFY
again. virtio-blk drives and memory cards answer no such question: the kernel's number is all
that is known of them. Reads only.
"""

import re
from dataclasses import dataclass
from typing import Any, Protocol

from appliance.drives.facts.health import find_complaint, number, parse_answer, part
from appliance.drives.model import Drive
from appliance.drives.serial_number import BRIDGE
from appliance.errors import RefusedError, StepFailedError
from appliance.phrases import N_, Phrase
from appliance.run import run
from appliance.units import printable

TIMEOUT_S = 20
"""For each of at most three ways of asking."""

# Behind a bridge that smartctl does not know: as ata_id of udev does, then as to any SCSI device,
# which tells who the bridge is and how large the disk.
_WAYS = {"usb": ((), ("--device=sat",), ("--device=scsi",))}
_NOT_ALNUM = re.compile(r"[^A-Za-z0-9]+")


class ExchangedError(RefusedError):
    """Another drive answers, or none any more: what is there now is not the campaign's.

    Nothing of it may be noted as the released drive's.
    """


@dataclass(frozen=True, slots=True)
class AskedIdentity:
    """What a drive answered; empty or 0: it did not say that."""

    serial: str
    wwn: str
    model: str
    size_bytes: int


def ask_identity(drive: Drive, *, timeout_s: float | None = TIMEOUT_S) -> AskedIdentity | None:
    """Ask `drive` who it is; None where it, or its bus, answers no such question in time.

    `timeout_s` None: for one that has answered before, and may be slow now. Raises
    StillRunningError where the question cannot even be ended.
    """
    for way in _WAYS.get(drive.transport, ((),)):
        command = ["smartctl", "--json=c", "--info", *way, drive.path]
        try:
            done = run(command, check=False, timeout_s=timeout_s)
        except StepFailedError:
            return None
        identity = parse_identity(done.stdout)
        if identity is not None:
            return identity
    return None


def ask_scsi_identity(drive: Drive) -> AskedIdentity | None:
    """What the kernel asked when it found `drive`, asked now: INQUIRY and READ CAPACITY.

    Of a disk behind a bridge that is what the bridge makes of it, so it can be compared with what
    the kernel shows. None where nothing answers. Raises StillRunningError.
    """
    command = ["smartctl", "--json=c", "--info", "--device=scsi", drive.path]
    try:
        return parse_identity(run(command, check=False, timeout_s=TIMEOUT_S).stdout)
    except StepFailedError:
        return None


def parse_identity(text: str) -> AskedIdentity | None:
    """Who it is in the output of `smartctl --json=c --info`. Pure."""
    data = parse_answer(text)
    if find_complaint(data):
        return None
    size = number(part(data, "user_capacity").get("bytes"))
    identity = AskedIdentity(
        serial=_text(data, "serial_number"),
        wwn=_wwn(data),
        model=_text(data, "model_name") or _text(data, "scsi_model_name"),
        size_bytes=int(size or number(data.get("nvme_total_capacity")) or 0),
    )
    return identity if identity.serial or identity.size_bytes else None


def _text(data: dict[str, Any], key: str) -> str:
    value = data.get(key)
    return value.strip() if isinstance(value, str) else ""


def _wwn(data: dict[str, Any]) -> str:
    """NAA, company and number of the world wide name, as one number (smartctl's `wwn`)."""
    wwn = part(data, "wwn")
    parts = [wwn.get(key) for key in ("naa", "oui", "id")]
    if all(isinstance(value, int) for value in parts):
        naa, oui, unique_id = parts
        return f"0x{naa:x}{oui:06x}{unique_id:09x}"
    return _text(data, "logical_unit_id")


class AskIdentity(Protocol):
    """How a drive is asked: `ask_identity`."""

    def __call__(self, drive: Drive, *, timeout_s: float | None = ...) -> AskedIdentity | None:
        """Ask `drive` who it is."""


def ask_again(drive: Drive, noted: AskedIdentity | None, *, ask: AskIdentity) -> None:
    """Ask `drive` who it is, and check it as `check_asked` does.

    Raises ExchangedError, StillRunningError.
    """
    check_asked(drive, noted, ask(drive, timeout_s=None if noted else TIMEOUT_S))


def check_asked(drive: Drive, noted: AskedIdentity | None, now: AskedIdentity | None) -> None:
    """Raises ExchangedError unless the drive at `drive.path` is the one that was chosen. Pure.

    `noted` is what it answered when its campaign began, `now` what it answers. One that did answer
    must do so again, and the same; of one that never did, only a number that is the drive's own
    can be compared.
    """
    if noted is None:
        if now is not None and not drive.serial_doubt:
            _compare(drive, "serial number", drive.serial, now.serial)
        return
    if now is None:
        raise ExchangedError(
            Phrase(
                N_(
                    "{path} no longer reports its identity; when the campaign began it was: "
                    "{before}"
                ),
                path=drive.path,
                before=f"{printable(noted.serial or noted.model)!r}",
            ),
            blame="drive",
        )
    for what, before, after in (
        (N_("serial number"), noted.serial, now.serial),
        ("WWN", noted.wwn, now.wwn),
        (N_("model"), noted.model, now.model),
        (N_("size"), f"{noted.size_bytes}", f"{now.size_bytes}"),
    ):
        if before != after:
            raise _make_refusal(drive, what, before, after)


def check_shown(drive: Drive, now: AskedIdentity | None) -> None:
    """Raises RefusedError unless `drive` still is what the kernel shows it as. Pure.

    `now` is of `ask_scsi_identity`. For a drive whose number may be another one's: it is released
    by the model and the size that are shown, and those may be of the disk that was there before.
    """
    if now is None:
        return
    # Of a bridge that gives the number of blocks for the last block's the kernel takes one off
    # (US_FL_FIX_CAPACITY in drivers/usb/storage).
    excess_bytes = now.size_bytes - drive.size_bytes
    is_same_size = not now.size_bytes or 0 <= excess_bytes <= drive.logical_block_bytes
    if not is_same_size or not _is_same_model(drive, now.model):
        raise RefusedError(
            Phrase(
                N_(
                    "{path} is no longer the disk that the list shows: listed is {model} of "
                    "{bytes} bytes, in its place is {other} of {other_bytes} bytes"
                ),
                path=drive.path,
                model=f"{printable(drive.model)!r}",
                bytes=drive.size_bytes,
                other=f"{printable(now.model)!r}",
                other_bytes=now.size_bytes,
            ),
            hint=N_(
                "the disk in the dock was exchanged: unplug the dock and plug it in again; then "
                "release the disk that is listed"
            ),
        )


def _is_same_model(drive: Drive, asked: str) -> bool:
    """Either may have the vendor's name before it.

    A model that came from the disk itself (ATA) is not what its bridge says in INQUIRY.
    """
    if drive.serial_doubt != BRIDGE:
        return True
    noted = _simplify(drive.bare_model or drive.model)
    now = _simplify(asked)
    return not noted or not now or noted in now or now in noted


def _compare(drive: Drive, what: str, noted: str, asked: str) -> None:
    left, right = _simplify(noted), _simplify(asked)
    if left and right and left != right:
        raise _make_refusal(drive, what, noted, asked)


def _simplify(text: str) -> str:
    """To be compared: udev and smartctl each have their own way with blanks and punctuation.

    Empty where it cannot be: what is no printable ASCII smartctl writes in ways of its own.
    """
    return _NOT_ALNUM.sub("", text) if text.isascii() and text.isprintable() else ""


def _make_refusal(drive: Drive, what: str, before: str, after: str) -> ExchangedError:
    return ExchangedError(
        Phrase(
            N_("{path} answers as another drive: its {what} was {before} and is {after}"),
            path=drive.path,
            what=what,
            before=f"{printable(before)!r}",
            after=f"{printable(after)!r}",
        ),
        hint=N_(
            "the disk behind the bridge or in the dock was exchanged: put the released one back"
        ),
    )

"""The sample of a measured boot, kept on KALTSTART where the database does not take it.

The data partition may be full, read-only or damaged at the one moment when a sample exists. Then
the sample, or at least the true reason why there is none, goes to a file that the appliance takes
over at its next start. Nothing proves who wrote a file on KALTSTART: it is taken for the boot that
was armed, of the drive it was armed for, and once.
"""

import json
from contextlib import suppress
from dataclasses import asdict, dataclass, fields
from math import isfinite

from appliance.errors import StickTrouble
from appliance.stick import FAT, writable_fat
from appliance.store.cycles import BootSample
from appliance.workloads.kept import sync_folder, write_durably

_NAME = "kaltstart/kept-sample.json"
_MAX_BYTES = 1 << 16


@dataclass(frozen=True, slots=True)
class KeptSample:
    """What a measured boot left beside the database."""

    boot_id: str
    entry: str
    """The boot entry it was started from."""
    drive: str
    """Serial number, or WWN, of the drive its root was mounted from."""
    reason: str
    """Why the database did not take it."""
    sample: BootSample | None
    """None where there was none."""


def keep_sample(kept: KeptSample) -> None:
    """Write it durably. Raises StickTrouble."""
    try:
        with writable_fat() as fat:
            path = fat / _NAME
            path.parent.mkdir(exist_ok=True)
            write_durably(path, json.dumps(asdict(kept), indent=1))
    except OSError as error:
        raise StickTrouble(f"KALTSTART does not take the sample either: {error}") from error


def read_kept() -> KeptSample | None:
    """What the last measured boot left, or None. What is not one is None too."""
    try:
        with (FAT / _NAME).open("rb") as file:
            found = json.loads(file.read(_MAX_BYTES))
        return _parse(found)
    except (OSError, ValueError, TypeError, KeyError):
        return None


def forget_kept() -> None:
    """It was taken over, or is of no use. Raises StickTrouble."""
    if not (FAT / _NAME).exists():
        return
    try:
        with writable_fat() as fat:
            (fat / _NAME).unlink(missing_ok=True)
            with suppress(OSError):
                sync_folder((fat / _NAME).parent)
    except OSError as error:
        raise StickTrouble(f"{_NAME} cannot be removed from KALTSTART: {error}") from error


def _parse(found: dict[str, object]) -> KeptSample:
    texts = {name: found[name] for name in ("boot_id", "entry", "drive", "reason")}
    if not all(isinstance(text, str) for text in texts.values()):
        raise ValueError(_NAME)
    sample = found["sample"]
    return KeptSample(
        boot_id=str(texts["boot_id"]),
        entry=str(texts["entry"]),
        drive=str(texts["drive"]),
        reason=str(texts["reason"]),
        sample=None if sample is None else _parse_sample(sample),
    )


def _parse_sample(found: object) -> BootSample:
    if not isinstance(found, dict) or set(found) != {field.name for field in fields(BootSample)}:
        raise ValueError(_NAME)
    for name, value in found.items():
        may_be_missing = name in {"firmware_s", "loader_s", "io_quiet_s", "wake_skew_s"}
        if name == "boot_id":
            is_right = isinstance(value, str)
        elif value is None:
            is_right = may_be_missing
        else:
            is_right = (
                isinstance(value, int | float)
                and not isinstance(value, bool)
                and isfinite(value)
                and (value >= 0 or name == "wake_skew_s")
            )
        if not is_right:
            raise ValueError(f"{_NAME}: {name}")
    return BootSample(**found)

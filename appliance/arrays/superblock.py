# SPDX-License-Identifier: Apache-2.0
"""bcache superblocks: what is on a drive, whether or not the kernel uses it.

Writes nothing but zeroes over the superblock of a drive that is to be free.
"""

import os
from dataclasses import dataclass
from typing import Literal, get_args
from urllib.parse import unquote

from appliance.arrays.model import CacheFate, label_of
from appliance.drives.unlock import Unlocked
from appliance.errors import StepFailedError
from appliance.phrases import N_, Phrase
from appliance.run import run

Kind = Literal["backing", "cache"]

_KINDS: dict[str, Kind] = {"backing device": "backing", "cache device": "cache"}
_NO_UUID = "00000000-0000-0000-0000-000000000000"
_SECTOR_BYTES = 512
_SUPERBLOCK_OFFSET = _SUPERBLOCK_BYTES = 4096  # SB_START and SB_SIZE of bcache-tools


@dataclass(frozen=True, slots=True)
class Superblock:
    """One drive's part in an array."""

    kind: Kind
    whole: bool
    """Its checksum is right: the kernel would take it."""
    set_uuid: str
    """Empty on a backing drive that is detached."""
    label: str
    block_bytes: int
    state: str = ""
    """Of a backing drive: detached | clean | dirty | inconsistent."""

    def belongs_to(self, set_uuid: str) -> bool:
        """Whether the drive is a member of our array with this UUID, attached or not."""
        if self.set_uuid:
            return self.set_uuid == set_uuid.lower()
        labels = {label_of(set_uuid, fate) for fate in get_args(CacheFate)}
        return self.kind == "backing" and self.label in labels

    def lost_its_cache(self, set_uuid: str) -> bool:
        """Whether this backing drive of ours went on alone because its cache failed."""
        if self.label == label_of(set_uuid, "lost"):
            return True
        return not self.set_uuid and not self.is_parted(set_uuid)

    def is_parted(self, set_uuid: str) -> bool:
        """Whether what the cache drive holds does not count: it was being emptied."""
        return self.label == label_of(set_uuid, "parted")


def parse_super_show(text: str) -> Superblock | None:
    """The superblock in the output of bcache-super-show; None where there is none.

    Raises StepFailedError for a kind of superblock that Kaltstart does not know.
    """
    lines = (line.partition("\t") for line in text.splitlines())
    values = {key: value.strip() for key, _, value in lines}
    if values.get("sb.magic") != "ok":
        return None
    kind = _KINDS.get(_chosen(values.get("sb.version", "")))
    if kind is None:
        raise StepFailedError(
            Phrase(
                N_("a bcache superblock of an unknown kind: {version}"),
                version=values.get("sb.version"),
            )
        )
    set_uuid = values.get("cset.uuid", "").lower()
    label = values.get("dev.label", "")
    return Superblock(
        kind=kind,
        whole=values.get("sb.csum", "").endswith("[match]"),
        set_uuid="" if set_uuid == _NO_UUID else set_uuid,
        label="" if label == "(empty)" else unquote(label),
        block_bytes=int(values.get("dev.sectors_per_block", "0")) * _SECTOR_BYTES,
        state=_chosen(values.get("dev.data.cache_state", "")),
    )


def read_superblock(path: str) -> Superblock | None:
    """The superblock that is on the drive now; None if it has no superblock of bcache."""
    # With --force it shows also what the kernel would not take, such as one half written.
    return parse_super_show(run(["bcache-super-show", "-f", path], check=False).stdout)


def has_signature(path: str) -> bool:
    """Whether anything known is on the drive: a file system, a partition table."""
    return bool(run(["wipefs", "--noheadings", path]).stdout.strip())


def clear_superblock(member: Unlocked) -> None:
    """Overwrite the place of bcache's superblock. Raises StepFailedError.

    wipefs leaves one whose checksum is wrong, such as one half written, and make-bcache takes it
    for a member of another array.
    """
    try:
        os.pwrite(member.fd, bytes(_SUPERBLOCK_BYTES), _SUPERBLOCK_OFFSET)
        os.fsync(member.fd)
    except OSError as error:
        raise StepFailedError(
            Phrase(
                N_("{path} cannot be written to: {error}"), path=member.path, error=error.strerror
            )
        ) from error


def _chosen(value: str) -> str:
    return value.partition("[")[2].rstrip("]")

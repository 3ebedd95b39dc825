# SPDX-License-Identifier: Apache-2.0
"""What drives answer when they are asked about themselves, as drives.json has it."""

from dataclasses import asdict, dataclass

from appliance.drives.model import DriveDetails
from appliance.samples.health import Counter, Health


@dataclass(frozen=True, slots=True)
class DriveAnswers:
    """What became of asking a drive."""

    answer: str = "answered"
    answer_reason: str = ""
    details: DriveDetails | None = None
    health: Health | None = None

    def to_keys(self) -> dict[str, object]:
        """The four keys."""
        details = None if self.details is None else asdict(self.details)
        health = None if self.health is None else asdict(self.health)
        return {
            "answer": self.answer,
            "answer_reason": self.answer_reason,
            "details": details,
            "health": health,
        }


DISK_DETAILS = DriveDetails(
    form_factor="2.5 inches",
    rotation_rpm=5400,
    sector_format="512e",
    link_now="1.5 Gb/s",
    link_max="6.0 Gb/s",
    write_cache="on",
    trim=False,
    zoned="",
    hybrid="",
    security="frozen",
    partition_table="gpt",
    file_systems=("ntfs", "ext4"),
    findings=("the link runs at 1.5 Gb/s where both ends could do 6.0 Gb/s: check cable and port",),
)
DISK_HEALTH = Health(
    passed=True,
    counters=(
        Counter("reallocated_sectors", 0, "1"),
        Counter("pending_sectors", 8, "1"),
        Counter("crc_errors", 1203, "1"),
        Counter("power_on_hours", 12345, "h"),
        Counter("power_cycles", 678, "1"),
        Counter("host_write_bytes", 41.2e12, "B"),
        Counter("percentage_used", 255, "%", doubt="255 stands for a value that is not known"),
    ),
    temperature_celsius=38,
    limit_celsius=60,
)
ANSWERED = DriveAnswers(details=DISK_DETAILS, health=DISK_HEALTH)
ASKING = DriveAnswers("asking")
SILENT = DriveAnswers("not answering", "smartctl was still waiting for it after 10 s")

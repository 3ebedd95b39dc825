# SPDX-License-Identifier: Apache-2.0
"""The reads of a charted boot, recorded by the kernel's block events, as a list to replay.

The boot's entry switches the events on (mkosi.finalize). They are stopped right after the sample,
read once it is stored, and never cost the campaign a sample.
"""

from contextlib import suppress
from pathlib import Path

from appliance import sysfs
from appliance.drives.model import Drive
from appliance.errors import KaltstartError, StepFailedError
from appliance.flush import sync_path
from appliance.phrases import N_, Phrase
from appliance.record_boot import (
    TRACEFS,
    RecordError,
    format_list,
    merge_reads,
    parse_events,
    read_trace,
)
from appliance.run import run
from appliance.stick.partitions import RAW
from appliance.units import printable
from appliance.workloads.raw_files import write_durably

READS = "reads.csv"
"""In the raw folder of the boot."""
_BLOCKS = Path("/sys/class/block")


def stop_recording() -> None:
    """What is read from here on is no part of the boot. Never raises: there may be no events."""
    with suppress(KaltstartError):
        if not (TRACEFS / "tracing_on").exists():
            run(["mount", "-t", "tracefs", "nodev", str(TRACEFS)])
        sysfs.write_text(TRACEFS / "tracing_on", "0")


def keep_reads(cycle_id: int, drive: Drive) -> int:
    """Store the list in the boot's raw folder; return how many reads it has.

    Raises StepFailedError where the kernel recorded none or lost some, or it cannot be stored.
    """
    try:
        text, lost = read_trace(TRACEFS)
        device = (_BLOCKS / drive.name / "dev").read_text().strip()
        if lost:
            raise StepFailedError(
                Phrase(N_("{count} block events found no room"), count=lost), blame="other"
            )
        reads = merge_reads(parse_events(text, device=device))
        about = f"{printable(drive.identity)}, {drive.size_bytes} bytes, the reference OS"
        content = format_list(reads, about=about)
        folder = RAW / f"cycle-{cycle_id}"
        folder.mkdir(parents=True, exist_ok=True)
        write_durably(folder / READS, content)
        sync_path(RAW)
    except (OSError, RecordError) as error:
        raise StepFailedError(str(error), blame="other") from error
    return len(reads)

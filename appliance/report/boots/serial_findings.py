# SPDX-License-Identifier: Apache-2.0
"""Drives whose serial number does not identify them. Pure."""

from collections.abc import Sequence

from appliance.report.boots.findings import Finding
from appliance.report.series import label_drive
from appliance.store.read.campaign import DriveRow


def find_serial_findings(drives: Sequence[DriveRow]) -> tuple[Finding, ...]:
    """One for each drive of a campaign that goes by such a number."""
    return tuple(
        Finding(
            "remark",
            label_drive(drive),
            f"{drive.serial_doubt}: another drive may show the same, so its figures are "
            "held against no other campaign's.",
        )
        for drive in drives
        if drive.serial_doubt
    )

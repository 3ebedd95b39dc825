# SPDX-License-Identifier: Apache-2.0
"""Orders to a drive's own system, and its reports: two variables of the firmware.

Not files on the stick: a foreign system is not to mount it, and a variable is whole or not there.
Both are read and written by `report_boot` on the other side. Without an order that system does
nothing, however often it is started.
"""

from pathlib import Path

from appliance import sysfs
from appliance.errors import StepFailedError
from appliance.phrases import N_, Phrase
from appliance.report_boot import (
    ORDER_VARIABLE,
    REPORT_VARIABLE,
    BootReport,
    Order,
    ReportError,
    format_order,
    parse_report,
)

_EFIVARS = Path("/sys/firmware/efi/efivars")
_KEPT = (7).to_bytes(4, "little")
"""Attributes: kept without power, for boot and system (UEFI specification 2.10, 8.2)."""


def give_order(order: Order) -> None:
    """Have the next start of a system with this program report itself and return.

    Raises StepFailedError where the firmware does not keep it.
    """
    forget()
    content = _KEPT + format_order(order).encode()
    sysfs.write_variable(_EFIVARS / ORDER_VARIABLE, content)
    if sysfs.read_bytes(_EFIVARS / ORDER_VARIABLE) != content:
        raise StepFailedError(
            N_("the firmware did not keep what the drive's own system is to report")
        )


def cancel() -> None:
    """No start is to be reported any more. Raises StepFailedError."""
    if (_EFIVARS / ORDER_VARIABLE).exists():
        sysfs.remove_variable(_EFIVARS / ORDER_VARIABLE)


def forget() -> None:
    """No report any more. Raises StepFailedError."""
    if (_EFIVARS / REPORT_VARIABLE).exists():
        sysfs.remove_variable(_EFIVARS / REPORT_VARIABLE)


def read(token: str) -> BootReport | None:
    """The report to the order of this token; None without one. Raises StepFailedError."""
    content = sysfs.read_bytes(_EFIVARS / REPORT_VARIABLE)[len(_KEPT) :]
    try:
        report = parse_report(content.decode(errors="replace")) if content else None
    except ReportError as error:
        raise StepFailedError(
            Phrase(
                N_("the report of the drive's own system cannot be read: {what}"), what=str(error)
            ),
            blame="other",
        ) from error
    return report if report is not None and report.token == token else None

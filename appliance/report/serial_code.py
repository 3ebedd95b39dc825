# SPDX-License-Identifier: Apache-2.0
"""A drive's serial number as a QR code: what a scanner reads off a sheet is the number. Pure."""

import segno

_LONGEST = 64
"""Characters: the longest serial number of NVMe has 20, a longer code would not be read easily."""


def draw_serial_code(serial: str) -> str:
    """The code as an SVG element without a size of its own.

    Empty for what a scanner could not type as it is: nothing, blanks at the ends, other than ASCII.
    """
    if not serial.isascii() or not serial.isprintable() or not 0 < len(serial) <= _LONGEST:
        return ""
    if serial != serial.strip():
        return ""
    # M: a sheet is folded and gets scratched. No more than that: the code stays small.
    code = segno.make_qr(serial, error="m", boost_error=False)
    return code.svg_inline(border=4, omitsize=True, svgclass="code", lineclass=None)

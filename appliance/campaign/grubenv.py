# SPDX-License-Identifier: Apache-2.0
"""GRUB's environment block: 1024 bytes of `name=value` lines, padded with #. Pure.

GRUB writes it in place through the BIOS, so its size and place on the disk must never change
(gnu.org/software/grub/manual, "The GRUB environment block").
"""

SIZE_BYTES = 1024
_HEADER = "# GRUB Environment Block\n"


def format_grubenv(values: dict[str, str]) -> bytes:
    """The block. Raises ValueError when the values do not fit."""
    text = _HEADER + "".join(f"{name}={value}\n" for name, value in values.items())
    if len(text) > SIZE_BYTES:
        raise ValueError("the GRUB environment does not fit in its block")
    return text.ljust(SIZE_BYTES, "#").encode("ascii")


def parse_grubenv(block: bytes) -> dict[str, str]:
    """The values in a block."""
    lines = block.decode("ascii", "replace").removeprefix(_HEADER).splitlines()
    return dict(line.split("=", 1) for line in lines if "=" in line and not line.startswith("#"))

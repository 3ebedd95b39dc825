# SPDX-License-Identifier: Apache-2.0
"""Whether a serial number identifies exactly one drive. Pure.

Bridges, docks and cheap drives show numbers that many have in common. A drive that goes by such a
number is released by its model and size as well, and no campaign on it starts automatically.
"""

from appliance.phrases import N_

BRIDGE = N_("the serial number is the USB bridge's or dock's, not the drive's own")
PLACEHOLDER = N_("the serial number is a placeholder that other drives show as well")

# What makers leave in place of a number, without blanks and punctuation, in upper case. "Default
# string" and "To be filled by O.E.M." are AMI's; the others are what such fields hold elsewhere.
_WORDS = frozenset({
    "DEFAULTSTRING", "GENERIC", "INVALID", "NA", "NONE", "NOSERIAL", "NOTAPPLICABLE",
    "NOTSPECIFIED", "NULL", "SERIAL", "SERIALNUMBER", "SN", "SYSTEMSERIALNUMBER", "TOBEFILLEDBYOEM",
    "UNKNOWN",
})  # fmt: skip
# Repeated to fill the field, zeros around them: rockstor-core issue 2318 (000000000000 of ORICO's
# enclosures), openmediavault issue 1051 (twenty zeros of a Mediasonic).
_HEX_WORDS = ("DEADBEEF", "CAFEBABE", "BAADF00D")
# 0123456789ABCDEF and 123456789012 are in the descriptors of bridges as they leave the factory.
_RUNS = ("0123456789" * 4, "0123456789ABCDEF" * 3, "ABCDEFGHIJKLMNOPQRSTUVWXYZ")
_SHORTEST_RUN = 4


def is_placeholder(serial: str) -> bool:
    """Whether `serial` is no number of one drive alone.

    Nothing but punctuation, one repeated character, a run of the alphabet or of digits either way
    round, a word that means "none", or one of the known fillings.
    """
    text = "".join(character for character in serial.upper() if character.isalnum())
    if len(set(text)) < 2 or text in _WORDS:
        return True
    core = text.strip("0")
    if any(core == word * (len(core) // len(word)) for word in _HEX_WORDS):
        return True
    is_run = any(text in run or text[::-1] in run for run in _RUNS)
    return is_run and len(text) >= _SHORTEST_RUN


def find_doubt(serial: str, wwn: str, *, is_of_bridge: bool) -> str:
    """Why a drive's identity may be another drive's too; empty if there is no reason.

    `is_of_bridge`: it hangs on USB, and no number of the drive itself came through.
    """
    if is_of_bridge:
        return BRIDGE if serial or wwn else ""
    identity = serial or wwn.partition("0x")[2] or wwn
    return PLACEHOLDER if identity and is_placeholder(identity) else ""

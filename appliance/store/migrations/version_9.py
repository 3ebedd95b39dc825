"""Version 9: a checksum beside each sample, as a stick may give back other bits than it took.

Rows of earlier versions have none.
"""

STATEMENTS: tuple[str, ...] = (
    "ALTER TABLE boot_sample ADD COLUMN checksum INTEGER",
    "ALTER TABLE result ADD COLUMN checksum INTEGER",
    "ALTER TABLE ticket ADD COLUMN checksum INTEGER",
)

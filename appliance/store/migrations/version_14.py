"""Version 14: what tells a campaign's drives from others that show the same serial number.

Whether the number is the drive's own, as it was when the campaign began; whether a step on the bare
drive may have overwritten its own mark, and what is at both ends of a drive that a step left in its
middle. Campaigns of earlier versions do not say.
"""

STATEMENTS: tuple[str, ...] = (
    "ALTER TABLE campaign_drive ADD COLUMN serial_doubt TEXT NOT NULL DEFAULT ''",
    "ALTER TABLE campaign_drive ADD COLUMN mark_sha256 TEXT NOT NULL DEFAULT ''",
    (
        "ALTER TABLE campaign_drive ADD COLUMN written_over INTEGER NOT NULL DEFAULT 0 "
        "CHECK (written_over IN (0, 1))"
    ),
)

"""Version 6: that a person has asked a campaign to pause at its next safe point."""

STATEMENTS: tuple[str, ...] = ("ALTER TABLE campaign ADD COLUMN pause_asked_at TEXT",)

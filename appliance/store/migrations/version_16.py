"""Version 16: what an event's sentence is made of; events of earlier versions have only that."""

STATEMENTS: tuple[str, ...] = ("ALTER TABLE event ADD COLUMN fields TEXT",)

"""Version 15: what was on a drive when it was released, until this campaign first writes to it.

NULL from then on, of drives that are only read, and of campaigns of earlier versions.
"""

STATEMENTS: tuple[str, ...] = ("ALTER TABLE campaign_drive ADD COLUMN released_content TEXT",)

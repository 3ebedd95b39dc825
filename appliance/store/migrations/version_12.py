"""Version 12: what decides about a campaign's figures beside the drives: machine, tools, settings.

Campaigns of earlier versions have no such rows. A row is never changed: where a later start of the
same campaign finds another value, a further row says since when.
"""

STATEMENTS: tuple[str, ...] = (
    """
    CREATE TABLE condition (
        id INTEGER PRIMARY KEY,
        campaign_id INTEGER NOT NULL REFERENCES campaign (id),
        drive_id INTEGER REFERENCES drive (id),
        name TEXT NOT NULL,
        value TEXT NOT NULL,
        since TEXT NOT NULL
    ) STRICT
    """,
    """
    CREATE VIEW conditions AS
    SELECT c.campaign_id, coalesce(nullif(d.serial, ''), d.wwn, '') AS drive_serial, c.name,
           c.value, c.since, c.id AS seq
    FROM condition c LEFT JOIN drive d ON d.id = c.drive_id
    """,
)

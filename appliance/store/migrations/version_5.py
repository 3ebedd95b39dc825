"""Version 5: requests of any kind, so that a new kind needs no new version of the schema.

And what failed before version 4, when nobody noted whose fault it was, is no drive's fault.
"""

# Only programs of version 4 or later read the drives' health, before anything else in a campaign.
_OLDER = "campaign_id NOT IN (SELECT campaign_id FROM health_reading WHERE moment = 'before')"

STATEMENTS: tuple[str, ...] = (
    # SQLite cannot take a CHECK away in place.
    """
    CREATE TABLE request_5 (
        id INTEGER PRIMARY KEY AUTOINCREMENT,
        at TEXT NOT NULL,
        boot_id TEXT NOT NULL,
        kind TEXT NOT NULL,
        payload TEXT NOT NULL,
        state TEXT NOT NULL DEFAULT 'new' CHECK (state IN ('new', 'accepted', 'refused')),
        answer TEXT NOT NULL DEFAULT '',
        exit_code INTEGER
    ) STRICT
    """,
    "INSERT INTO request_5 SELECT * FROM request",
    "DROP TABLE request",
    "ALTER TABLE request_5 RENAME TO request",
    (
        "UPDATE campaign_drive SET failed_blame = 'other' "
        f"WHERE failed_reason <> '' AND failed_blame = 'drive' AND {_OLDER}"
    ),
    f"UPDATE cycle SET blame = 'other' WHERE state = 'failed' AND blame = 'drive' AND {_OLDER}",
    f"UPDATE step SET blame = 'other' WHERE state = 'failed' AND blame = 'drive' AND {_OLDER}",
)

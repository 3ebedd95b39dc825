"""Version 8: what a drive answered when it was released; what spindle starts do not prove.

Earlier versions took the starts of a SAS drive's spindle for power-ons.
"""

_REASON = "cold_reason = cold_reason || ' (starts of the spindle, not power-ons)'"
_OF_SPINDLES = "cold_proof = 'proven' AND cold_reason LIKE '%SCSI start-stop log rose by one%'"

STATEMENTS: tuple[str, ...] = (
    "ALTER TABLE campaign_drive ADD COLUMN asked_serial TEXT NOT NULL DEFAULT ''",
    "ALTER TABLE campaign_drive ADD COLUMN asked_wwn TEXT NOT NULL DEFAULT ''",
    "ALTER TABLE campaign_drive ADD COLUMN asked_model TEXT NOT NULL DEFAULT ''",
    "ALTER TABLE campaign_drive ADD COLUMN asked_size_bytes INTEGER NOT NULL DEFAULT 0",
    "ALTER TABLE campaign_drive ADD COLUMN mark_uuid TEXT NOT NULL DEFAULT ''",
    f"UPDATE boot_sample SET cold_proof = 'unproven', {_REASON} WHERE {_OF_SPINDLES}",
    f"UPDATE power_off SET cold_proof = 'unproven', {_REASON} WHERE {_OF_SPINDLES}",
    """
    UPDATE health_counter SET counter = 'start_stop_cycles' WHERE counter = 'power_cycles'
        AND reading_id IN (SELECT reading_id FROM health_counter WHERE counter = 'grown_defects')
    """,
)

"""Version 8: counted starts of a SAS drive's spindle prove no power-off.

Earlier versions took them for power-ons.
"""

_REASON = "cold_reason = cold_reason || ' (starts of the spindle, not power-ons)'"
_OF_SPINDLES = "cold_proof = 'proven' AND cold_reason LIKE '%SCSI start-stop log rose by one%'"

STATEMENTS: tuple[str, ...] = (
    f"UPDATE boot_sample SET cold_proof = 'unproven', {_REASON} WHERE {_OF_SPINDLES}",
    f"UPDATE power_off SET cold_proof = 'unproven', {_REASON} WHERE {_OF_SPINDLES}",
    """
    UPDATE health_counter SET counter = 'start_stop_cycles' WHERE counter = 'power_cycles'
        AND reading_id IN (SELECT reading_id FROM health_counter WHERE counter = 'grown_defects')
    """,
)

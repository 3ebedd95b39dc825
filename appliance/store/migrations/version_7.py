"""Version 7: a boot that a person skipped, which was never tried, is no finished boot."""

STATEMENTS: tuple[str, ...] = (
    "DROP VIEW IF EXISTS boot_times",
    """
    CREATE VIEW boot_times AS
    SELECT c.campaign_id, coalesce(nullif(d.serial, ''), d.wwn) AS drive_serial, cd.role AS
        drive_role,
           c.cycle, c.power,
           coalesce(s.cold_proof, CASE c.power WHEN 'warm' THEN 'warm' ELSE 'unproven' END) AS
           cold_proof, coalesce(s.cold_reason, c.reason) AS cold_reason, coalesce(s.valid, 0) AS
           valid, c.charted, s.boot_s, s.firmware_s, s.loader_s, s.kernel_s, s.initrd_s,
           s.userspace_s, s.session_s, s.io_quiet_s, s.read_bytes, s.read_ios, s.wake_skew_s,
           coalesce(s.at, c.armed_at) AS at
    FROM cycle c
    JOIN drive d ON d.id = c.drive_id
    JOIN campaign_drive cd ON cd.campaign_id = c.campaign_id AND cd.drive_id = c.drive_id
    LEFT JOIN boot_sample s ON s.cycle_id = c.id
    WHERE c.state = 'done' OR (c.state = 'failed' AND c.blame <> 'none')
    """,
)

# SPDX-License-Identifier: Apache-2.0
"""An array as plans describe it, with the plan's own defaults."""

from appliance.plan.model import ArrayPlan

ARRAY_PLAN = ArrayPlan(
    cache_mode="writeback",
    bucket_bytes=512 << 10,
    block_bytes=0,
    sequential_cutoff_bytes=0,
    congested_read_threshold_us=0,
    congested_write_threshold_us=0,
    writeback_percent=10,
    clean_timeout_s=600,
)

# SPDX-License-Identifier: Apache-2.0
"""The boots of a campaign in the report: series, findings, charts and wake-ups."""

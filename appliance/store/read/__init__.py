# SPDX-License-Identifier: Apache-2.0
"""What reports, verdicts and the interface read: a frozen row per view or join, and its SELECT."""

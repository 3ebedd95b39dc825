# SPDX-License-Identifier: Apache-2.0
"""The page Run: progress, charts, events, and what can be stopped or skipped."""

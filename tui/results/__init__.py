# SPDX-License-Identifier: Apache-2.0
"""The page Results: figures, reports, raw output, campaigns of other sticks."""

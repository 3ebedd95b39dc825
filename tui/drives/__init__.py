# SPDX-License-Identifier: Apache-2.0
"""The page Drives: the list, the facts of a drive, and its inspection."""

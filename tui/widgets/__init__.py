# SPDX-License-Identifier: Apache-2.0
"""Widgets drawn with the characters of `tui.charset` only."""

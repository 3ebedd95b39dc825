"""Widgets drawn with the characters of `tui.charset` only."""

"""Drives: what they are, who they are, and whether they may be written to."""

"""Drives: their facts, their identity, and whether they may be written to."""

"""The drive's own self-test."""

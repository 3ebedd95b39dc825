"""The page Run: progress, charts, events, and what can be stopped or skipped."""

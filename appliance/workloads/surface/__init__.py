"""The surface workload: every slice of a drive read and timed."""

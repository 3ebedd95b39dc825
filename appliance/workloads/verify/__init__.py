"""The verify workload: a pattern written, read back, and compared sector by sector."""

"""The fio workload: a job file per part, run in a known cache state."""

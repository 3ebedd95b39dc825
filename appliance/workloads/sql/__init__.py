"""The SQL workload: a database on the drive, queried with known cache states."""

# SPDX-License-Identifier: Apache-2.0
"""The SQL workload: a database on the drive, queried with known cache states."""

# SPDX-License-Identifier: Apache-2.0
"""The fio workload: a job file per part, run in a known cache state."""

# SPDX-License-Identifier: Apache-2.0
"""The surface workload: every slice of a drive read and timed."""

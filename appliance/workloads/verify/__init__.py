# SPDX-License-Identifier: Apache-2.0
"""The verify workload: a pattern written, read back, and compared sector by sector."""

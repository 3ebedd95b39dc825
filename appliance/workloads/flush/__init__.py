# SPDX-License-Identifier: Apache-2.0
"""The flush workload: small writes, each made safe before the next."""

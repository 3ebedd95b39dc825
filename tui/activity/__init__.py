# SPDX-License-Identifier: Apache-2.0
"""How busy each drive is, from the counters of the kernel."""

# SPDX-License-Identifier: Apache-2.0
"""A module per subject: its rows, and the statements that add, change and read them."""

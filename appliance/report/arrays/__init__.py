# SPDX-License-Identifier: Apache-2.0
"""Arrays in the report: their section, and what is concluded from them."""

# SPDX-License-Identifier: Apache-2.0
"""Reading the database: a frozen row per table or view, and all SELECTs for them."""

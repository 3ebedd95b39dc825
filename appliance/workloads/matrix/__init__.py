# SPDX-License-Identifier: Apache-2.0
"""File sizes by record sizes by operations."""

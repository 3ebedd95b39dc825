# SPDX-License-Identifier: Apache-2.0
"""The stick itself: its partitions, and the FAT that other systems read."""

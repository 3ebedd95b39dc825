# SPDX-License-Identifier: Apache-2.0
"""What a drive says of itself: health, links, power cycles, hidden capacity."""

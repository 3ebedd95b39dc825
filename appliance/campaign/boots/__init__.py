# SPDX-License-Identifier: Apache-2.0
"""The measured boots: drives installed, the next boot armed, its sample taken and stored."""

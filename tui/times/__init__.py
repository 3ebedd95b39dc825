# SPDX-License-Identifier: Apache-2.0
"""How long work takes, as this stick has seen it."""

# SPDX-License-Identifier: Apache-2.0
"""The page Machine, and the manual."""

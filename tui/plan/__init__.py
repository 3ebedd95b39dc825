# SPDX-License-Identifier: Apache-2.0
"""The page Plan, and the form that composes a plan."""

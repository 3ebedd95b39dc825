# SPDX-License-Identifier: Apache-2.0
"""Drives: their facts, their identity, and whether they may be written to."""

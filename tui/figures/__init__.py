# SPDX-License-Identifier: Apache-2.0
"""Figures of steps, arrays and drives as they are drawn on the page Results."""

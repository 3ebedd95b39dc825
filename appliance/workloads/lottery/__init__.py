# SPDX-License-Identifier: Apache-2.0
"""The lottery: first touches of files drawn by lot, pass after pass."""

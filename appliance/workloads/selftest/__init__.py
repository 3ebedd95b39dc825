# SPDX-License-Identifier: Apache-2.0
"""The drive's own self-test."""

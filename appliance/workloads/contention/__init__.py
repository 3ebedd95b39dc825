# SPDX-License-Identifier: Apache-2.0
"""Contention: how much a drive loses while the others work."""

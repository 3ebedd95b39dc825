# SPDX-License-Identifier: Apache-2.0
"""The systemd service on the stick: opens the stick, watches drives, runs campaigns."""

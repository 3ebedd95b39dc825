# SPDX-License-Identifier: Apache-2.0
"""What people ask of the engine while it runs or waits: one table of kinds and handlers."""

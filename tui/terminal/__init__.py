# SPDX-License-Identifier: Apache-2.0
"""The terminal: its driver, priorities, repainting, and the messages of the kernel."""

# SPDX-License-Identifier: Apache-2.0
"""The terminal interface: shows the engine's state and sends it requests. Nothing imports it."""

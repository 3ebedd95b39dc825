# SPDX-License-Identifier: Apache-2.0
"""What the pages draw: frozen values, without Textual and without the engine's code."""

# SPDX-License-Identifier: Apache-2.0
"""The engine of Kaltstart.

Everything but the user interface. Must never import Textual or `tui`.
"""

VERSION = "0.1.0"
